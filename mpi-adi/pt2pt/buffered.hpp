// buffered.hpp: the memory that buffered sends keep their messages in.
//
// Messages lie one behind the other in the user's buffer, each behind a header; a message that has left makes a gap, and the
// first gap that is large enough takes the next one. A communicator may have a buffer of its own, and so may a session, for
// communicators that come from it; the others share that of the process. With MPI_BUFFER_AUTOMATIC each has memory of its own.
// Thread: any; locked. Source: MPI-5.0, 3.6.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "mpi-adi/mpi.h"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi {

class MessageBuffer;

// A message in a buffer. Its memory is free again when the request that sends it is.
struct alignas(16) KeptMessage final : Attachment {
  MessageBuffer* home = nullptr;
  KeptMessage* next = nullptr;  // by address
  size_t room = 0;              // bytes, with this header
  uint64_t serial = 0;
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  void released() override;
};
static_assert(sizeof(KeptMessage) + 2 * alignof(KeptMessage) <= MPI_BSEND_OVERHEAD);

class MessageBuffer {
 public:
  void attach(void* memory, size_t size);
  void detach(void*& memory, size_t& size);
  bool attached() const { return memory_ != nullptr; }
  // nullptr: there is no gap of so many bytes.
  KeptMessage* keep(size_t bytes);
  void forget(KeptMessage& message);
  bool empty();
  // The memory of all messages here, with their headers.
  size_t bytes();
  // Signals the request when all that is kept now has left. False: nothing is.
  bool flush(Request& request);

 private:
  struct Flush {
    Request* request;
    uint64_t until;  // messages before this one
    size_t left;     // of these
  };

  bool automatic() const { return memory_ == MPI_BUFFER_AUTOMATIC; }

  std::mutex mutex_;
  void* memory_ = nullptr;
  size_t size_ = 0;
  size_t kept_ = 0;   // messages
  size_t bytes_ = 0;  // of these
  KeptMessage* first_ = nullptr;
  uint64_t next_serial_ = 0;
  std::vector<Flush> flushes_;
};

// The calls on one buffer. `fail(code, sentence)` raises an error where it belongs to, and answers its class.
template <class Fail>
int attach_buffer(MessageBuffer& buffer, void* memory, MPI_Count size, Fail&& fail) {
  if (buffer.attached()) return fail(MPI_ERR_BUFFER, "a buffer is attached already");
  if (memory == nullptr) return fail(MPI_ERR_BUFFER, "the buffer is null");
  if (size < 0) return fail(MPI_ERR_ARG, "the size is negative");
  buffer.attach(memory, static_cast<size_t>(size));
  return MPI_SUCCESS;
}
void flush_buffer(MessageBuffer& buffer);
template <class Size, class Fail>
int detach_buffer(MessageBuffer& buffer, void* address, Size* size, Fail&& fail) {
  if (address == nullptr || size == nullptr) return fail(MPI_ERR_ARG, "the address for the buffer or for its size is null");
  flush_buffer(buffer);
  void* memory;
  size_t bytes;
  buffer.detach(memory, bytes);
  *static_cast<void**>(address) = memory;
  *size = static_cast<Size>(bytes);
  return MPI_SUCCESS;
}
// A request that is complete when all that the buffer keeps now has left; `comm` is whose error handler it has.
template <class Fail>
int iflush_buffer(MessageBuffer& buffer, Communicator& comm, MPI_Request* handle, Fail&& fail) {
  if (handle == nullptr) return fail(MPI_ERR_ARG, "the address for the request is null");
  Request* request = pool.claim(&comm, false);
  if (request == nullptr) return fail(MPI_ERR_NO_MEM, "all requests are in use; complete some of them first");
  if (!buffer.flush(*request)) {
    pool.release(request);
    request = pool.sent();
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

struct Arguments;
// Sends a copy of the message; complete at return.
int send_buffered(const Arguments& given, const Communicator& comm, size_t bytes);

}  // namespace portunus::mpi
