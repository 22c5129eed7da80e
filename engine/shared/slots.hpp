// slots.hpp: pools of objects behind Portals handles.
//
// A handle is kind (3 bits) | generation (8) | index (21). The caller claims a slot, fills it and publishes its handle;
// nobody is asked. Address space for the largest pool is reserved once and the kernel gives memory when a slot is
// first used, so a limit of a million entries costs nothing.
//
// Thread: every function from any thread. Invariants: exactly one `retire` of a handle succeeds; a retired handle never
// finds its slot again before 256 further uses of that slot.
// Source: handle values of the Portals 4 constants (EQ_NONE = kind 1, CT_NONE = kind 2, all other bits one).
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <new>
#include <system_error>
#include <type_traits>

namespace portunus {

enum class HandleKind : uint32_t { interface = 0, event_queue = 1, counter = 2, descriptor = 3, entry = 4 };

constexpr uint32_t kIndexBits = 21;
constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
constexpr uint32_t kGenerationMask = 0xff;
constexpr uint32_t kNoIndex = kIndexMask;

constexpr uint32_t make_handle(HandleKind kind, uint32_t generation, uint32_t index) {
  return static_cast<uint32_t>(kind) << 29 | (generation & kGenerationMask) << kIndexBits | index;
}
constexpr HandleKind handle_kind(uint32_t handle) { return static_cast<HandleKind>(handle >> 29); }
constexpr uint32_t handle_index(uint32_t handle) { return handle & kIndexMask; }
constexpr uint32_t handle_generation(uint32_t handle) { return handle >> kIndexBits & kGenerationMask; }

// T must be valid when all its bytes are zero; what a claim leaves in it from the last use is the claimer's business.
template <class T>
class Pool {
 public:
  Pool(HandleKind kind, uint32_t capacity) : kind_(kind), capacity_(capacity) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      throw std::system_error(errno, std::generic_category(),
                              "cannot reserve address space for a pool of Portals objects; raise `ulimit -v`");
    slots_ = static_cast<Slot*>(memory);
  }
  ~Pool() { munmap(slots_, bytes()); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A slot for the caller to fill, or kNoIndex when all are in use.
  uint32_t claim() {
    uint64_t top = free_.load(std::memory_order_acquire);  // pairs with the release in give_back
    while (static_cast<uint32_t>(top) != 0) {
      uint32_t index = static_cast<uint32_t>(top) - 1;
      uint64_t next = (top >> 32) + 1;
      next = next << 32 | slots_[index].next.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(top, next, std::memory_order_acquire)) return index;
    }
    uint32_t index = fresh_.load(std::memory_order_relaxed);
    do {
      if (index >= capacity_) return kNoIndex;
    } while (!fresh_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    return index;
  }

  // Makes a filled slot findable. Release: what was filled in happens before any `find` of this handle.
  uint32_t publish(uint32_t index) {
    assert(index < used() && !(slots_[index].state.load(std::memory_order_relaxed) & 1));
    uint32_t generation = slots_[index].state.load(std::memory_order_relaxed) >> 1;
    slots_[index].state.store(generation << 1 | 1, std::memory_order_release);
    return make_handle(kind_, generation, index);
  }

  // The same where the caller has its handle already.
  void publish_as(uint32_t handle) {
    slots_[handle_index(handle)].state.store(handle_generation(handle) << 1 | 1, std::memory_order_release);
  }
  // The handle that `publish` will give.
  uint32_t next_handle(uint32_t index) const { return make_handle(kind_, slots_[index].state.load(std::memory_order_relaxed) >> 1, index); }

  // The object behind a handle, or nullptr when it is of another kind, stale or never existed.
  [[gnu::always_inline]] T* find(uint32_t handle) {
    uint32_t index = handle_index(handle);
    if (handle_kind(handle) != kind_ || index >= capacity_) return nullptr;
    Slot& slot = slots_[index];
    uint32_t expected = handle_generation(handle) << 1 | 1;
    return slot.state.load(std::memory_order_acquire) == expected ? &slot.value : nullptr;  // pairs with publish
  }

  // Ends the life of a handle; true for exactly one caller. The slot stays claimed until give_back.
  bool retire(uint32_t handle) {
    uint32_t index = handle_index(handle);
    if (handle_kind(handle) != kind_ || index >= capacity_) return false;
    uint32_t expected = handle_generation(handle) << 1 | 1;
    uint32_t dead = ((handle_generation(handle) + 1) & kGenerationMask) << 1;
    return slots_[index].state.compare_exchange_strong(expected, dead, std::memory_order_acq_rel);
  }

  void give_back(uint32_t index) {
    assert(index < used() && !(slots_[index].state.load(std::memory_order_relaxed) & 1));
    uint64_t top = free_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      slots_[index].next.store(static_cast<uint32_t>(top), std::memory_order_relaxed);
      next = ((top >> 32) + 1) << 32 | (index + 1);
    } while (!free_.compare_exchange_weak(top, next, std::memory_order_release, std::memory_order_relaxed));
  }

  // The same for the baton holder, without locked instructions. What claim finds missing may lie here: a pool that must give exactly
  // so many slots to others has kHeldBack more.
  uint32_t claim_held() { return held_ > 0 ? held_back_[--held_] : claim(); }
  void give_back_held(uint32_t index) {
    assert(index < used() && held_ <= kHeldBack && !(slots_[index].state.load(std::memory_order_relaxed) & 1));
    if (held_ < kHeldBack) held_back_[held_++] = index;
    else give_back(index);
  }
  // Retires the slot's handle, one of those that only baton holders retire, unless it has been retired.
  void retire_held(uint32_t index) {
    assert(index < used());
    const uint32_t state = slots_[index].state.load(std::memory_order_relaxed);
    slots_[index].state.store((state + (state & 1)) & kGenerationMask << 1, std::memory_order_release);
  }
  static constexpr uint32_t kHeldBack = 256;
  static constexpr size_t bytes_of(uint32_t capacity) { return sizeof(Slot) * capacity; }

  T& at(uint32_t index) { return slots_[index].value; }
  uint32_t index_of(const T& value) const {
    auto offset = reinterpret_cast<const std::byte*>(&value) - reinterpret_cast<const std::byte*>(slots_);
    assert(offset >= 0 && static_cast<size_t>(offset) < bytes() && static_cast<size_t>(offset) % sizeof(Slot) == 0);
    return static_cast<uint32_t>(static_cast<size_t>(offset) / sizeof(Slot));
  }
  uint32_t used() const { return fresh_.load(std::memory_order_relaxed); }  // slots ever used: bound for walks
  // The handle of a slot that is live now, or 0xffffffff.
  uint32_t live_handle(uint32_t index) const {
    uint32_t state = slots_[index].state.load(std::memory_order_acquire);
    return state & 1 ? make_handle(kind_, state >> 1, index) : 0xffffffffu;
  }
  uint32_t capacity() const { return capacity_; }
  HandleKind kind() const { return kind_; }

 private:
  struct Slot {
    T value;
    std::atomic<uint32_t> state;  // generation << 1 | live
    std::atomic<uint32_t> next;   // of the free list, index + 1
  };
  size_t bytes() const { return bytes_of(capacity_); }

  HandleKind kind_;
  uint32_t capacity_;
  Slot* slots_;
  uint32_t held_ = 0;  // the baton holder's own free slots
  uint32_t held_back_[kHeldBack];
  alignas(64) std::atomic<uint64_t> free_{0};   // count of changes << 32 | index + 1
  alignas(64) std::atomic<uint32_t> fresh_{0};  // slots never used start here
};

}  // namespace portunus
