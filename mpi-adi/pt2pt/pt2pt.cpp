// pt2pt.cpp: the calls that send or receive one message.
#include "mpi-adi/pt2pt/pt2pt.hpp"

#include <array>

#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/buffers_in_use.hpp"
#include "mpi-adi/request/completion.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {

int start_packed_send(Mode mode, Request& request, const Arguments& given, size_t bytes) {
  const Communicator& comm = *request.comm;
  const int target = comm.job_rank(given.peer);
  int result;
  if (shares_memory(target)) {
    const ptlx_layout_t& layout = lay_out(request, const_cast<void*>(given.buf), given);
    result =
        device::send_laid_out(&request, mode == Mode::synchronous, layout, bytes, target, own_bits(comm, given.tag), signatures::of(given));
  } else {  // a network reads from one piece of memory: packed here, the engine is free meanwhile
    const std::byte* packed = pack_into_scratch(request, given, bytes);
    if (packed == nullptr) return PTL_NO_SPACE;
    result = start_send(mode, request, packed, given, bytes);
  }
  if (result != PTL_OK) drop_packing(request);
  return result;
}

int send_packed_copy(const Communicator& comm, const Arguments& given, size_t bytes) {
  constexpr size_t kShort = 1024;  // packed here, the message takes the short way of those in one piece
  if (bytes <= kShort) {
    std::array<std::byte, kShort> packed;
    pack(given, packed.data(), bytes);
    return device::send_copied(packed.data(), bytes, comm.job_rank(given.peer), own_bits(comm, given.tag), signatures::of(given));
  }
  const LaidOut data(const_cast<void*>(given.buf), given);
  return device::send_laid_out(nullptr, false, data.layout, bytes, comm.job_rank(given.peer), own_bits(comm, given.tag),
                               signatures::of(given));
}

int raise_no_request(const Arguments& given, const Communicator* comm) {
  return raise(given.function, comm, MPI_ERR_NO_MEM, "%u requests are in use, the most there can be; complete some of them first",
               pool.most());
}
int raise_lost(const Arguments& given, const Communicator* comm) {
  return raise(given.function, comm, MPI_ERR_PROC_ABORTED, "rank %d has ended, or cannot be reached", given.peer);
}
int raise_no_handle(const Arguments& given, const Communicator* comm) {
  return raise(given.function, comm, MPI_ERR_ARG, "the address for the request is null");
}

