// eq.cpp: event queues. Results are read where they lie; a caller that has to wait steps the engine meanwhile.
// Source: Portals 4.3, event queues.
#include "portals/arguments.hpp"

using namespace portunus;

namespace {

int64_t nanoseconds(ptl_time_t timeout_ms) { return timeout_ms == PTL_TIME_FOREVER ? -1 : int64_t{timeout_ms} * 1'000'000; }

}  // namespace

extern "C" {

int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t* eq_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !eq_handle || count > (ptl_size_t{1} << 32)) return PTL_ARG_INVALID;
  if (!api::take(interface->queues, interface->limits.max_eqs)) return PTL_NO_SPACE;
  auto& pool = api::client().objects().queues;
  const uint32_t index = pool.claim();
  if (index == kNoIndex || !pool.at(index).open(count)) {
    if (index != kNoIndex) pool.give_back(index);
    interface->queues.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  pool.at(index).ni = static_cast<uint8_t>(interface->index);
  *eq_handle = pool.publish(index);
  return PTL_OK;
}

// Descriptors and portals may still name the queue: what they report is dropped from now on.
int PtlEQFree(ptl_handle_eq_t eq_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::client().objects().queues;
  EventQueue* queue = pool.find(eq_handle);
  if (!queue) return PTL_ARG_INVALID;
  const uint32_t ni = queue->ni;
  return api::client().locked([&](Engine& engine) {
    if (!pool.retire(eq_handle)) return static_cast<int>(PTL_ARG_INVALID);
    pool.give_back(handle_index(eq_handle));
    engine.interface(ni).queues.fetch_sub(1, std::memory_order_relaxed);
    return static_cast<int>(PTL_OK);
  });
}

int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t* event) {
  if (!api::initialized()) return PTL_NO_INIT;
  EventQueue* queue = api::client().objects().queues.find(eq_handle);
  if (!queue || !event) return PTL_ARG_INVALID;
  int code = queue->take(*event);
  // A caller that only ever polls must see progress too, also where no engine thread is awake.
  if (code == PTL_EQ_EMPTY && api::client().progress() > 0) code = queue->take(*event);
  return code;
}

int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t* event) {
  unsigned int which;
  const int code = PtlEQPoll(&eq_handle, 1, PTL_TIME_FOREVER, event, &which);
  return code == PTL_EQ_EMPTY ? static_cast<int>(PTL_ABORTED) : code;
}

int PtlEQPoll(const ptl_handle_eq_t* eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t* event, unsigned int* which) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!eq_handles || size == 0 || !event || !which) return PTL_ARG_INVALID;
  auto& pool = api::client().objects().queues;
  uint8_t ni = 0;
  for (unsigned i = 0; i < size; ++i) {
    EventQueue* queue = pool.find(eq_handles[i]);
    if (!queue || (i > 0 && queue->ni != ni)) return PTL_ARG_INVALID;
    ni = queue->ni;
  }
  int code = PTL_EQ_EMPTY;
  auto take = [&] {
    for (unsigned i = 0; i < size; ++i) {
      EventQueue* queue = pool.find(eq_handles[i]);  // it may be freed while we wait
      code = queue ? queue->take(*event) : static_cast<int>(PTL_ARG_INVALID);
      if (code != PTL_EQ_EMPTY) {
        *which = i;
        return true;
      }
    }
    return false;
  };
  if (api::client().wait(take, nanoseconds(timeout))) return code;
  return timeout == PTL_TIME_FOREVER ? static_cast<int>(PTL_ABORTED) : static_cast<int>(PTL_EQ_EMPTY);
}

}  // extern "C"
