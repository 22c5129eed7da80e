// buffered.cpp: buffered sends, and attaching, flushing and detaching their memory.
#include "mpi-adi/buffered.hpp"

#include <climits>
#include <cstdlib>
#include <new>

#include "mpi-adi/completion.hpp"
#include "mpi-adi/profiling.hpp"
#include "mpi-adi/pt2pt.hpp"

namespace portunus::mpi {

void KeptMessage::released() { home->forget(*this); }

void MessageBuffer::attach(void* memory, size_t size) {
  std::lock_guard lock(mutex_);
  memory_ = memory;
  size_ = size;
  first_ = nullptr;
}

void MessageBuffer::detach(void*& memory, size_t& size) {
  std::lock_guard lock(mutex_);
  memory = memory_;
  size = automatic() ? 0 : size_;
  memory_ = nullptr;
}

KeptMessage* MessageBuffer::keep(size_t bytes) {
  constexpr size_t kAlign = alignof(KeptMessage);
  const size_t room = sizeof(KeptMessage) + (bytes + kAlign - 1) / kAlign * kAlign;
  std::lock_guard lock(mutex_);
  void* place = nullptr;
  KeptMessage** link = &first_;
  if (automatic()) {
    place = std::aligned_alloc(kAlign, room);
  } else {
    const auto begin = reinterpret_cast<uintptr_t>(memory_);
    uintptr_t gap = (begin + kAlign - 1) / kAlign * kAlign;
    for (;; link = &(*link)->next) {
      const uintptr_t end = *link ? reinterpret_cast<uintptr_t>(*link) : begin + size_;
      if (gap <= end && end - gap >= room) {
        place = reinterpret_cast<void*>(gap);
        break;
      }
      if (*link == nullptr) break;
      gap = reinterpret_cast<uintptr_t>(*link) + (*link)->room;
    }
  }
  if (place == nullptr) return nullptr;
  auto* message = new (place) KeptMessage;
  message->home = this;
  message->room = room;
  if (!automatic()) {
    message->next = *link;
    *link = message;
  }
  ++kept_;
  return message;
}

void MessageBuffer::forget(KeptMessage& message) {
  std::lock_guard lock(mutex_);
  --kept_;
  if (automatic()) {
    message.~KeptMessage();
    std::free(&message);
    return;
  }
  KeptMessage** link = &first_;
  while (*link != &message) link = &(*link)->next;
  *link = message.next;
  message.~KeptMessage();
}

bool MessageBuffer::empty() {
  std::lock_guard lock(mutex_);
  return kept_ == 0;
}

namespace {

MessageBuffer& buffer() {
  static MessageBuffer& one = *new MessageBuffer;
  return one;
}

int raise_full(const Arguments& given, const Communicator& comm, size_t bytes) {
  if (!buffer().attached())
    return raise(given.function, &comm, MPI_ERR_BUFFER, "no buffer is attached; call MPI_Buffer_attach first");
  return raise(given.function, &comm, MPI_ERR_BUFFER,
               "the attached buffer has no room for %zu bytes; each message takes its size and up to MPI_BSEND_OVERHEAD bytes",
               bytes);
}

}  // namespace

int send_buffered(const Arguments& given, const Communicator& comm, size_t bytes) {
  if (!adi::reachable(comm.job_rank(given.peer))) return raise_lost(given, &comm);
  if (can_copy(Mode::standard, bytes)) {
    const int result = send_copied(comm, given, bytes);
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(given.function, &comm, result);
  }
  KeptMessage* kept = buffer().attached() ? buffer().keep(bytes) : nullptr;
  if (kept == nullptr && buffer().attached()) {  // events may be waiting that make room
    adi::poll_until([] { return false; });
    kept = buffer().keep(bytes);
  }
  if (kept == nullptr) return raise_full(given, comm, bytes);
  pack(given, kept->data(), bytes);
  Request* request = pool.claim(const_cast<Communicator*>(&comm), false);
  if (request == nullptr) {
    kept->released();
    return raise_no_request(given, &comm);
  }
  request->attached = kept;
  request->special = true;
  const int result = adi::isend(*request, kept->data(), bytes, comm.job_rank(given.peer), own_bits(comm, given.tag));
  if (result != PTL_OK) {
    pool.release(request);
    return raise_portals(given.function, &comm, result);
  }
  adi::detach(*request);
  return MPI_SUCCESS;
}

namespace {

int bsend(const Arguments& given) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_send(given, comm, bytes)) return error;
  return given.peer == MPI_PROC_NULL ? MPI_SUCCESS : send_buffered(given, *comm, bytes);
}

