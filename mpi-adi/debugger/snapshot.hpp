// snapshot.hpp: the communicators and messages of a rank, as they lie in its memory at one time.
//
// Thread: the one that called. Cost: reads each request that was ever in use at one time, and each message. Invariants: walks end in
// damaged memory, too: each is bounded by what its pool can hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi-adi/debugger/description.hpp"
#include "mpi-adi/debugger/target.hpp"

namespace portunus::mpi::debugger {

constexpr int kAny = -1;

struct CommunicatorSeen {
  uint64_t address = 0;
  uint32_t context = 0;
  bool inter = false;
  int rank = 0, size = 0;                         // of the local group
  int peers = 0, first = 0;                       // of the group that messages name
  uint64_t peer_ranks = 0, group = 0, local = 0;  // addresses
  std::string name;
};

struct MessageSeen {
  mqs_op_class op_class = mqs_pending_receives;
  mqs_status status = mqs_st_pending;
  uint64_t order = 0;  // among those of its class
  uint32_t context = 0;
  int peer = kAny, tag = kAny;                // kAny: a wildcard
  int actual_peer = kAny, actual_tag = kAny;  // of a receive that has its message
  uint64_t room = 0, length = 0;              // bytes that fit; that were sent
  uint64_t buffer = 0;
  bool is_system_buffer = false;
  std::vector<std::string> notes;
};

class Snapshot {
 public:
  // The tables were checked.
  Snapshot(const Target& target, const Description& mpi, const client::EngineDescription& engine);

  const std::vector<CommunicatorSeen>& communicators() const { return communicators_; }
  // In order of age.
  std::vector<MessageSeen> messages(const CommunicatorSeen& comm, mqs_op_class op_class) const;

 private:
  struct OperationSeen {
    uint64_t request, buffer, length;
    uint32_t pieces;
    bool is_read;
  };

  void read_communicators();
  void read_operations(uint64_t newest);
  void read_requests();
  void read_request(uint64_t address, const std::byte* request);
  void read_receive(uint64_t address, const std::byte* request, uint32_t state, const CommunicatorSeen& comm);
  void read_send(uint64_t address, const std::byte* request, uint32_t state, const CommunicatorSeen& comm);
  void read_unexpected(uint64_t portal);
  Object entry_of(uint64_t request, uint64_t handle) const;
  uint64_t buffer_of(uint64_t base, uint32_t pieces, std::vector<std::string>& notes) const;
  int peer_of(const CommunicatorSeen& comm, int job_rank) const;
  uint32_t context_of(uint64_t bits) const { return static_cast<uint32_t>(bits >> (source_bits_ + mpi_.tag_bits)); }
  int source_of(uint64_t bits) const { return static_cast<int>(bits >> mpi_.tag_bits & ((uint64_t{1} << source_bits_) - 1)); }
  int tag_of(uint64_t bits) const { return static_cast<int>(bits & ((uint64_t{1} << mpi_.tag_bits) - 1)); }

  const Target& target_;
  const Description& mpi_;
  const client::EngineDescription& engine_;
  client::EngineRoots roots_;
  uint32_t source_bits_ = 0, interface_ = 0;
  std::vector<CommunicatorSeen> communicators_;
  std::vector<OperationSeen> operations_;  // MPI's, by request
  std::vector<MessageSeen> messages_;
};

// The ranks in the job of a communicator's local group.
std::vector<int> members_of(const Target& target, const Description& mpi, const CommunicatorSeen& comm);
int job_rank_of(const Target& target, const CommunicatorSeen& comm, int peer);

}  // namespace portunus::mpi::debugger
