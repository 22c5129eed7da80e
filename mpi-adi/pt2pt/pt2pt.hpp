// pt2pt.hpp: sends and receives as the calls of pt2pt.cpp, sendrecv.cpp, buffered.cpp and persistent.cpp need them.
//
// Blocking calls may keep their request on the stack: they do not return before its event has come. Ready sends are standard
// sends: their receive is posted, so there is nothing to gain from saying so.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.2, 3.4, 3.7, 3.9.
#pragma once

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/pt2pt/packing.hpp"
#include "mpi-adi/pt2pt/signatures.hpp"
#include "mpi-adi/pt2pt/status.hpp"

namespace portunus::mpi {

enum class Mode { standard, synchronous };

inline bool can_copy(Mode mode, size_t bytes) { return mode == Mode::standard && device::may_copy(bytes); }

inline ptl_match_bits_t own_bits(const Communicator& comm, int tag) { return match_bits(comm.context, comm.rank, tag); }

// All PTL_* codes; PTL_NO_SPACE: there is no memory to pack to.
inline int start_send(Mode mode, Request& request, const void* data, const Arguments& given, size_t bytes) {
  const Communicator& comm = *request.comm;
  const int target = comm.job_rank(given.peer);
  const uint64_t signature = signatures::of(given);
  return mode == Mode::standard ? device::isend(request, data, bytes, target, own_bits(comm, given.tag), signature)
                                : device::issend(request, data, bytes, target, own_bits(comm, given.tag), signature);
}
[[gnu::always_inline]] inline int start_receive(Request& request, void* room, const Communicator& comm, const Arguments& given,
                                                size_t bytes, unsigned options) {
  return device::irecv(request, room, bytes, match_rank(comm, given.peer), pattern(comm.context, given.peer, given.tag), options);
}
[[gnu::noinline]] int start_packed_send(Mode mode, Request& request, const Arguments& given, size_t bytes);
// `start(room, options)`: begins receiving there, where `options` make `room` a layout (device.hpp).
template <class Start>
[[gnu::noinline]] int start_unpacked_receive(Request& request, void* buf, const Arguments& given, Start&& start) {
  const int result = start(&lay_out(request, buf, given), PTLX_ME_LAYOUT);
  if (result != PTL_OK) drop_packing(request);
  return result;
}
// Sends a copy of a message for which device::keeps(); complete at return. kNotKept: too many bytes are kept, or there is no memory.
inline constexpr int kNotKept = -5;
[[gnu::noinline]] int send_kept(const Arguments& given, const Communicator& comm, size_t bytes);
// Complete at return; bytes <= device.copy_limit.
[[gnu::noinline]] int send_packed_copy(const Communicator& comm, const Arguments& given, size_t bytes);
[[gnu::always_inline]] inline int send_copied(const Communicator& comm, const Arguments& given, const Datatype& type, size_t bytes) {
  const void* data = run_of(given, type);
  if (data == nullptr && bytes > 0) [[unlikely]]
    return send_packed_copy(comm, given, bytes);
  return device::send_copied(data, bytes, comm.job_rank(given.peer), own_bits(comm, given.tag), signatures::of(given));
}

inline int send_copied(const Communicator& comm, const Arguments& given, size_t bytes) {
  return send_copied(comm, given, *find_type(given.datatype, given.count), bytes);
}

inline int start_send(Mode mode, Request& request, const Arguments& given, size_t bytes) {
  const void* data = run_of(given, *find_type(given.datatype, given.count));
  if (data == nullptr && bytes > 0) [[unlikely]]
    return start_packed_send(mode, request, given, bytes);
  return start_send(mode, request, data, given, bytes);
}
// `start` as above.
template <class Start>
[[gnu::always_inline]] inline int receive_by(Request& request, void* buf, const Arguments& given, const Datatype& type, size_t bytes,
                                             Start&& start) {
  const bool starts_there = type.dense || bytes == 0;
  if (!starts_there && !is_one_run(type, given.count)) [[unlikely]]
    return start_unpacked_receive(request, buf, given, start);
  return start(starts_there ? buf : static_cast<char*>(buf) + type.layout.offset, 0);
}
[[gnu::always_inline]] inline int start_receive(Request& request, void* buf, const Arguments& given, const Datatype& type, size_t bytes) {
  device::reachable_source(*request.comm, given.peer);  // what a lost rank said before its end can still be received
  const int result = receive_by(request, buf, given, type, bytes, [&](void* room, unsigned options) {
    return start_receive(request, room, *request.comm, given, bytes, options);
  });
  if (device::failures.count.load(std::memory_order_relaxed) != 0 && result == PTL_OK) [[unlikely]]
    device::look_again(request);
  return result;
}
inline int start_receive(Request& request, void* buf, const Arguments& given, size_t bytes) {
  return start_receive(request, buf, given, *find_type(given.datatype, given.count), bytes);
}

[[gnu::cold, gnu::noinline]] int raise_no_request(const Arguments& given, const Communicator* comm);
// The rank of the job that `given` names has died; for a receive, MPI_ANY_SOURCE is not among these.
[[gnu::cold, gnu::noinline]] int raise_lost(const Arguments& given, const Communicator* comm);
[[gnu::cold, gnu::noinline]] int raise_no_handle(const Arguments& given, const Communicator* comm);

template <Mode mode>
int isend(const Arguments& given, MPI_Request* handle);

inline graph::Way way_of(Mode mode) { return mode == Mode::standard ? graph::Way::standard : graph::Way::synchronous; }
// Those for which the check answered kWatched or kCaptured.
[[gnu::cold, gnu::noinline]] int isend_otherwise(int why, const Arguments& given, graph::Way way, MPI_Request* handle);
[[gnu::noinline]] int receive_otherwise(int why, void* buf, const Arguments& given, MPI_Status* status);
[[gnu::noinline]] int ireceive_otherwise(int why, void* buf, const Arguments& given, MPI_Request* handle);
// Messages that were checked. With many threads, every receive and every long send that waits is in the pool; so is what is watched.
[[gnu::noinline]] int receive_in_pool(void* buf, const Arguments& given, MPI_Status* status);
[[gnu::noinline]] int ireceive_in_pool(void* buf, const Arguments& given, MPI_Request* handle);
int send_in_pool(Mode mode, const Arguments& given);
// A receive whose arguments were checked, where all requests are in use.
[[gnu::cold, gnu::noinline]] int receive_without_slot(void* buf, const Arguments& given, MPI_Status* status);

template <Mode mode>
[[gnu::always_inline]] inline int send(const Arguments& given) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_send(given, comm, type, bytes)) [[unlikely]]
    return error == kCaptured ? graph::send(given, way_of(mode), nullptr) : error;
  if (given.peer == MPI_PROC_NULL) [[unlikely]]
    return MPI_SUCCESS;
  if (!device::reachable(comm->job_rank(given.peer))) [[unlikely]]
    return raise_lost(given, comm);
  if (can_copy(mode, bytes)) {
    const int result = send_copied(*comm, given, *type, bytes);
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(given.function, comm, result);
  }
  if (mode == Mode::standard && device::keeps(bytes)) [[unlikely]]
    if (const int outcome = send_kept(given, *comm, bytes); outcome != kNotKept) return outcome;
  if (device::device.threaded) [[unlikely]]
    return send_in_pool(mode, given);
  Request request(comm, false);
  if (int result = start_send(mode, request, given, bytes); result != PTL_OK) [[unlikely]]
    return raise_portals(given.function, comm, result);
  device::failures.blocked = &request;
  device::wait(request);
  device::failures.blocked = nullptr;
  return request.failed() ? raise_request(given.function, request) : MPI_SUCCESS;
}

