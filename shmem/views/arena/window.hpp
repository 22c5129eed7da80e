// window.hpp: the shared pages as the program sees them: the same memory as the arena in the symmetric heap, mapped once
// more, at the same address in all processes. Protection exists here alone, so data that arrive (in the heap) never fault.
//
// A page is closed (a write faults), open, or hidden (each access faults). A page may have a twin: what it held when the session began. The
// handler of SIGSEGV makes a twin and opens the page, if a view that is held for writing may own the address; else it prints a sentence and
// hands the signal on.
//
// Thread: the one that calls; the handler on any. Invariants: twins lie in a range reserved at start: the handler
// allocates nothing.
// Source: VODCA, section 3.1 (twins); mremap(2): an old size of 0 maps a shared mapping a second time.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace portunus::views {

class Window {
 public:
  // Which view may be written at `offset`? Called in the handler: true opens the page.
  using MayWrite = bool (*)(size_t offset);

  // Collective. `heap` .. `heap + bytes` becomes visible at one address everywhere.
  // `agreement`: three words of symmetric memory.
  void open(char* heap, size_t bytes, uint64_t agreement[3], MayWrite may_write);
  void close();

  char* start() const { return at_; }
  size_t bytes() const { return bytes_; }
  bool holds(const void* p, size_t bytes) const {
    const size_t offset = static_cast<size_t>(static_cast<const char*>(p) - at_);
    return offset < bytes_ && bytes <= bytes_ - offset;
  }
  size_t offset(const void* p) const { return static_cast<size_t>(static_cast<const char*>(p) - at_); }

  // Whole pages [first, end).
  void open_pages(size_t first, size_t end);
  void close_pages(size_t first, size_t end);
  void close_all();
  // A page that is hidden cannot be read, either: PTL_DEBUG=views. Opening shows it.
  void hide_pages(size_t first, size_t end);
  void show_pages(size_t first, size_t end);
  bool is_hidden(size_t page) const { return states_[page] & kHidden; }
  bool is_open(size_t page) const { return states_[page] & kOpen; }
  uint64_t closings() const { return closings_; }  // steps up whenever an open page is closed
  void make_twin(size_t page);
  char* twin(size_t page) const { return states_[page] & kTwin ? twins_ + page * 4096 : nullptr; }
  // The pages that have twins, in the order of their first writes.
  const std::vector<uint32_t>& twinned() const { return list_; }
  size_t twin_count() const { return count_.load(std::memory_order_acquire); }
  void drop_twins();

  // Data that arrived at [offset, offset + bytes): into the twins, too, or they would count as written here.
  void patch_twins(size_t offset, size_t bytes);
  uint64_t faults() const { return faults_; }

 private:
  static constexpr uint8_t kOpen = 1, kTwin = 2, kHidden = 4;
  static void on_fault(int signal, siginfo_t* info, void* context);
  bool handle(const void* address);
  void protect(size_t first, size_t end, int access);
  void note_twin(size_t page);
  void note_open(size_t first, size_t end);

  char* at_ = nullptr;
  char* heap_ = nullptr;
  char* twins_ = nullptr;
  size_t bytes_ = 0;
  MayWrite may_write_ = nullptr;
  uint8_t* states_ = nullptr;
  std::vector<uint32_t> list_;  // as long as there are pages; the first count_ are twinned
  std::atomic<size_t> count_{0};
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  // No other page is open. Faults of other threads may widen it at any time; who closes all is sure that nobody writes.
  std::atomic<size_t> first_open_{SIZE_MAX}, end_open_{0};
  uint64_t closings_ = 0, faults_ = 0;
  struct sigaction before_ {};
};

extern Window window [[gnu::visibility("hidden")]];

}  // namespace portunus::views
