// transport_pair.hpp: what the conformance suite needs of a transport: two ends in one process, and what arrived there.
//
// Thread: one, except where a test says otherwise.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/transport/transport.hpp"

namespace portunus {

// A sink that remembers.
class Recorder final : public Sink {
 public:
  struct Arrival {
    Link* from;
    wire::Header header;
    std::vector<std::byte> payload;
  };

  void arrived(Link& from, const wire::Header& header, const std::byte* payload) override {
    Arrival& arrival = arrivals.emplace_back(Arrival{&from, header, {}});
    if (header.payload_size > 0) arrival.payload.assign(payload, payload + header.payload_size);
  }
  void moved(void* context, bool ok) override { moves[context].push_back(ok); }
  void lost(Link& link) override { losses.push_back(&link); }
  void introduced(Link& link, Transport&) override {
    arrivals_before_introduction[&link] = arrivals.size();
    introductions.push_back(&link);
    link.peer = somebody();
  }

  // Transports ask only whether a link's peer is set.
  static Peer* somebody() {
    static char place;
    return reinterpret_cast<Peer*>(&place);
  }

  std::deque<Arrival> arrivals;
  std::map<void*, std::vector<bool>> moves;
  std::vector<Link*> losses;
  std::vector<Link*> introductions;
  std::map<Link*, size_t> arrivals_before_introduction;
};

// Two ends, 0 and 1. A transport takes part in the suite by deriving from this and naming itself in kTransports
// (transport_kinds.hpp).
class TransportPair {
 public:
  virtual ~TransportPair() = default;
  virtual ProcessId process(int side) const = 0;
  // False: the end of a peer is noticed by somebody else.
  virtual bool tells_loss() const { return true; }

  Transport& operator[](int side) { return *ends[side]; }
  void end(int side) { ends[side].reset(); }

  Recorder sinks[2];
  std::unique_ptr<Transport> ends[2];
};

struct TransportKind {
  std::string name;
  std::unique_ptr<TransportPair> (*make)();
};

}  // namespace portunus
