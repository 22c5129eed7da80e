// comm.hpp: communicators: a group, or two, and contexts of their own for messages.
//
// Thread: what messages need is constant while the communicator lives; the rest has its own locks, or is the business of
// collective calls, which are one at a time.
// Invariants: outside of MPI_Init .. MPI_Finalize no handle is valid, which is how every call finds out that it is too early
// or late. MPI_COMM_WORLD and MPI_COMM_SELF are slots 0 and 1 of the pool.
// Source: MPI-5.0, 7.2, 7.4, 7.6.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "mpi-adi/comm/context.hpp"
#include "mpi-adi/comm/group.hpp"
#include "mpi-adi/core/attributes.hpp"
#include "mpi-adi/core/info.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/pt2pt/match_bits.hpp"
#include "mpi-adi/topology/topology.hpp"

namespace portunus::mpi {

namespace collectives {
class State;
}
namespace ulfm {
struct State;
}
class MessageBuffer;
struct Request;

// The contexts of a communicator follow each other, so that its kinds of messages never match one another.
enum class Traffic : uint16_t {
  messages,
  collectives,
  groups,
  windows,
  partitions = windows  // a window's communicator has none
};
constexpr int kContextsPerCommunicator = 4;
constexpr int kMaxCommunicators = kUsualJobs.contexts() / kContextsPerCommunicator;
inline int max_communicators() { return envelope.contexts() / kContextsPerCommunicator; }  // in this job

struct Communicator {
  uint16_t context = 0;  // in the match bits of messages; see Traffic
  bool inter = false;
  bool parts = false;                 // this process will use it no more, and has told those of other jobs (disconnect.hpp)
  std::atomic<uint8_t> attention{0};  // kRevoked, kLooked: messages have to look closer
  int rank = 0;                       // of this process in the local group
  int size = 0;                       // of the local group
  // Those a message can name: the remote group of an intercommunicator, else the local one.
  int peers = 0;
  int first = 0;                    // without peer_ranks, peer p is rank first + p of the job
  const int* peer_ranks = nullptr;  // belongs to the group of the peers
  std::atomic<MPI_Errhandler> errhandler{nullptr};
  Group* group = nullptr;
  Group* remote_group = nullptr;                  // nullptr in intracommunicators
  Communicator* local = nullptr;                  // intercommunicators: the local group's members among themselves; not for users
  collectives::State* collectives = nullptr;      // made by the first collective
  int place = 0;                                  // for them, see collectives::take_place
  int idups = 0;                                  // how many nonblocking duplications were begun: their messages' tags
  std::vector<Request*> partings;                 // for what these have to say
  std::map<std::array<int, 3>, int> partitioned;  // how many such messages were made, by peer, tag and direction
  std::shared_ptr<const Topology> topology;       // nullptr: none
  std::shared_ptr<ulfm::State> ulfm;              // nullptr: nothing has failed yet
  std::shared_ptr<MessageBuffer> buffer;          // of buffered sends; nullptr: none was ever attached
  std::shared_ptr<MessageBuffer> session_buffer;  // of the session that it comes from, if it does
  Attributes<MPI_Comm> attributes;
  Hints hints;
  char name[MPI_MAX_OBJECT_NAME] = "";

  int job_rank(int peer) const { return peer_ranks ? peer_ranks[peer] : first + peer; }
  uint16_t context_of(Traffic traffic) const { return static_cast<uint16_t>(context + static_cast<uint16_t>(traffic)); }
  static constexpr uint8_t kRevoked = 1;   // for good (ulfm/)
  static constexpr uint8_t kLooked = 2;    // PTL_DEBUG wants its calls to be looked at
  static constexpr uint8_t kCaptured = 4;  // a thread of this process records its calls (graph/)
  static constexpr uint8_t kHeard = 8;     // tools listen to events of its messages and collectives (tool/)
  bool is_revoked() const { return attention.load(std::memory_order_relaxed) & kRevoked; }
  bool is_plain() const { return attention.load(std::memory_order_relaxed) == 0; }
  const Group& peer_group() const { return inter ? *remote_group : *group; }
};

using CommunicatorPool = ObjectPool<Communicator, kMaxCommunicators>;
extern constinit CommunicatorPool communicators;
extern constinit Communicator* predefined[2];  // MPI_COMM_WORLD, MPI_COMM_SELF
extern constinit uintptr_t predefined_count;   // 0 unless MPI is running

// Sets, or clears, kHeard of all communicators.
void hear_communicators(bool heard);

inline Communicator& world() { return *predefined[0]; }
inline Communicator& self() { return *predefined[1]; }

// nullptr: no such communicator, or MPI is not running.
[[gnu::always_inline]] inline Communicator* find_communicator(MPI_Comm handle) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(MPI_COMM_WORLD);
  if (index < predefined_count) [[likely]]
    return predefined[index];
  return predefined_count != 0 ? communicators.find(handle) : nullptr;
}
inline MPI_Comm handle_of(const Communicator* comm) {
  if (comm == predefined[0]) return MPI_COMM_WORLD;
  if (comm == predefined[1]) return MPI_COMM_SELF;
  return reinterpret_cast<MPI_Comm>(const_cast<Communicator*>(comm));
}

// Takes over one reference of each group. nullptr: too many communicators are in use; the references stay the caller's.
Communicator* make_communicator(uint16_t context, Group* group, Group* remote_group);
// For one that was made without, with kNoContext.
void give_context(Communicator& comm, const Agreed& agreed);
// Gives back the groups and the context.
void destroy_communicator(Communicator* comm);

bool open_communicators(int rank, int size);
void close_communicators();

}  // namespace portunus::mpi
