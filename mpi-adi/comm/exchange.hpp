// exchange.hpp: the few collective steps that make communicators, by messages in contexts of their own.
//
// Other than MPI's collectives they work over any part of a communicator, and before a new one exists.
// Thread: any; exchanges at one time differ in communicator, traffic or tag.
// Invariants: functions return MPI_SUCCESS or a class of errors, and call no error handler. Who misses a member, or heard
// from somebody who does, goes on with empty messages, so that nobody waits for ever and all learn of it. Whose arguments are wrong
// takes part with kFaultElsewhere, and who lacks memory with MPI_ERR_NO_MEM, which the others learn by messages of one and of two bytes.
// No function throws, or needs memory to tell the others so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi {

struct Request;

// Messages from rank to rank of `comm`; `rank` is this process's in the group that its peers see.
int send_bytes(Communicator& comm, Traffic traffic, int tag, const void* bytes, size_t count, int peer);
int receive_bytes(Communicator& comm, Traffic traffic, int tag, void* bytes, size_t count, int peer);
// The same in two steps. nullptr: `error` says why. The request fails when its sender dies; once it is done, the second does not wait.
Request* start_receiving_bytes(Communicator& comm, Traffic traffic, int tag, void* bytes, size_t count, int peer, int& error);
int finish_receiving_bytes(Request* request, size_t count);
// Both at once, with one peer.
int swap_bytes(Communicator& comm, Traffic traffic, int tag, const void* out, size_t out_count, void* in, size_t in_count, int peer);

constexpr int kFaultElsewhere = MPI_ERR_ARG;
// The length of a message of `count` bytes tells its receiver what `error` is.
inline size_t bytes_to_send(int error, size_t count) {
  return error == MPI_SUCCESS ? count : error == kFaultElsewhere ? 1 : error == MPI_ERR_NO_MEM ? 2 : 0;
}
constexpr size_t kMostWords = 4;

struct Exchange {
  Communicator& comm;  // an intracommunicator
  Traffic traffic = Traffic::collectives;
  int tag = 0;
  std::vector<int> members;  // their ranks in comm, in order; empty: all
  int me;                    // this process's place among them

  explicit Exchange(Communicator& all) : comm(all), me(all.rank) {}
  Exchange(Communicator& parent, Traffic kind, int user_tag, std::vector<int> ranks, int place)
      : comm(parent), traffic(kind), tag(user_tag), members(std::move(ranks)), me(place) {}

  int size() const { return members.empty() ? comm.size : static_cast<int>(members.size()); }
  int rank_of(int place) const { return members.empty() ? place : members[static_cast<size_t>(place)]; }

  // Room for size() records of `each` bytes; this process's own is in its place already.
  // `error`: this process, or the root, has nothing to tell, and nobody succeeds.
  int allgather(void* records, size_t each, int error = MPI_SUCCESS) const;
  int broadcast(void* bytes, size_t count, int root, int error = MPI_SUCCESS) const;
  int all_and(uint64_t* words, size_t count, int error = MPI_SUCCESS) const;  // kMostWords at most

 private:
  int both(const void* out, size_t out_count, int to, void* in, size_t in_count, int from) const;
};

}  // namespace portunus::mpi
