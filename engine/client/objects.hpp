// objects.hpp: objects of Portals that free themselves, for the libraries above it.
//
// Each holds one handle, or none. open() and its like return PTL_* codes, and leave it empty if they fail. Freeing waits until nothing uses
// the object: it steps the engine meanwhile. Of an interface that is closed nothing is left to free.
//
// Thread: of one object one at a time. Cost: nothing beyond the calls of Portals. Source: Portals 4.3, 3.10 to 3.14.
#pragma once

#include <sched.h>

#include <concepts>
#include <utility>

#include "portals/portals4_ext.h"

namespace portunus::client {

// A process by its rank, which other libraries give as an int.
template <std::integral Rank>
ptl_process_t process(Rank rank) {
  ptl_process_t id{};
  id.rank = static_cast<ptl_rank_t>(rank);
  return id;
}
inline ptl_size_t address(const void* p) { return reinterpret_cast<ptl_size_t>(p); }

// For loops that wait until the engine lets something go.
inline void step() {
  if (PtlxProgress() == 0) sched_yield();
}
inline void take_out(ptl_handle_me_t entry) {
  while (PtlMEUnlink(entry) == PTL_IN_USE) step();
}
inline void release(ptl_handle_md_t descriptor) {
  while (PtlMDRelease(descriptor) == PTL_IN_USE) step();
}

inline void take_off(ptl_handle_le_t entry) {
  while (PtlLEUnlink(entry) == PTL_IN_USE) step();
}
inline void free_counter(ptl_handle_ct_t counter) { PtlCTFree(counter); }
inline void free_queue(ptl_handle_eq_t queue) { PtlEQFree(queue); }

// `Free` is called with the handle that is held, if one is.
template <class Handle, Handle kNone, auto Free>
class Object {
 public:
  Object() = default;
  Object(Object&& other) noexcept : handle_(std::exchange(other.handle_, kNone)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Object() { close(); }

  operator Handle() const { return handle_; }
  [[nodiscard]] bool is_open() const { return handle_ != kNone; }
  void close() {
    if (is_open()) Free(std::exchange(handle_, kNone));
  }
  // The handle is the caller's from now on.
  Handle let_go() { return std::exchange(handle_, kNone); }

 protected:
  // `make` writes the handle and returns a PTL_* code.
  template <class Make>
  int open_by(Make&& make) {
    close();
    const int code = make(&handle_);
    if (code != PTL_OK) handle_ = kNone;
    return code;
  }

 private:
  Handle handle_ = kNone;
};

// A counting event.
class Counter : public Object<ptl_handle_ct_t, PTL_CT_NONE, free_counter> {
 public:
  int open(ptl_handle_ni_t ni) {
    return open_by([&](ptl_handle_ct_t* handle) { return PtlCTAlloc(ni, handle); });
  }
  // Reads the count without a step of the engine. One failure stands for a counter that cannot be read.
  [[nodiscard]] ptl_ct_event_t peek() const {
    ptl_ct_event_t count{};
    return PtlxCTPeek(*this, &count) == PTL_OK ? count : ptl_ct_event_t{0, 1};
  }
  // Returns when nothing that is under way will count here.
  void await_idle() const {
    for (int busy = 1; PtlxCTBusy(*this, &busy) == PTL_OK && busy != 0;) step();
  }
};

// A memory descriptor of all memory of the process, so that an offset is an address.
inline int bind_all(ptl_handle_ni_t ni, unsigned options, ptl_handle_ct_t counter, ptl_handle_eq_t events, ptl_handle_md_t& descriptor) {
  const ptl_md_t all{nullptr, PTL_SIZE_MAX, options, events, counter};
  return PtlMDBind(ni, &all, &descriptor);
}

class Descriptor : public Object<ptl_handle_md_t, PTL_INVALID_HANDLE, release> {
 public:
  int bind(ptl_handle_ni_t ni, const ptl_md_t& memory) {
    return open_by([&](ptl_handle_md_t* handle) { return PtlMDBind(ni, &memory, handle); });
  }
  int bind_all(ptl_handle_ni_t ni, unsigned options, ptl_handle_ct_t counter = PTL_CT_NONE, ptl_handle_eq_t events = PTL_EQ_NONE) {
    return open_by([&](ptl_handle_md_t* handle) { return client::bind_all(ni, options, counter, events, *handle); });
  }
};

// A match list entry that is linked until it is freed.
class MatchEntry : public Object<ptl_handle_me_t, PTL_INVALID_HANDLE, take_out> {
 public:
  int append(ptl_handle_ni_t ni, ptl_pt_index_t index, const ptl_me_t& entry, ptl_list_t list = PTL_PRIORITY_LIST, void* user = nullptr) {
    return open_by([&](ptl_handle_me_t* handle) { return PtlMEAppend(ni, index, &entry, list, user, handle); });
  }
};

// An entry on a portal index of a non-matching interface, linked until it is freed.
class ListEntry : public Object<ptl_handle_le_t, PTL_INVALID_HANDLE, take_off> {
 public:
  int append(ptl_handle_ni_t ni, ptl_pt_index_t index, const ptl_me_t& entry) {
    const ptl_le_t list_entry{entry.start, entry.length, entry.ct_handle, entry.uid, entry.options};
    return open_by([&](ptl_handle_le_t* handle) { return PtlLEAppend(ni, index, &list_entry, PTL_PRIORITY_LIST, nullptr, handle); });
  }
};

// An event queue.
class Queue : public Object<ptl_handle_eq_t, PTL_EQ_NONE, free_queue> {
 public:
  int open(ptl_handle_ni_t ni, ptl_size_t events) {
    return open_by([&](ptl_handle_eq_t* handle) { return PtlEQAlloc(ni, events, handle); });
  }
};

// While one lives, what this thread issues may be kept back, to travel together, until somebody waits.
class Bundle {
 public:
  explicit Bundle(ptl_handle_ni_t ni) : ni_(ni) { PtlStartBundle(ni_); }
  ~Bundle() { PtlEndBundle(ni_); }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

 private:
  ptl_handle_ni_t ni_;
};

// Options of entries that have no events.
inline constexpr unsigned kQuiet = PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;

// An entry for `bytes` at `start` from any rank; the rest is for the caller to change.
inline ptl_me_t entry_of(void* start, size_t bytes, unsigned options, ptl_match_bits_t bits, ptl_handle_ct_t counter = PTL_CT_NONE) {
  ptl_me_t entry{};
  entry.start = start;
  entry.length = bytes;
  entry.ct_handle = counter;
  entry.uid = PTL_UID_ANY;
  entry.options = options;
  entry.match_id.rank = PTL_RANK_ANY;
  entry.match_bits = bits;
  return entry;
}
// One that takes whatever comes.
inline ptl_me_t entry_for_all(unsigned options, ptl_handle_ct_t counter = PTL_CT_NONE) {
  ptl_me_t entry = entry_of(nullptr, 0, options, 0, counter);
  entry.ignore_bits = ~ptl_match_bits_t{0};
  return entry;
}

}  // namespace portunus::client