int ibsend(const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_send(given, comm, bytes)) return error;
  if (handle == nullptr) return raise_no_handle(given, comm);
  *handle = handle_of(pool.sent());
  return given.peer == MPI_PROC_NULL ? MPI_SUCCESS : send_buffered(given, *comm, bytes);
}

int attach(const char* function, void* memory, MPI_Count size) {
  if (find_communicator(MPI_COMM_WORLD) == nullptr) return raise_bad_communicator(function, MPI_COMM_WORLD);
  if (buffer().attached()) return raise(function, nullptr, MPI_ERR_BUFFER, "a buffer is attached already");
  if (memory == nullptr) return raise(function, nullptr, MPI_ERR_BUFFER, "the buffer is null");
  if (size < 0) return raise(function, nullptr, MPI_ERR_ARG, "the size is negative (%lld)", static_cast<long long>(size));
  buffer().attach(memory, static_cast<size_t>(size));
  return MPI_SUCCESS;
}

int flush(const char* function) {
  if (find_communicator(MPI_COMM_WORLD) == nullptr) return raise_bad_communicator(function, MPI_COMM_WORLD);
  adi::wait_until([] { return buffer().empty(); });
  return MPI_SUCCESS;
}

template <class Size>
int detach(const char* function, void* address, Size* size) {
  if (address == nullptr || size == nullptr) return raise_null(function, address ? "size" : "buffer");
  if (int error = flush(function)) return error;
  void* memory;
  size_t bytes;
  buffer().detach(memory, bytes);
  *static_cast<void**>(address) = memory;
  *size = static_cast<Size>(bytes);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return bsend({"MPI_Bsend", buf, count, datatype, dest, tag, comm});
}
MPI_WEAK_NAME(Bsend)

extern "C" int PMPI_Bsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return bsend({"MPI_Bsend_c", buf, count, datatype, dest, tag, comm});
}
MPI_WEAK_NAME(Bsend_c)

extern "C" int PMPI_Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                           MPI_Request* request) {
  return ibsend({"MPI_Ibsend", buf, count, datatype, dest, tag, comm}, request);
}
MPI_WEAK_NAME(Ibsend)

extern "C" int PMPI_Ibsend_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  return ibsend({"MPI_Ibsend_c", buf, count, datatype, dest, tag, comm}, request);
}
MPI_WEAK_NAME(Ibsend_c)

extern "C" int PMPI_Buffer_attach(void* buffer, int size) { return attach("MPI_Buffer_attach", buffer, size); }
MPI_WEAK_NAME(Buffer_attach)

extern "C" int PMPI_Buffer_attach_c(void* buffer, MPI_Count size) { return attach("MPI_Buffer_attach_c", buffer, size); }
MPI_WEAK_NAME(Buffer_attach_c)

extern "C" int PMPI_Buffer_detach(void* buffer_addr, int* size) { return detach("MPI_Buffer_detach", buffer_addr, size); }
MPI_WEAK_NAME(Buffer_detach)

extern "C" int PMPI_Buffer_detach_c(void* buffer_addr, MPI_Count* size) {
  return detach("MPI_Buffer_detach_c", buffer_addr, size);
}
MPI_WEAK_NAME(Buffer_detach_c)

extern "C" int PMPI_Buffer_flush(void) { return flush("MPI_Buffer_flush"); }
MPI_WEAK_NAME(Buffer_flush)
