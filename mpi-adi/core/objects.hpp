// objects.hpp: pools of what users hold handles to: communicators, groups, datatypes, infos ...
//
// A handle is the address of a pool's slot, so that a wrong one is found out without being followed. Address space for all
// slots is reserved once; pages are touched when first used.
// Thread: any. Invariants: an object in use does not move; find() finds it from the return of claim() to release().
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPIADI_WITH_LEAK_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MPIADI_WITH_LEAK_SANITIZER
#endif
#ifdef MPIADI_WITH_LEAK_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace portunus::mpi {

template <class T, uint32_t kCapacity>
class ObjectPool {
 public:
  constexpr ObjectPool() = default;

  // A new object; nullptr: kCapacity are in use, or there is no address space.
  T* claim() {
    std::lock_guard lock(mutex_);
    Slot* slot = free_;
    const bool fresh = slot == nullptr;
    if (fresh) {
      if (used_ == kCapacity || !reserve()) return nullptr;
      slot = new (base_.load(std::memory_order_relaxed) + used_) Slot;
    }
    T* object = new (slot->bytes) T;  // the slot stays free if this throws
    if (fresh) ++used_;
    else free_ = slot->next_free;
    slot->in_use.store(true, std::memory_order_release);  // acquired by find()
    return object;
  }
  void release(T* object) {
    object->~T();
    Slot* slot = reinterpret_cast<Slot*>(object);
    slot->in_use.store(false, std::memory_order_relaxed);
    std::lock_guard lock(mutex_);
    slot->next_free = free_;
    free_ = slot;
  }
  // nullptr: `handle` is no object in use.
  T* find(const void* handle) const {
    Slot* base = base_.load(std::memory_order_acquire);
    const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(base);
    if (base == nullptr || offset >= kCapacity * sizeof(Slot) || offset % sizeof(Slot) != 0) return nullptr;
    Slot* slot = base + offset / sizeof(Slot);
    return slot->in_use.load(std::memory_order_acquire) ? reinterpret_cast<T*>(slot->bytes) : nullptr;
  }
  template <class Action>
  void for_each(Action&& action) {
    for (uint32_t i = 0, count = used(); i < count; ++i)
      if (Slot* slot = base_.load(std::memory_order_relaxed) + i; slot->in_use.load(std::memory_order_acquire))
        action(*reinterpret_cast<T*>(slot->bytes));
  }

 private:
  friend struct Inside;  // tells debuggers where it lies
  struct Slot {
    alignas(64) std::byte bytes[sizeof(T)];
    std::atomic<bool> in_use{false};
    Slot* next_free = nullptr;
  };

  uint32_t used() {
    std::lock_guard lock(mutex_);
    return used_;
  }
  bool reserve() {
    if (base_.load(std::memory_order_relaxed) != nullptr) return true;
    void* memory = mmap(nullptr, kCapacity * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
#ifdef MPIADI_WITH_LEAK_SANITIZER
    __lsan_register_root_region(memory, kCapacity * sizeof(Slot));  // what objects in mapped memory keep is not lost
#endif
    base_.store(static_cast<Slot*>(memory), std::memory_order_release);  // zeroed: no slot is in use
    return true;
  }

  std::atomic<Slot*> base_{nullptr};
  Slot* free_ = nullptr;
  uint32_t used_ = 0;
  std::mutex mutex_;
};

}  // namespace portunus::mpi
