// table.hpp: the transports there are, what each costs, and how they are opened.
//
// A transport is a folder that defines one TransportType named after it; engine/meson.build lists the folders in order of
// preference and makes the table from that list. Whoever opens an engine, and the conformance suite, go by the table.
//
// Thread: set-up.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/host/address.hpp"
#include "engine/host/options.hpp"
#include "engine/host/seam.hpp"
#include "engine/shared/stats.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

class NodeTransport;
class SelfHub;

// The arguments of opening a transport, and what it gives beside itself.
struct TransportOpening {
  Sink& sink;
  Stats& stats;
  const Options& options;
  SelfHub& hub;  // joins the processes of one address space
  uint32_t uid = 0;
  uint32_t pid = 0;       // wanted; 0 = any
  bool one_node = false;  // all processes of the job are on this node
  size_t others = 0;      // processes of the job are on this node besides; 0: unknown
  size_t local_rank = 0;  // the number of this one among them

  // Given by the transport that has addresses, before the others are opened; without one, an interface's and a port's.
  ProcessId self{};
  std::unique_ptr<HeldPort> port{};  // then
  NodeTransport* node = nullptr;     // given by the one whose processes share memory
};

struct TransportType {
  const char* name;
  // Its endpoint decides the address of this process: opened first. At most one is.
  bool gives_address = false;
  // A poll takes a system call or a lock: not in steps that found other work. So do sends, which may travel together.
  bool costly = false;
  // False: the end of a peer is noticed by somebody else.
  bool tells_loss = true;
  bool (*wanted)(const TransportOpening& opening);
  // Throws std::system_error or std::runtime_error: cause and remedy in one sentence.
  std::unique_ptr<Transport> (*open)(TransportOpening& opening);
  // Options under which it works differently. The conformance suite goes through all of them; none stands for one as it is.
  struct Variant {
    const char* name;
    void (*choose)(Options& options);
  };
  std::span<const Variant> variants{};
};

// In order of preference: the first that connects to a process carries its messages.
PORTUNUS_SEAM std::span<const TransportType* const> transport_types();

struct OpenedTransport {
  const TransportType* type = nullptr;
  std::unique_ptr<Transport> transport;
};
// Those that are wanted, in order of preference. Throws what they throw, and then leaves nothing open.
std::vector<OpenedTransport> open_transports(TransportOpening& opening);

}  // namespace portunus