namespace {

int wait_in_pool(const char* function, MPI_Request handle, MPI_Status* status) {
  Request* request = pool.find(handle);
  device::wait_until([&] { return request->ready(); }, [] {}, [&] { device::long_waits::tell(*request); });
  if (request->is_pending()) [[unlikely]]
    device::end_pending(*request);
  device::wait(*request);
  return finish(function, handle, request, status);
}

// Starts a message that was checked.
int start_send_in_pool(Mode mode, const Arguments& given, bool holds, MPI_Request* handle) {
  Communicator* const comm = find_communicator(given.comm);
  Request* const request = pool.claim(comm, false);
  if (request == nullptr) return raise_no_request(given, comm);
  if (holds) buffers_in_use::hold(*request, given);
  const size_t bytes = bytes_of(given, find_type(given.datatype, given.count));
  if (const int result = start_send(mode, *request, given, bytes); result != PTL_OK) {
    pool.release(request);
    return raise_portals(given.function, comm, result);
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace

int isend_otherwise(int why, const Arguments& given, graph::Way way, MPI_Request* handle) {
  const Communicator* const comm = find_communicator(given.comm);
  if (handle == nullptr) return raise_no_handle(given, comm);
  if (why == kCaptured) return graph::send(given, way, handle);
  if (!device::reachable(comm->job_rank(given.peer))) return raise_lost(given, comm);
  return start_send_in_pool(way == graph::Way::standard ? Mode::standard : Mode::synchronous, given, true, handle);
}

int receive_otherwise(int why, void* buf, const Arguments& given, MPI_Status* status) {
  if (why == kWatched) return receive_in_pool(buf, given, status);
  set_empty_status(status);
  return graph::receive(buf, given, nullptr);
}

int ireceive_otherwise(int why, void* buf, const Arguments& given, MPI_Request* handle) {
  if (why == kWatched) return ireceive_in_pool(buf, given, handle);
  return handle == nullptr ? raise_no_handle(given, find_communicator(given.comm)) : graph::receive(buf, given, handle);
}

int receive_in_pool(void* buf, const Arguments& given, MPI_Status* status) {
  MPI_Request handle;
  if (int error = ireceive_in_pool(buf, given, &handle)) return error;
  return wait_in_pool(given.function, handle, status);
}

int ireceive_in_pool(void* buf, const Arguments& given, MPI_Request* handle) {
  Communicator* const comm = find_communicator(given.comm);
  if (handle == nullptr) return raise_no_handle(given, comm);
  Request* request = pool.claim(comm, true);
  if (request == nullptr) return raise_no_request(given, comm);
  request->special = tool::is_listened(tool::Event::message_received);  // told of when it is completed
  signatures::expect(*request, given);
  if (debug.buffers) buffers_in_use::hold(*request, given);
  const Datatype& type = *find_type(given.datatype, given.count);
  if (int result = start_receive(*request, buf, given, type, bytes_of(given, &type)); result != PTL_OK) {
    pool.release(request);
    return raise_portals(given.function, comm, result);
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

int receive_without_slot(void* buf, const Arguments& given, MPI_Status* status) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_receive(given, comm, bytes)) return error;
  Request request(comm, true);
  if (int result = start_receive(request, buf, given, bytes); result != PTL_OK) return raise_portals(given.function, comm, result);
  device::failures.blocked = &request;
  device::wait(request);
  device::failures.blocked = nullptr;
  set_status(status, request);
  return request.failed() ? raise_request(given.function, request) : MPI_SUCCESS;
}

int send_in_pool(Mode mode, const Arguments& given) {
  MPI_Request handle;
  if (int error = start_send_in_pool(mode, given, false, &handle)) return error;
  return wait_in_pool(given.function, handle, MPI_STATUS_IGNORE);
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

// Each with its large-count form.
#define BLOCKING_SEND(name, mode)                                                                                                 \
  extern "C" int PMPI_##name(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try {           \
    return send<mode>({"MPI_" #name, buf, count, datatype, dest, tag, comm});                                                     \
  }                                                                                                                               \
  MPI_WEAK_NAME(name)                                                                                                             \
  extern "C" int PMPI_##name##_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try { \
    return send<mode>({"MPI_" #name "_c", buf, count, datatype, dest, tag, comm});                                                \
  }                                                                                                                               \
  MPI_WEAK_NAME(name##_c)

#define NONBLOCKING_SEND(name, mode)                                                                                        \
  extern "C" int PMPI_##name(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,           \
                             MPI_Request* request) try {                                                                    \
    return isend_here<mode>({"MPI_" #name, buf, count, datatype, dest, tag, comm}, request);                                \
  }                                                                                                                         \
  MPI_WEAK_NAME(name)                                                                                                       \
  extern "C" int PMPI_##name##_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, \
                                 MPI_Request* request) try {                                                                \
    return isend<mode>({"MPI_" #name "_c", buf, count, datatype, dest, tag, comm}, request);                                \
  }                                                                                                                         \
  MPI_WEAK_NAME(name##_c)

BLOCKING_SEND(Send, Mode::standard)
BLOCKING_SEND(Ssend, Mode::synchronous)
BLOCKING_SEND(Rsend, Mode::standard)
NONBLOCKING_SEND(Isend, Mode::standard)
NONBLOCKING_SEND(Issend, Mode::synchronous)
NONBLOCKING_SEND(Irsend, Mode::standard)

extern "C" int PMPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status) try {
  return receive(buf, {"MPI_Recv", buf, count, datatype, source, tag, comm}, status);
}
MPI_WEAK_NAME(Recv)

extern "C" int PMPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status) try {
  return receive(buf, {"MPI_Recv_c", buf, count, datatype, source, tag, comm}, status);
}
MPI_WEAK_NAME(Recv_c)

extern "C" int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request) try {
  return ireceive_here(buf, {"MPI_Irecv", buf, count, datatype, source, tag, comm}, request);
}
MPI_WEAK_NAME(Irecv)

extern "C" int PMPI_Irecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                            MPI_Request* request) try {
  return ireceive(buf, {"MPI_Irecv_c", buf, count, datatype, source, tag, comm}, request);
}
MPI_WEAK_NAME(Irecv_c)
