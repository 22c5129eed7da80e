// eq.cpp: event queues. Results are read where they lie; a caller that has to wait steps the engine meanwhile.
// Source: Portals 4.3, event queues.
#include "portals/arguments.hpp"

using namespace portunus;

namespace {

// Waits until look() says something else than PTL_EQ_EMPTY.
template <class Look>
int wait(Progress& progress, ptl_time_t timeout, Look&& look) {
  const uint64_t aborts = progress.aborts();
  int code = PTL_EQ_EMPTY;
  const auto done = [&]() __attribute__((always_inline)) { return (code = look()) != PTL_EQ_EMPTY; };
  if (progress.wait(done, api::nanoseconds(timeout))) return code;
  return progress.aborts() != aborts ? PTL_ABORTED : PTL_EQ_EMPTY;
}

// take(queue), until that finds something. The queue may be freed while we wait.
template <class Take>
int take_from(const char* function, ptl_handle_eq_t eq_handle, ptl_time_t timeout, Take&& take) {
  Runtime& process = api::runtime();
  const int code = wait(
      process.progress(), timeout, [&]() __attribute__((always_inline)) {
        EventQueue* const queue = process.objects().queues.find(eq_handle);
        return queue ? take(*queue) : static_cast<int>(PTL_ARG_INVALID);
      });
  return code == PTL_ARG_INVALID ? api::refuse(function, api::bad_handle("eq_handle", eq_handle, HandleKind::event_queue)) : code;
}

}  // namespace

extern "C" {

int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t* eq_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!eq_handle) return api::refuse(__func__, {"eq_handle", api::kIsNull});
  constexpr ptl_size_t kMost = ptl_size_t{1} << 32;
  if (count > kMost) return PTL_NO_SPACE;
  if (!api::take(interface->queues, interface->limits.max_eqs)) return PTL_NO_SPACE;
  auto& pool = api::runtime().objects().queues;
  const uint32_t index = pool.claim();
  if (index == kNoIndex || !pool.at(index).open(count)) {
    if (index != kNoIndex) pool.give_back(index);
    interface->queues.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  pool.at(index).ni = interface->index;
  *eq_handle = pool.publish(index);
  return PTL_OK;
}
PTL_BARRIER

// Descriptors and portals may still name the queue: what they report is dropped from now on.
int PtlEQFree(ptl_handle_eq_t eq_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::runtime().objects().queues;
  api::Fault fault;
  const EventQueue* queue = api::object(pool, "eq_handle", eq_handle, fault);
  if (!queue) return api::refuse(__func__, fault);
  const uint32_t ni = queue->ni;
  const int code = api::progress().locked([&](Engine& engine) UNDER_BATON {
    if (!pool.retire(eq_handle)) return static_cast<int>(PTL_ARG_INVALID);
    pool.give_back(handle_index(eq_handle));
    engine.interface(ni).queues.fetch_sub(1, std::memory_order_relaxed);
    engine.posted = true;  // who waits for it finds that it is gone
    return static_cast<int>(PTL_OK);
  });
  return code == PTL_OK ? code : api::refuse(__func__, api::bad_handle("eq_handle", eq_handle, HandleKind::event_queue));
}
PTL_BARRIER

int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t* event) try {
  if (!api::initialized()) return PTL_NO_INIT;
  api::Fault fault;
  EventQueue* queue = api::object(api::runtime().objects().queues, "eq_handle", eq_handle, fault);
  if (!queue) return api::refuse(__func__, fault);
  if (!event) return api::refuse(__func__, {"event", api::kIsNull});
  int code = queue->take(*event);
  // A caller that only ever polls must see progress too, also where no engine thread is awake.
  if (code == PTL_EQ_EMPTY && api::progress().poll() > 0) code = queue->take(*event);
  return code;
}
PTL_BARRIER

int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t* event) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!event) return api::refuse(__func__, {"event", api::kIsNull});
  return take_from(__func__, eq_handle, PTL_TIME_FOREVER, [event](EventQueue& from) { return from.take(*event); });
}
PTL_BARRIER

int PtlEQPoll(const ptl_handle_eq_t* eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t* event, unsigned int* which) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_polled(api::runtime().objects().queues, "eq_handles", eq_handles, size))
    return api::refuse(__func__, fault);
  if (!event || !which) return api::refuse(__func__, {!event ? "event" : "which", api::kIsNull});
  auto& pool = api::runtime().objects().queues;
  const auto look = [&] {
    for (unsigned i = 0; i < size; ++i) {
      EventQueue* const queue = pool.find(eq_handles[i]);
      const int code = queue ? queue->take(*event) : static_cast<int>(PTL_ARG_INVALID);
      if (code == PTL_EQ_EMPTY) continue;
      *which = i;
      return code;
    }
    return static_cast<int>(PTL_EQ_EMPTY);
  };
  const int code = wait(api::progress(), timeout, look);
  return code == PTL_ARG_INVALID ? api::refuse(__func__, {"an event queue", api::kFreedMeanwhile}) : code;
}
PTL_BARRIER

int PtlxEQTake(ptl_handle_eq_t eq_handle, ptl_time_t timeout, ptl_event_t* events, unsigned int most, unsigned int* taken,
               uint64_t* recorded, int (*ended)(void* arg), void* arg) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!events || !taken) return api::refuse(__func__, {!events ? "events" : "taken", api::kIsNull});
  if (most == 0) return api::refuse(__func__, {"most", "is 0: there is nothing to wait for"});
  Runtime& process = api::runtime();
  const auto take = [ =, &process ](EventQueue & from) __attribute__((always_inline)) {
    const int code = from.take(events, most, *taken);
    bool over = false;
    if (recorded != nullptr) {
      const uint64_t now = process.interface(from.ni).recorded.load(std::memory_order_acquire);  // pairs with write_record
      over = now != *recorded;
      *recorded = now;
    }
    if (code != PTL_EQ_EMPTY || !(ended != nullptr ? ended(arg) != 0 : over)) return code;
    *taken = 0;
    return static_cast<int>(PTL_OK);
  };
  return take_from(__func__, eq_handle, timeout, take);
}
PTL_BARRIER

int PtlxEQHolds(ptl_handle_eq_t eq_handle, int* holds) try {
  if (!api::initialized()) return PTL_NO_INIT;
  api::Fault fault;
  const EventQueue* const queue = api::object(api::runtime().objects().queues, "eq_handle", eq_handle, fault);
  if (!queue) return api::refuse(__func__, fault);
  if (!holds) return api::refuse(__func__, {"holds", api::kIsNull});
  *holds = !queue->empty();
  return PTL_OK;
}
PTL_BARRIER

}  // extern "C"
