// pt2pt.hpp: sends and receives as the calls of pt2pt.cpp, sendrecv.cpp, buffered.cpp and persistent.cpp need them.
//
// Blocking calls keep their request on the stack: they do not return before its event has come. Ready sends are standard
// sends: their receive is posted, so there is nothing to gain from saying so.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.2, 3.4, 3.7, 3.9.
#pragma once

#include "mpi-adi/adi.hpp"
#include "mpi-adi/arguments.hpp"
#include "mpi-adi/errors.hpp"
#include "mpi-adi/status.hpp"

namespace portunus::mpi {

enum class Mode { standard, synchronous };

inline bool can_copy(Mode mode, size_t bytes) { return mode == Mode::standard && bytes <= adi::device.copy_limit; }

inline ptl_match_bits_t own_bits(const Communicator& comm, int tag) { return match_bits(comm.context, comm.rank, tag); }

inline int start_send(Mode mode, Request& request, const Arguments& given, size_t bytes) {
  const Communicator& comm = *request.comm;
  const int target = comm.job_rank(given.peer);
  return mode == Mode::standard ? adi::isend(request, given.buf, bytes, target, own_bits(comm, given.tag))
                                : adi::issend(request, given.buf, bytes, target, own_bits(comm, given.tag));
}

inline int start_receive(Request& request, void* buf, const Arguments& given, size_t bytes) {
  const Communicator& comm = *request.comm;
  return adi::irecv(request, buf, bytes, match_rank(comm, given.peer), pattern(comm.context, given.peer, given.tag));
}

[[gnu::cold, gnu::noinline]] int raise_no_request(const Arguments& given, const Communicator* comm);
[[gnu::cold, gnu::noinline]] int raise_no_handle(const Arguments& given, const Communicator* comm);

template <Mode mode>
inline int send(const Arguments& given) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_send(given, comm, bytes)) [[unlikely]]
    return error;
  if (given.peer == MPI_PROC_NULL) [[unlikely]]
    return MPI_SUCCESS;
  if (can_copy(mode, bytes)) {
    const int result = adi::send_copied(given.buf, bytes, comm->job_rank(given.peer), own_bits(*comm, given.tag));
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(given.function, comm, result);
  }
  Request request(comm, false);
  if (int result = start_send(mode, request, given, bytes); result != PTL_OK) [[unlikely]]
    return raise_portals(given.function, comm, result);
  adi::wait(request);
  return request.failed() ? raise_request(given.function, request) : MPI_SUCCESS;
}

template <Mode mode>
inline int isend(const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_send(given, comm, bytes)) [[unlikely]]
    return error;
  if (handle == nullptr) [[unlikely]]
    return raise_no_handle(given, comm);
  *handle = handle_of(pool.sent());
  if (given.peer == MPI_PROC_NULL) [[unlikely]]
    return MPI_SUCCESS;
  if (can_copy(mode, bytes)) {
    const int result = adi::send_copied(given.buf, bytes, comm->job_rank(given.peer), own_bits(*comm, given.tag));
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(given.function, comm, result);
  }
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

inline int receive(void* buf, const Arguments& given, MPI_Status* status) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_receive(given, comm, bytes)) [[unlikely]]
    return error;
  if (given.peer == MPI_PROC_NULL) [[unlikely]] {
    set_null_process_status(status);
    return MPI_SUCCESS;
  }
  Request request(comm, true);
  if (int result = start_receive(request, buf, given, bytes); result != PTL_OK) [[unlikely]]
    return raise_portals(given.function, comm, result);
  adi::wait(request);
  set_status(status, request);
  return request.failed() ? raise_request(given.function, request) : MPI_SUCCESS;
}

inline int ireceive(void* buf, const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_receive(given, comm, bytes)) [[unlikely]]
    return error;
  if (handle == nullptr) [[unlikely]]
    return raise_no_handle(given, comm);
  *handle = handle_of(pool.received_nothing());
  if (given.peer == MPI_PROC_NULL) [[unlikely]]
    return MPI_SUCCESS;
  Request* request = pool.claim(comm, true);
  if (request == nullptr) [[unlikely]]
    return raise_no_request(given, comm);
  if (int result = start_receive(*request, buf, given, bytes); result != PTL_OK) [[unlikely]] {
    pool.release(request);
    return raise_portals(given.function, comm, result);
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi
