// ct.cpp: counting events. Source: Portals 4.3, counting events; a wait ends on success >= test or any failure.
#include "portals/arguments.hpp"

using namespace portunus;

namespace {

int64_t nanoseconds(ptl_time_t timeout_ms) { return timeout_ms == PTL_TIME_FOREVER ? -1 : int64_t{timeout_ms} * 1'000'000; }

int change(Verb verb, ptl_handle_ct_t handle, ptl_ct_event_t value) {
  Counter* counter = api::client().objects().counters.find(handle);
  if (!counter) return PTL_ARG_INVALID;
  Command command;
  command.verb = verb;
  command.ni = counter->ni;
  command.handle = handle;
  command.extra.count = value;
  api::client().submit_and_wait(command);  // the caller's next PtlCTGet sees it
  return PTL_OK;
}

}  // namespace

extern "C" {

int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t* ct_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !ct_handle) return PTL_ARG_INVALID;
  if (!api::take(interface->counters, interface->limits.max_cts)) return PTL_NO_SPACE;
  auto& pool = api::client().objects().counters;
  const uint32_t index = pool.claim();
  if (index == kNoIndex) {
    interface->counters.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  Counter& counter = pool.at(index);
  counter.set({0, 0});
  counter.parked = counter.parked_tail = nullptr;
  counter.parked_count = 0;
  counter.ni = static_cast<uint8_t>(interface->index);
  *ct_handle = pool.publish(index);
  return PTL_OK;
}

int PtlCTFree(ptl_handle_ct_t ct_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::client().objects().counters;
  if (!pool.find(ct_handle)) return PTL_ARG_INVALID;
  return api::client().locked([&](Engine& engine) {
    Counter* counter = pool.find(ct_handle);
    if (!counter || !pool.retire(ct_handle)) return static_cast<int>(PTL_ARG_INVALID);
    engine.drop_triggers(*counter);
    engine.interface(counter->ni).counters.fetch_sub(1, std::memory_order_relaxed);
    pool.give_back(handle_index(ct_handle));
    return static_cast<int>(PTL_OK);
  });
}

int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::client().objects().counters;
  if (!pool.find(ct_handle)) return PTL_ARG_INVALID;
  return api::client().locked([&](Engine& engine) {
    Counter* counter = pool.find(ct_handle);
    if (!counter) return static_cast<int>(PTL_ARG_INVALID);
    engine.drop_triggers(*counter);
    return static_cast<int>(PTL_OK);
  });
}

int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t* event) {
  if (!api::initialized()) return PTL_NO_INIT;
  Counter* counter = api::client().objects().counters.find(ct_handle);
  if (!counter || !event) return PTL_ARG_INVALID;
  // A caller that only ever reads must see progress too; an engine thread that is awake makes this one load.
  api::client().progress();
  *event = counter->read();
  return PTL_OK;
}

int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t* event) {
  unsigned int which;
  const int code = PtlCTPoll(&ct_handle, &test, 1, PTL_TIME_FOREVER, event, &which);
  return code == PTL_CT_NONE_REACHED ? static_cast<int>(PTL_ABORTED) : code;
}

int PtlCTPoll(const ptl_handle_ct_t* ct_handles, const ptl_size_t* tests, unsigned int size, ptl_time_t timeout, ptl_ct_event_t* event,
              unsigned int* which) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!ct_handles || !tests || size == 0 || !event || !which) return PTL_ARG_INVALID;
  auto& pool = api::client().objects().counters;
  uint8_t ni = 0;
  for (unsigned i = 0; i < size; ++i) {
    Counter* counter = pool.find(ct_handles[i]);
    if (!counter || (i > 0 && counter->ni != ni)) return PTL_ARG_INVALID;
    ni = counter->ni;
  }
  int code = PTL_CT_NONE_REACHED;
  auto reached = [&] {
    for (unsigned i = 0; i < size; ++i) {
      Counter* counter = pool.find(ct_handles[i]);  // it may be freed while we wait
      if (!counter) {
        code = PTL_ARG_INVALID;
        return true;
      }
      const ptl_ct_event_t value = counter->read();
      if (value.success < tests[i] && value.failure == 0) continue;
      *event = value;
      *which = i;
      code = PTL_OK;
      return true;
    }
    return false;
  };
  if (api::client().wait(reached, nanoseconds(timeout))) return code;
  return timeout == PTL_TIME_FOREVER ? static_cast<int>(PTL_ABORTED) : static_cast<int>(PTL_CT_NONE_REACHED);
}

int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct) {
  if (!api::initialized()) return PTL_NO_INIT;
  return change(Verb::counter_set, ct_handle, new_ct);
}

int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (increment.success != 0 && increment.failure != 0) return PTL_ARG_INVALID;
  return change(Verb::counter_add, ct_handle, increment);
}

}  // extern "C"
