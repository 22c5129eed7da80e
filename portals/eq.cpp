// eq.cpp: event queues. Results are read where they lie; a caller that has to wait steps the engine meanwhile.
// Source: Portals 4.3, event queues.
#include "portals/arguments.hpp"

using namespace portunus;

namespace {

// Waits until take(queue) finds something in one of the queues, which is `which` then. The arguments are checked.
template <class Take>
int wait(const char* function, const ptl_handle_eq_t* eq_handles, unsigned size, ptl_time_t timeout, unsigned& which, Take&& take_from) {
  auto& pool = api::runtime().objects().queues;
  const uint64_t aborts = api::progress().aborts();
  int code = PTL_EQ_EMPTY;
  auto take = [&] {
    for (unsigned i = 0; i < size; ++i) {
      EventQueue* queue = pool.find(eq_handles[i]);  // it may be freed while we wait
      code = queue ? take_from(*queue) : static_cast<int>(PTL_ARG_INVALID);
      if (code != PTL_EQ_EMPTY) {
        which = i;
        return true;
      }
    }
    return false;
  };
  if (api::progress().wait(take, api::nanoseconds(timeout)))
    return code == PTL_ARG_INVALID ? api::refuse(function, {"an event queue", api::kFreedMeanwhile}) : code;
  return api::progress().aborts() != aborts ? PTL_ABORTED : PTL_EQ_EMPTY;
}

}  // namespace

extern "C" {

int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t* eq_handle) {
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

// Descriptors and portals may still name the queue: what they report is dropped from now on.
int PtlEQFree(ptl_handle_eq_t eq_handle) {
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
    return static_cast<int>(PTL_OK);
  });
  return code == PTL_OK ? code : api::refuse(__func__, api::bad_handle("eq_handle", eq_handle, HandleKind::event_queue));
}

int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t* event) {
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

int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t* event) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_polled(api::runtime().objects().queues, "eq_handle", &eq_handle, 1))
    return api::refuse(__func__, fault);
  if (!event) return api::refuse(__func__, {"event", api::kIsNull});
  unsigned which;
  return wait(__func__, &eq_handle, 1, PTL_TIME_FOREVER, which, [event](EventQueue& queue) { return queue.take(*event); });
}

int PtlEQPoll(const ptl_handle_eq_t* eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t* event, unsigned int* which) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_polled(api::runtime().objects().queues, "eq_handles", eq_handles, size))
    return api::refuse(__func__, fault);
  if (!event || !which) return api::refuse(__func__, {!event ? "event" : "which", api::kIsNull});
  return wait(__func__, eq_handles, size, timeout, *which, [event](EventQueue& queue) { return queue.take(*event); });
}

int PtlxEQTake(ptl_handle_eq_t eq_handle, ptl_time_t timeout, ptl_event_t* events, unsigned int most, unsigned int* taken,
               uint64_t* recorded) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_polled(api::runtime().objects().queues, "eq_handle", &eq_handle, 1))
    return api::refuse(__func__, fault);
  if (!events || !taken) return api::refuse(__func__, {!events ? "events" : "taken", api::kIsNull});
  if (most == 0) return api::refuse(__func__, {"most", "is 0: there is nothing to wait for"});
  unsigned which;
  return wait(__func__, &eq_handle, 1, timeout, which, [=](EventQueue& queue) {
    const int code = queue.take(events, most, *taken);
    if (recorded == nullptr) return code;
    const uint64_t now = api::runtime().interface(queue.ni).recorded.load(std::memory_order_acquire);  // pairs with write_record
    if (now == *recorded) return code;
    *recorded = now;
    if (code != PTL_EQ_EMPTY) return code;
    *taken = 0;
    return static_cast<int>(PTL_OK);
  });
}

}  // extern "C"
