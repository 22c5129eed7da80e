// pt2pt.cpp: sends and receives.
//
// Blocking calls keep their request on the stack: they do not return before its event has come.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.2, 3.4, 3.7, 3.9.
#include "mpi-adi/adi.hpp"
#include "mpi-adi/arguments.hpp"
#include "mpi-adi/errors.hpp"
#include "mpi-adi/profiling.hpp"
#include "mpi-adi/status.hpp"

namespace portunus::mpi {
namespace {

enum class Mode { standard, synchronous };

bool can_copy(Mode mode, size_t bytes) { return mode == Mode::standard && bytes <= adi::device.copy_limit; }

ptl_match_bits_t own_bits(const Communicator& comm, int tag) { return match_bits(comm.context, comm.rank, tag); }

int start_send(Mode mode, Request& request, const Arguments& given, size_t bytes) {
  const Communicator& comm = *request.comm;
  const int target = comm.job_rank(given.peer);
  return mode == Mode::standard ? adi::isend(request, given.buf, bytes, target, own_bits(comm, given.tag))
                                : adi::issend(request, given.buf, bytes, target, own_bits(comm, given.tag));
}

int start_receive(Request& request, void* buf, const Arguments& given, size_t bytes) {
  const Communicator& comm = *request.comm;
  return adi::irecv(request, buf, bytes, match_rank(comm, given.peer), pattern(comm.context, given.peer, given.tag));
}

[[gnu::cold, gnu::noinline]] int raise_no_request(const Arguments& given, const Communicator* comm) {
  return raise(given.function, comm, MPI_ERR_NO_MEM,
               "%u requests are in use, the most there can be; complete some of them first", kMaxRequests);
}
[[gnu::cold, gnu::noinline]] int raise_no_handle(const Arguments& given, const Communicator* comm) {
  return raise(given.function, comm, MPI_ERR_ARG, "the address for the request is null");
}

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

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<Mode::standard>({"MPI_Send", buf, count, datatype, dest, tag, comm});
}
MPI_WEAK_NAME(Send)

extern "C" int PMPI_Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<Mode::synchronous>({"MPI_Ssend", buf, count, datatype, dest, tag, comm});
}
MPI_WEAK_NAME(Ssend)

extern "C" int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  return isend<Mode::standard>({"MPI_Isend", buf, count, datatype, dest, tag, comm}, request);
}
MPI_WEAK_NAME(Isend)

extern "C" int PMPI_Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                           MPI_Request* request) {
  return isend<Mode::synchronous>({"MPI_Issend", buf, count, datatype, dest, tag, comm}, request);
}
MPI_WEAK_NAME(Issend)

extern "C" int PMPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         MPI_Status* status) {
  return receive(buf, {"MPI_Recv", buf, count, datatype, source, tag, comm}, status);
}
MPI_WEAK_NAME(Recv)

extern "C" int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  return ireceive(buf, {"MPI_Irecv", buf, count, datatype, source, tag, comm}, request);
}
MPI_WEAK_NAME(Irecv)

extern "C" int PMPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                             int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                             MPI_Status* status) {
  const Arguments to{"MPI_Sendrecv", sendbuf, sendcount, sendtype, dest, sendtag, comm};
  const Arguments from{"MPI_Sendrecv", recvbuf, recvcount, recvtype, source, recvtag, comm};
  Communicator* found;
  size_t bytes;
  if (int error = check_send(to, found, bytes)) return error;
  MPI_Request handle;
  if (int error = ireceive(recvbuf, from, &handle)) return error;
  Request& receiving = *pool.find(handle);
  const int send_error = send<Mode::standard>(to);
  if (send_error != MPI_SUCCESS) {
    adi::detach(receiving);
    return send_error;
  }
  adi::wait(receiving);
  set_status(status, receiving);
  const int error = receiving.failed() ? raise_request(from.function, receiving) : MPI_SUCCESS;
  if (receiving.state.load(std::memory_order_relaxed) != State::constant) pool.release(&receiving);
  return error;
}
MPI_WEAK_NAME(Sendrecv)
