// buffered.hpp: the memory that buffered sends keep their messages in.
//
// Messages lie one behind the other in the user's buffer, each behind a header; a message that has left makes a gap, and the
// first gap that is large enough takes the next one. With MPI_BUFFER_AUTOMATIC each has memory of its own.
// Thread: any; locked. Source: MPI-5.0, 3.6.
#pragma once

#include <cstddef>
#include <mutex>

#include "mpi-adi/mpi.h"
#include "mpi-adi/request.hpp"

namespace portunus::mpi {

class MessageBuffer;

// A message in a buffer. Its memory is free again when the request that sends it is.
struct alignas(16) KeptMessage final : Attachment {
  MessageBuffer* home = nullptr;
  KeptMessage* next = nullptr;  // by address
  size_t room = 0;              // bytes, with this header
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

 private:
  bool automatic() const { return memory_ == MPI_BUFFER_AUTOMATIC; }

  std::mutex mutex_;
  void* memory_ = nullptr;
  size_t size_ = 0;
  size_t kept_ = 0;              // messages
  KeptMessage* first_ = nullptr;
};

struct Arguments;
// Sends a copy of the message; complete at return.
int send_buffered(const Arguments& given, const Communicator& comm, size_t bytes);

}  // namespace portunus::mpi
