// interface_index.hpp: which interface the object in a slot belongs to.
//
// Thread: written by who claimed the slot, before its handle is published; read by anyone. Closing an interface walks
// all slots and may read this word of one that was released and claimed again meanwhile: it then reads either
// value, and retiring the old handle fails.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus {

class InterfaceIndex {
 public:
  operator uint32_t() const { return value_.load(std::memory_order_relaxed); }  // `publish` and `find` order it
  InterfaceIndex& operator=(uint32_t ni) {
    value_.store(static_cast<uint8_t>(ni), std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<uint8_t> value_;
};

}  // namespace portunus
