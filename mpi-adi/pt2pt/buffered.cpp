// buffered.cpp: buffered sends, and attaching, flushing and detaching their memory.
#include "mpi-adi/pt2pt/buffered.hpp"

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/core/settings.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi {

namespace {

MessageBuffer& process_buffer() {
  static MessageBuffer& one = *new MessageBuffer;
  return one;
}

MessageBuffer& buffer_of(const Communicator& comm) {
  if (comm.buffer && comm.buffer->attached()) return *comm.buffer;
  return comm.session_buffer && comm.session_buffer->attached() ? *comm.session_buffer : process_buffer();
}

constexpr int kLooks = 3;  // for room

int raise_full(const Arguments& given, const Communicator& comm, size_t bytes) {
  if (!buffer_of(comm).attached())
    return raise(given.function, &comm, MPI_ERR_BUFFER, "no buffer is attached; call MPI_Buffer_attach first");
  return raise(given.function, &comm, MPI_ERR_BUFFER,
               "the attached buffer has no room for %zu bytes; each message takes its size and up to MPI_BSEND_OVERHEAD bytes", bytes);
}

// The copies of messages that are longer than the transport sends with their headers and as short as MPIADI_EAGER_LIMIT says.
MessageBuffer& eager_buffer() {
  static MessageBuffer& one = *[] {
    auto* const made = new MessageBuffer;
    made->attach(MPI_BUFFER_AUTOMATIC, 0);
    return made;
  }();
  return one;
}

// Sends what is kept; complete at return.
int send_from(KeptMessage& kept, Request& request, const Arguments& given, const Communicator& comm, size_t bytes) {
  request.attached = &kept;
  request.special = true;
  const int result =
      device::isend(request, kept.data(), bytes, comm.job_rank(given.peer), own_bits(comm, given.tag), signatures::of(given));
  if (result != PTL_OK) {
    pool.release(&request);
    return raise_portals(given.function, &comm, result);
  }
  device::detach(request);
  return MPI_SUCCESS;
}

}  // namespace

int send_kept(const Arguments& given, const Communicator& comm, size_t bytes) {
  MessageBuffer& buffer = eager_buffer();
  KeptMessage* const kept = buffer.bytes() + bytes <= settings.unexpected_limit ? buffer.keep(bytes) : nullptr;
  if (kept == nullptr) return kNotKept;
  Request* const request = pool.claim(const_cast<Communicator*>(&comm), false);
  if (request == nullptr) {
    kept->released();
    return kNotKept;
  }
  pack(given, kept->data(), bytes);
  return send_from(*kept, *request, given, comm, bytes);
}

void flush_buffer(MessageBuffer& buffer) {
  device::wait_until([&] { return buffer.empty(); });
}

int send_buffered(const Arguments& given, const Communicator& comm, size_t bytes) {
  if (!device::reachable(comm.job_rank(given.peer))) return raise_lost(given, &comm);
  if (can_copy(Mode::standard, bytes)) {
    const int result = send_copied(comm, given, bytes);
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(given.function, &comm, result);
  }
  MessageBuffer& buffer = buffer_of(comm);
  KeptMessage* kept = buffer.attached() ? buffer.keep(bytes) : nullptr;
  // Events may be waiting that make room, or be with another thread: those before one of ours have been seen when that has. A message
  // that is over only for its receiver needs another look at the network.
  for (int look = 0; kept == nullptr && buffer.attached() && look < kLooks; ++look) {
    PtlxProgress();
    Request mark(const_cast<Communicator*>(&comm), false);
    if (const int result = device::signal(mark); result != PTL_OK) return raise_portals(given.function, &comm, result);
    device::wait(mark);
    kept = buffer.keep(bytes);
  }
  if (kept == nullptr) return raise_full(given, comm, bytes);
  pack(given, kept->data(), bytes);
  Request* request = pool.claim(const_cast<Communicator*>(&comm), false);
  if (request == nullptr) {
    kept->released();
    return raise_no_request(given, &comm);
  }
  return send_from(*kept, *request, given, comm, bytes);
}

namespace {

int bsend(const Arguments& given) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_send(given, comm, type, bytes))
    return error == kCaptured ? graph::send(given, graph::Way::buffered, nullptr) : error;
  return given.peer == MPI_PROC_NULL ? MPI_SUCCESS : send_buffered(given, *comm, bytes);
}

int ibsend(const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_send(given, comm, type, bytes))
    return error == kCaptured ? isend_otherwise(kCaptured, given, graph::Way::buffered, handle) : error;
  if (handle == nullptr) return raise_no_handle(given, comm);
  *handle = handle_of(pool.sent());
  return given.peer == MPI_PROC_NULL ? MPI_SUCCESS : send_buffered(given, *comm, bytes);
}

