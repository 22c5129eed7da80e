// The wrappers of MPI's calls record by these functions (wrappers.py writes them): requests, communicators and windows by numbers of the
// recording's own.
//
// Thread: any, where MPI lets several call: one lock is held while a table is looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tools/record/writer.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::record::mpi {

inline constexpr int32_t kAny = INT32_MIN;  // of sources and tags

// One communicator or window as records name it.
struct Group {
  uint32_t number = 0;
  uint64_t hash = 0;        // the same on all its ranks
  std::vector<int> ranks;   // in the job; -1: of another job
  std::vector<int> remote;  // the same of the other side
  int rank = 0;             // in the communicator
  bool inter = false;
  uint32_t created = 0;  // communicators and windows that were made of it
  [[nodiscard]] int peer(int rank_there) const;
};

// A collective as its record will have it.
struct Shape {
  Collective kind;
  int root = 0;
  uint64_t bytes = 0;
  std::vector<uint64_t> numbers = {};
  int leaving = 0;  // of an exchange
};

enum class Kind : uint8_t { send, receive, other };

// ---- start and end
void begin(Call& call);
void begin_session();
void end_session();
void end(Call& call);
void allow_threads(int provided);

// ---- sizes
[[nodiscard]] uint64_t bytes(MPI_Count count, MPI_Datatype type);
template <class Count>
[[nodiscard]] std::vector<uint64_t> sizes(MPI_Comm comm, const Count* counts, MPI_Datatype type);
template <class Count>
[[nodiscard]] std::vector<uint64_t> sizes(MPI_Comm comm, const Count* counts, const MPI_Datatype* types);
[[nodiscard]] bool is_root(MPI_Comm comm, int root);

// ---- messages
void send(Call& call, MPI_Comm comm, int dest, int tag, uint64_t bytes);
uint64_t start_send(Call& call, MPI_Comm comm, int dest, int tag, uint64_t bytes);
uint64_t post(Call& call, MPI_Comm comm, int source, int tag);
void received(Call& call, MPI_Comm comm, const MPI_Status& status);
void done(Call& call, uint64_t id);

// ---- messages that were probed for
void matched(Call& call, MPI_Comm comm, MPI_Message message, const MPI_Status& status);
void matched_received(Call& call, MPI_Message message, const MPI_Status& status);
void matched_started(MPI_Message message, MPI_Request request);

// ---- requests
void pending(MPI_Request request, uint64_t id, Kind kind, MPI_Comm comm, uint64_t second = 0);
void keep_send(MPI_Request request, MPI_Comm comm, int dest, int tag, uint64_t bytes, int partitions = 0);
void keep_receive(MPI_Request request, MPI_Comm comm, int source, int tag, bool partitioned = false);
void keep(MPI_Request request, MPI_Comm comm, Shape shape);
void start(Call& call, MPI_Request request);
void ready(Call& call, MPI_Request request, int partitions);
void completed(Call& call, MPI_Request request, const MPI_Status& status);
void cancel(MPI_Request request);
void free_request(MPI_Request request);

// ---- collectives
// False of an intercommunicator, whose collectives are left out.
[[nodiscard]] bool has_one_side(Call& call, MPI_Comm comm);
void collective(Call& call, MPI_Comm comm, const Shape& shape);
uint64_t start_collective(Call& call, MPI_Comm comm, const Shape& shape);
[[nodiscard]] std::vector<int> neighbours(MPI_Comm comm, bool sources);
// From the sizes of what leaves for each neighbour, and of what comes from each.
[[nodiscard]] Shape exchange(MPI_Comm comm, std::span<const uint64_t> out, std::span<const uint64_t> in);
template <class Count, class Types>
[[nodiscard]] std::vector<uint64_t> sizes_of(size_t number, const Count* counts, Types type_of);

// ---- communicators
void created(MPI_Comm parent, MPI_Comm comm);
void created_by_tag(Call& call, uint64_t name, MPI_Comm comm);
void created_later(Call& call, MPI_Request request, MPI_Comm parent, MPI_Comm* comm);
[[nodiscard]] uint64_t next_child(Call& call, MPI_Comm parent);
void created_as(Call& call, MPI_Comm comm, uint64_t hash);
[[nodiscard]] uint64_t name_of(MPI_Comm parent, int tag);
[[nodiscard]] uint64_t name_of(const char* tag);
void forget(MPI_Comm comm);
void foreign(Call& call);

// ---- windows
void created(Call& call, MPI_Comm comm, MPI_Win win);
void forget(Call& call, MPI_Win win);
void put(Call& call, MPI_Win win, int target, uint64_t bytes);
void get(Call& call, MPI_Win win, int target, uint64_t bytes);
uint64_t start_put(Call& call, MPI_Win win, int target, uint64_t bytes);
uint64_t start_get(Call& call, MPI_Win win, int target, uint64_t bytes);
void pending(MPI_Request request, uint64_t id);
void fence(Call& call, MPI_Win win);
void flush(Call& call, MPI_Win win, int target);  // -1: all
void post(Call& call, MPI_Win win, MPI_Group group);
void start(Call& call, MPI_Win win, MPI_Group group);
void complete(Call& call, MPI_Win win);
void wait(Call& call, MPI_Win win);

// ---- the numbers that all calls above use
[[nodiscard]] size_t size_of(MPI_Comm comm);

template <class Count, class Types>
std::vector<uint64_t> sizes_of(size_t number, const Count* counts, Types type_of) {
  std::vector<uint64_t> all(number);
  for (size_t i = 0; i < number; ++i) all[i] = bytes(static_cast<MPI_Count>(counts[i]), type_of(i));
  return all;
}

template <class Count>
std::vector<uint64_t> sizes(MPI_Comm comm, const Count* counts, MPI_Datatype type) {
  return sizes_of(size_of(comm), counts, [=](size_t) { return type; });
}

template <class Count>
std::vector<uint64_t> sizes(MPI_Comm comm, const Count* counts, const MPI_Datatype* types) {
  return sizes_of(size_of(comm), counts, [=](size_t i) { return types[i]; });
}

inline std::vector<uint64_t> joined(std::vector<uint64_t> first, const std::vector<uint64_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace portunus::record::mpi
