// plan.hpp: a random MPI program for all ranks, drawn before it runs, that ends on every correct MPI.
//
// All messages and collectives have places in one order that every rank follows, and a rank waits only for what has an earlier place, or
// its own. Within an epoch, all receives of a rank on one communicator use the same kind of pattern (Regime), and where sources are
// wild, their senders do not wait for a match before the epoch ends: so it does not matter which receive takes which message.
// Thread: one; written by draw_plan only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portunus::simulation {

constexpr int kAny = -1;

enum class Sending : uint8_t { blocking, synchronous, nonblocking, nonblocking_synchronous, persistent, freed, count };
enum class Receiving : uint8_t { blocking, nonblocking, probed, polled, matched, matched_by_polling, persistent, count };
enum class Collective : uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  scan,
  reduce_scatter,
  dup,
  count
};
enum class Access : uint8_t { put_get, accumulate, fetch, compare_and_swap, count };

struct Action {
  enum class Kind : uint8_t { send, receive, collective, access, cancelled, to_nobody } kind;
  int comm = 0;
  int peer = 0;         // in the communicator; kAny: any source. Collectives: the root
  int tag = 0;          // kAny: any
  size_t length = 0;    // of a message, bytes; of a receive's memory; of collectives: elements
  uint64_t number = 0;  // of the message or collective
  size_t stride = 1;    // bytes lie so far apart
  Sending sending{};
  Receiving receiving{};
  Collective collective{};
  Access access{};
  bool early = false;     // posted before the epoch begins
  bool deferred = false;  // not waited for before the epoch ends
  bool joined = false;    // a blocking send, and the receive that comes next: one MPI_Sendrecv
  bool nonblocking = false;
};

struct CommPlan {
  int parent = 0;
  bool dup = true;                 // else split
  std::vector<int> colours, keys;  // by rank in the parent
  std::vector<int> members;        // ranks of the job, in the order of the communicator
};

struct Epoch {
  std::vector<std::vector<Action>> ranks;
};

struct Plan {
  int ranks = 2;
  uint64_t seed = 0;
  int rounds = 0;  // > 0: the program of survivors (survivors.cpp), and nothing of what follows
  std::vector<CommPlan> comms;
  std::vector<Epoch> epochs;
  bool windows = false;
  std::vector<int64_t> added, fetched;  // in the end, by target
};

// Each message and each rank's part of a collective has bytes of its own.
inline uint8_t message_byte(uint64_t number, size_t at) {
  const uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<uint8_t>((mixed >> 32) + at * 31 + (at >> 8) * 7);
}

Plan draw_plan(uint64_t seed, int ranks, bool survivors);

}  // namespace portunus::simulation
