// window.cpp: the second mapping, its protection, and the handler of faults.
#include "shmem/views/arena/window.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "shmem/include/shmem.h"
#include "shmem/views/job/layout.hpp"
#include "shmem/views/refusal.hpp"

namespace portunus::views {

Window window;

namespace {

char* reserve(void* at, size_t bytes) {
  void* got = mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  return got == MAP_FAILED ? nullptr : static_cast<char*>(got);
}

// The heap is private memory where no process shares the node: its pages, still all zero, are replaced by shared ones.
bool share(char* heap, size_t bytes) {
  const int file = memfd_create("vdc", MFD_CLOEXEC);
  if (file < 0) return false;
  const bool done = ftruncate(file, static_cast<off_t>(bytes)) == 0 &&
                    mmap(heap, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  ::close(file);
  return done;
}

// A range that is free in all processes, reserved in each.
char* reserve_everywhere(size_t bytes, uint64_t& wanted, uint64_t& here_it_goes, uint64_t& everywhere_it_goes) {
  constexpr int kTries = 32;
  std::vector<char*> tried;
  char* found = nullptr;
  for (int i = 0; i < kTries && !found; ++i) {
    char* mine = nullptr;
    if (shmem_my_pe() == 0) {
      // First at the kernel's choice; then far from all that is usually mapped.
      void* const far = reinterpret_cast<void*>((uintptr_t{1} << 44) + (static_cast<uintptr_t>(i) << 36));
      mine = reserve(i < 8 ? nullptr : far, bytes);
      wanted = reinterpret_cast<uintptr_t>(mine);
    }
    shmem_barrier_all();
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, &wanted, &wanted, 1, 0);
    char* const address = reinterpret_cast<char*>(wanted);
    if (!mine && address) mine = reserve(address, bytes);
    if (mine && mine != address) munmap(mine, bytes), mine = nullptr;
    here_it_goes = mine != nullptr;
    shmem_uint64_min_reduce(SHMEM_TEAM_WORLD, &everywhere_it_goes, &here_it_goes, 1);
    if (everywhere_it_goes) found = mine;
    else if (mine) tried.push_back(mine);  // kept until there is one, so that the next try is another
  }
  for (char* range : tried) munmap(range, bytes);
  return found;
}

}  // namespace

void Window::open(char* heap, size_t bytes, uint64_t agreement[3], MayWrite may_write) {
  heap_ = heap;
  bytes_ = bytes;
  may_write_ = may_write;
  at_ = reserve_everywhere(bytes, agreement[0], agreement[1], agreement[2]);
  if (!at_) end_job("there is no range of %zu bytes that is free in all processes; make VDC_PAGES smaller", bytes);
  const auto map_again = [&] { return mremap(heap, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at_) != MAP_FAILED; };
  if (!map_again() && !(share(heap, bytes) && map_again())) end_job("the shared pages cannot be mapped a second time: %s", strerror(errno));
  twins_ = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  const size_t pages = bytes / kPage;
  if (twins_ == MAP_FAILED) end_job("no room can be reserved for the twins of %zu pages: %s", pages, strerror(errno));
  states_ = new uint8_t[pages]();
  list_.assign(pages, 0);
  first_open_ = SIZE_MAX, end_open_ = 0;
  protect(0, pages, PROT_READ);

  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
    static char room[64 * 1024];
    stack = {};
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_);
}

void Window::close() {
  sigaction(SIGSEGV, &before_, nullptr);
  munmap(at_, bytes_);
  munmap(twins_, bytes_);
  delete[] states_;
  states_ = nullptr;
  at_ = nullptr;
}

void Window::protect(size_t first, size_t end, int access) {
  if (mprotect(at_ + first * kPage, (end - first) * kPage, access) != 0)
    end_job("pages %zu .. %zu cannot be made %s: %s", first, end - 1,
            access == PROT_NONE     ? "inaccessible"
            : (access & PROT_WRITE) ? "writable"
                                    : "read-only",
            strerror(errno));
}

void Window::note_open(size_t first, size_t end) {
  size_t lowest = first_open_.load(std::memory_order_relaxed), highest = end_open_.load(std::memory_order_relaxed);
  while (first < lowest && !first_open_.compare_exchange_weak(lowest, first, std::memory_order_relaxed)) {
  }
  while (end > highest && !end_open_.compare_exchange_weak(highest, end, std::memory_order_relaxed)) {
  }
}

void Window::open_pages(size_t first, size_t end) {
  note_open(first, end);
  while (first < end) {
    while (first < end && (states_[first] & kOpen)) ++first;
    size_t last = first;
    for (; last < end && !(states_[last] & kOpen); ++last) states_[last] = static_cast<uint8_t>((states_[last] | kOpen) & ~kHidden);
    if (first < last) protect(first, last, PROT_READ | PROT_WRITE);
    first = last;
  }
}

