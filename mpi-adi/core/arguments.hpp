// arguments.hpp: the checks that sends, receives and probes share.
//
// One comparison chain decides on the hot path; what exactly is wrong is found out afterwards, out of line.
// Thread: any. Source: MPI-5.0, 3.2, 3.10 (MPI_PROC_NULL).
#pragma once

#include <cstddef>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/pt2pt/match_bits.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

// The arguments as the user gave them.
struct Arguments {
  const char* function;
  const void* buf;
  MPI_Count count;
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
};

// In place of MPI_SUCCESS from a check: the datatypes of a receive are to be compared (pt2pt/signatures.hpp), its end is to be told of
// (tool/), or the memory of what is started is to be watched (pt2pt/buffers_in_use.hpp).
constexpr int kWatched = -1;

// In place of MPI_SUCCESS from a check: this thread captures the communicator, so the call is to be recorded (graph/).
constexpr int kCaptured = -2;
// For calls that only make an object, which a capture does not concern.
inline int made_all_the_same(int error) { return error == kCaptured || error == kWatched ? MPI_SUCCESS : error; }
// The beginning of a send or receive that is checked: a started one's memory is in use when its call has returned.
enum class Begins : uint8_t { nothing, call, request };

// Raises that the call cannot be captured.
[[gnu::cold, gnu::noinline]] int refuse_capture(const Arguments& given);

// MPI_SUCCESS when all is well: the peer is then MPI_PROC_NULL or, for receives, MPI_ANY_SOURCE. Else raises the error.
[[gnu::cold, gnu::noinline]] int check_send_slowly(const Arguments& given, Begins begins);
[[gnu::cold, gnu::noinline]] int check_receive_slowly(const Arguments& given, Begins begins);

// So many elements of the datatype are more than memory can hold.
[[gnu::cold, gnu::noinline]] int raise_too_many(const char* function, const Communicator* comm, MPI_Count count, const Datatype& type);

// Neither negative nor so large that its bytes cannot be counted.
constexpr uint64_t kMaxCount = uint64_t{1} << 48;
inline bool is_count(MPI_Count count) { return static_cast<uint64_t>(count) <= kMaxCount; }
inline bool is_member(int rank, const Communicator& comm) { return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.peers); }
// MPI_BOTTOM is a null pointer: addresses are in the datatype then.
inline bool has_buffer(const Arguments& given, const Datatype& type) {
  return given.buf != nullptr || given.count == 0 || !type.dense || type.size == 0;
}
[[gnu::always_inline]] inline bool can_travel(const Arguments& given, const Datatype* type) {
  return type != nullptr && type->committed && is_count(given.count) && fits_in_memory(given.count, *type) && has_buffer(given, *type);
}
inline size_t bytes_of(const Arguments& given, const Datatype* type) {
  return type ? static_cast<size_t>(type->size) * static_cast<size_t>(given.count) : 0;  // good if can_travel
}

// The communicator, datatype and size of a message are set when MPI_SUCCESS is returned. `begins`: what begins now is looked at
// further on communicators that are not plain, and tools are told of it.
[[gnu::always_inline]] inline int check_send(const Arguments& given, Communicator*& comm, const Datatype*& type, size_t& bytes,
                                             Begins begins = Begins::call) {
  comm = find_communicator(given.comm);
  type = find_type(given.datatype);
  if (type == nullptr) [[unlikely]]
    type = find_type(given.datatype, given.count);
  bytes = bytes_of(given, type);
  if (comm && comm->is_plain() && (is_member(given.peer, *comm) || given.peer == MPI_PROC_NULL) &&
      static_cast<unsigned>(given.tag) <= unsigned{kMaxTag} && can_travel(given, type)) [[likely]]
    return MPI_SUCCESS;
  return check_send_slowly(given, begins);
}
[[gnu::always_inline]] inline int check_receive(const Arguments& given, Communicator*& comm, const Datatype*& type, size_t& bytes,
                                                Begins begins = Begins::call) {
  comm = find_communicator(given.comm);
  type = find_type(given.datatype);
  if (type == nullptr) [[unlikely]]
    type = find_type(given.datatype, given.count);
  bytes = bytes_of(given, type);
  if (comm && comm->is_plain() && (is_member(given.peer, *comm) || given.peer == MPI_ANY_SOURCE || given.peer == MPI_PROC_NULL) &&
      (static_cast<unsigned>(given.tag) <= unsigned{kMaxTag} || given.tag == MPI_ANY_TAG) && can_travel(given, type)) [[likely]]
    return MPI_SUCCESS;
  return check_receive_slowly(given, begins);
}

inline int check_send(const Arguments& given, Communicator*& comm, size_t& bytes, Begins begins = Begins::call) {
  const Datatype* type;
  const int error = check_send(given, comm, type, bytes, begins);
  return error == kCaptured ? refuse_capture(given) : error;
}
inline int check_receive(const Arguments& given, Communicator*& comm, size_t& bytes, Begins begins = Begins::call) {
  const Datatype* type;
  const int error = check_receive(given, comm, type, bytes, begins);
  return error == kWatched ? MPI_SUCCESS : error == kCaptured ? refuse_capture(given) : error;
}

// The process a receive names.
inline ptl_rank_t match_rank(const Communicator& comm, int source) {
  return source == MPI_ANY_SOURCE ? PTL_RANK_ANY : static_cast<ptl_rank_t>(comm.job_rank(source));
}

}  // namespace portunus::mpi
