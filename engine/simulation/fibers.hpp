// fibers.hpp: flows of control that hand the one thread to each other: what simulated processes run on.
//
// Thread: one. Invariants: a fiber that was not finished when it is destroyed is never run again; what lies on its stack is not destroyed.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define PORTUNUS_FIBERS_ARE_TOLD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PORTUNUS_FIBERS_ARE_TOLD 1
#endif
#endif
#ifdef PORTUNUS_FIBERS_ARE_TOLD
#include <sanitizer/common_interface_defs.h>
#endif

namespace portunus::simulation {

class Fiber {
 public:
  // `size` of its stack: address space, what is touched counts. Below it lies a page that nobody may touch.
  explicit Fiber(std::function<void()> body, size_t size = size_t{4} << 20) : body_(std::move(body)), size_(size) {
    stack_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack_, 4096, PROT_NONE);
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_;
    own_.uc_stack.ss_size = size_;
    own_.uc_link = nullptr;
    makecontext(&own_, &Fiber::begin, 0);
  }
  ~Fiber() { munmap(stack_, size_); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside: until it leaves or ends.
  void run() {
    running_ = this;
    tell_start(&outer_fake_, stack_, size_);
    swapcontext(&outer_, &own_);
    tell_finish(outer_fake_, nullptr, nullptr);
  }
  // From within.
  void leave() {
    tell_start(&own_fake_, outer_stack_, outer_size_);
    swapcontext(&own_, &outer_);
    tell_finish(own_fake_, &outer_stack_, &outer_size_);
  }
  bool ended() const { return ended_; }

 private:
  static void begin() {
    Fiber& mine = *running_;
    tell_finish(nullptr, &mine.outer_stack_, &mine.outer_size_);
    mine.body_();
    mine.ended_ = true;
    for (;;) mine.leave();
  }
#ifdef PORTUNUS_FIBERS_ARE_TOLD
  static void tell_start(void** fake, const void* stack, size_t size) { __sanitizer_start_switch_fiber(fake, stack, size); }
  static void tell_finish(void* fake, const void** stack, size_t* size) { __sanitizer_finish_switch_fiber(fake, stack, size); }
#else
  static void tell_start(void**, const void*, size_t) {}
  static void tell_finish(void*, const void**, size_t*) {}
#endif

  static inline Fiber* running_ = nullptr;
  std::function<void()> body_;
  const size_t size_;
  void* stack_ = nullptr;
  ucontext_t own_{}, outer_{};
  void *own_fake_ = nullptr, *outer_fake_ = nullptr;
  const void* outer_stack_ = nullptr;
  size_t outer_size_ = 0;
  bool ended_ = false;
};

}  // namespace portunus::simulation