template <Mode mode>
[[gnu::always_inline]] inline int isend_here(const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_send(given, comm, type, bytes, Begins::request)) [[unlikely]]
    return error < 0 ? isend_otherwise(error, given, way_of(mode), handle) : error;
  if (handle == nullptr) [[unlikely]]
    return raise_no_handle(given, comm);
  *handle = handle_of(pool.sent());
  if (given.peer == MPI_PROC_NULL) [[unlikely]]
    return MPI_SUCCESS;
  if (!device::reachable(comm->job_rank(given.peer))) [[unlikely]]
    return raise_lost(given, comm);
  if (can_copy(mode, bytes)) {
    const int result = send_copied(*comm, given, *type, bytes);
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(given.function, comm, result);
  }
  if (mode == Mode::standard && device::keeps(bytes)) [[unlikely]]
    if (const int outcome = send_kept(given, *comm, bytes); outcome != kNotKept) return outcome;
  Request* request = pool.claim(comm, false);
  if (request == nullptr) [[unlikely]]
    return raise_no_request(given, comm);
  if (int result = start_send(mode, *request, given, bytes); result != PTL_OK) [[unlikely]] {
    pool.release(request);
    return raise_portals(given.function, comm, result);
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

[[gnu::always_inline]] inline int receive(void* buf, const Arguments& given, MPI_Status* status) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_receive(given, comm, type, bytes)) [[unlikely]]
    return error < 0 ? receive_otherwise(error, buf, given, status) : error;
  if (given.peer == MPI_PROC_NULL) [[unlikely]] {
    set_null_process_status(status);
    return MPI_SUCCESS;
  }
  if (device::device.threaded) [[unlikely]]
    return receive_in_pool(buf, given, status);
  Request* slot = pool.claim(comm, true);  // whose entry is there already, most often
  if (slot == nullptr) [[unlikely]]
    return receive_without_slot(buf, given, status);
  int outcome = start_receive(*slot, buf, given, *type, bytes);
  if (outcome != PTL_OK) [[unlikely]] {
    outcome = raise_portals(given.function, comm, outcome);
  } else {
    device::wait(*slot);
    set_status(status, *slot);
    if (slot->failed()) [[unlikely]]
      outcome = raise_request(given.function, *slot);
  }
  pool.release(slot);
  return outcome;
}

template <Mode mode>
int isend(const Arguments& given, MPI_Request* handle) {
  return isend_here<mode>(given, handle);
}

[[gnu::always_inline]] inline int ireceive_here(void* buf, const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_receive(given, comm, type, bytes)) [[unlikely]]
    return error < 0 ? ireceive_otherwise(error, buf, given, handle) : error;
  if (handle == nullptr) [[unlikely]]
    return raise_no_handle(given, comm);
  *handle = handle_of(pool.received_nothing());
  if (given.peer == MPI_PROC_NULL) [[unlikely]]
    return MPI_SUCCESS;
  Request* request = pool.claim(comm, true);
  if (request == nullptr) [[unlikely]]
    return raise_no_request(given, comm);
  if (int result = start_receive(*request, buf, given, *type, bytes); result != PTL_OK) [[unlikely]] {
    pool.release(request);
    return raise_portals(given.function, comm, result);
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}
inline int ireceive(void* buf, const Arguments& given, MPI_Request* handle) { return ireceive_here(buf, given, handle); }

}  // namespace portunus::mpi