void Window::close_pages(size_t first, size_t end) {
  while (first < end) {
    while (first < end && !(states_[first] & kOpen)) ++first;
    size_t last = first;
    while (last < end && (states_[last] & kOpen)) states_[last++] &= static_cast<uint8_t>(~kOpen);
    if (first < last) protect(first, last, PROT_READ), ++closings_;
    first = last;
  }
}

void Window::close_all() {
  close_pages(first_open_.load(std::memory_order_relaxed), end_open_.load(std::memory_order_relaxed));
  first_open_.store(SIZE_MAX, std::memory_order_relaxed);
  end_open_.store(0, std::memory_order_relaxed);
}

void Window::hide_pages(size_t first, size_t end) {
  if (first >= end) return;
  for (size_t page = first; page < end; ++page) states_[page] = static_cast<uint8_t>((states_[page] | kHidden) & ~kOpen);
  protect(first, end, PROT_NONE);
  ++closings_;
}

void Window::show_pages(size_t first, size_t end) {
  while (first < end) {
    while (first < end && !(states_[first] & kHidden)) ++first;
    size_t last = first;
    while (last < end && (states_[last] & kHidden)) states_[last++] &= static_cast<uint8_t>(~kHidden);
    if (first < last) protect(first, last, PROT_READ);
    first = last;
  }
}

void Window::note_twin(size_t page) {
  states_[page] |= kTwin;
  const size_t at = count_.load(std::memory_order_relaxed);
  list_[at] = static_cast<uint32_t>(page);
  count_.store(at + 1, std::memory_order_release);
}

void Window::make_twin(size_t page) {
  if (states_[page] & kTwin) return;
  memcpy(twins_ + page * kPage, heap_ + page * kPage, kPage);
  note_twin(page);
}

void Window::drop_twins() {
  for (size_t i = 0; i < twin_count(); ++i) states_[list_[i]] &= static_cast<uint8_t>(~kTwin);
  count_.store(0, std::memory_order_release);
}

void Window::patch_twins(size_t offset, size_t bytes) {
  if (twin_count() == 0) return;
  for (size_t at = offset, end = offset + bytes; at < end;) {
    const size_t page = at / kPage, part = std::min(end, (page + 1) * kPage) - at;
    if (states_[page] & kTwin) memcpy(twins_ + at, heap_ + at, part);
    at += part;
  }
}

// Threads of the program may write to the same page at once: the first makes the twin, the others find the page open.
bool Window::handle(const void* address) {
  if (!at_ || !holds(address, 1)) return false;
  const size_t offset = static_cast<size_t>(static_cast<const char*>(address) - at_), page = offset / kPage;
  while (lock_.test_and_set(std::memory_order_acquire)) {
  }
  bool fine = (states_[page] & kOpen) != 0;
  if (!fine && !(states_[page] & kHidden) && may_write_(offset)) {
    ++faults_;
    if (!(states_[page] & kTwin)) {
      memcpy(twins_ + page * kPage, heap_ + page * kPage, kPage);
      note_twin(page);
    }
    size_t first = page, end = page + 1;
    fine = mprotect(at_ + page * kPage, kPage, PROT_READ | PROT_WRITE) == 0;
    if (!fine && errno == ENOMEM) {
      // There are too many mappings: neighbours become one.
      constexpr size_t kTogether = 64;
      first = page / kTogether * kTogether;
      end = std::min(first + kTogether, bytes_ / kPage);
      fine = mprotect(at_ + first * kPage, (end - first) * kPage, PROT_READ | PROT_WRITE) == 0;
      for (size_t other = first; fine && other < end; ++other) {
        if (!(states_[other] & (kTwin | kOpen))) {
          memcpy(twins_ + other * kPage, heap_ + other * kPage, kPage);
          note_twin(other);
        }
        states_[other] |= kOpen;
      }
    }
    if (fine) {
      states_[page] |= kOpen;
      note_open(first, end);
    }
  }
  lock_.clear(std::memory_order_release);
  return fine;
}

void report_stray_access(const void* address, size_t offset);
void report_null(const void* address);

void Window::on_fault(int signal, siginfo_t* info, void* context) {
  if (window.handle(info->si_addr)) return;
  if (window.at_ && window.holds(info->si_addr, 1)) report_stray_access(info->si_addr, window.offset(info->si_addr));
  constexpr uintptr_t kNull = 65536;  // nothing is mapped below
  if (info->si_code > 0 && reinterpret_cast<uintptr_t>(info->si_addr) < kNull) report_null(info->si_addr);
  const struct sigaction& before = window.before_;
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    ::signal(SIGSEGV, SIG_DFL);  // the write is tried again, and ends the process
  }
}

}  // namespace portunus::views
