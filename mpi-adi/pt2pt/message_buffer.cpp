// message_buffer.cpp: where the messages of buffered sends lie.
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/pt2pt/buffered.hpp"

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
  message->serial = next_serial_++;
  if (!automatic()) {
    message->next = *link;
    *link = message;
  }
  ++kept_;
  bytes_ += room;
  return message;
}

void MessageBuffer::forget(KeptMessage& message) {
  std::vector<Request*> over;
  {
    std::lock_guard lock(mutex_);
    assert(kept_ > 0 && message.home == this && message.serial < next_serial_);
    --kept_;
    bytes_ -= message.room;
    std::erase_if(flushes_, [&](Flush& flush) {
      if (message.serial < flush.until && --flush.left == 0) over.push_back(flush.request);
      return flush.left == 0;
    });
    if (!automatic()) {
      KeptMessage** link = &first_;
      while (*link != &message) link = &(*link)->next;
      *link = message.next;
    }
    message.~KeptMessage();
    if (automatic()) std::free(&message);
  }
  for (Request* request : over) device::signal(*request);
}

size_t MessageBuffer::bytes() {
  std::lock_guard lock(mutex_);
  return bytes_;
}

bool MessageBuffer::empty() {
  std::lock_guard lock(mutex_);
  return kept_ == 0;
}

bool MessageBuffer::flush(Request& request) {
  std::lock_guard lock(mutex_);
  if (kept_ == 0) return false;
  assert(flushes_.empty() || flushes_.back().until <= next_serial_);
  flushes_.push_back({&request, next_serial_, kept_});
  return true;
}

}  // namespace portunus::mpi