// The begin of a call of the process's buffer, and its way to raise errors.
class OfProcess {
 public:
  explicit OfProcess(const char* function) : function_(function) {}
  int operator()(int code, const char* sentence) const { return raise(function_, nullptr, code, "%s", sentence); }

 private:
  const char* function_;
};

// The same of a communicator's, which is made when it is first attached.
class OfCommunicator {
 public:
  OfCommunicator(const char* function, MPI_Comm handle) : function_(function) { error = check(function, handle, comm, {}); }
  int operator()(int code, const char* sentence) const { return raise(function_, comm, code, "%s", sentence); }
  MessageBuffer& buffer() const {
    if (!comm->buffer) comm->buffer = std::make_shared<MessageBuffer>();
    return *comm->buffer;
  }

  Communicator* comm;
  int error;

 private:
  const char* function_;
};

template <class Size>
int attach(const char* function, void* memory, Size size) {
  if (int error = check_running(function)) return error;
  return attach_buffer(process_buffer(), memory, size, OfProcess(function));
}
template <class Size>
int detach(const char* function, void* address, Size* size) {
  if (int error = check_running(function)) return error;
  return detach_buffer(process_buffer(), address, size, OfProcess(function));
}
template <class Size>
int attach(const char* function, MPI_Comm handle, void* memory, Size size) {
  const OfCommunicator of(function, handle);
  return of.error ? of.error : attach_buffer(of.buffer(), memory, size, of);
}
template <class Size>
int detach(const char* function, MPI_Comm handle, void* address, Size* size) {
  const OfCommunicator of(function, handle);
  return of.error ? of.error : detach_buffer(of.buffer(), address, size, of);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try {
  return bsend({"MPI_Bsend", buf, count, datatype, dest, tag, comm});
}
MPI_WEAK_NAME(Bsend)

extern "C" int PMPI_Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) try {
  return bsend({"MPI_Bsend_c", buf, count, datatype, dest, tag, comm});
}
MPI_WEAK_NAME(Bsend_c)

extern "C" int PMPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) try {
  return ibsend({"MPI_Ibsend", buf, count, datatype, dest, tag, comm}, request);
}
MPI_WEAK_NAME(Ibsend)

extern "C" int PMPI_Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                             MPI_Request* request) try {
  return ibsend({"MPI_Ibsend_c", buf, count, datatype, dest, tag, comm}, request);
}
MPI_WEAK_NAME(Ibsend_c)

#define MPI_BUFFER_CALLS(suffix, Size)                                                                                                 \
  extern "C" int PMPI_Buffer_attach##suffix(void* buffer, Size size) try { return attach("MPI_Buffer_attach" #suffix, buffer, size); } \
  MPI_WEAK_NAME(Buffer_attach##suffix)                                                                                                 \
  extern "C" int PMPI_Buffer_detach##suffix(void* buffer_addr, Size* size) try {                                                       \
    return detach("MPI_Buffer_detach" #suffix, buffer_addr, size);                                                                     \
  }                                                                                                                                    \
  MPI_WEAK_NAME(Buffer_detach##suffix)                                                                                                 \
  extern "C" int PMPI_Comm_attach_buffer##suffix(MPI_Comm comm, void* buffer, Size size) try {                                         \
    return attach("MPI_Comm_attach_buffer" #suffix, comm, buffer, size);                                                               \
  }                                                                                                                                    \
  MPI_WEAK_NAME(Comm_attach_buffer##suffix)                                                                                            \
  extern "C" int PMPI_Comm_detach_buffer##suffix(MPI_Comm comm, void* buffer_addr, Size* size) try {                                   \
    return detach("MPI_Comm_detach_buffer" #suffix, comm, buffer_addr, size);                                                          \
  }                                                                                                                                    \
  MPI_WEAK_NAME(Comm_detach_buffer##suffix)
MPI_BUFFER_CALLS(, int)
MPI_BUFFER_CALLS(_c, MPI_Count)

extern "C" int PMPI_Buffer_flush(void) try {
  if (int error = check_running("MPI_Buffer_flush")) return error;
  flush_buffer(process_buffer());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Buffer_flush)

extern "C" int PMPI_Buffer_iflush(MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Buffer_iflush";
  if (int error = check_running(kName)) return error;
  return iflush_buffer(process_buffer(), self(), request, OfProcess(kName));
}
MPI_WEAK_NAME(Buffer_iflush)

extern "C" int PMPI_Comm_flush_buffer(MPI_Comm comm) try {
  const OfCommunicator of("MPI_Comm_flush_buffer", comm);
  if (of.error) return of.error;
  flush_buffer(of.buffer());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_flush_buffer)

extern "C" int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request* request) try {
  const OfCommunicator of("MPI_Comm_iflush_buffer", comm);
  return of.error ? of.error : iflush_buffer(of.buffer(), *of.comm, request, of);
}
MPI_WEAK_NAME(Comm_iflush_buffer)
