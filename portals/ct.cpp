// ct.cpp: counting events. Source: Portals 4.3, counting events; a wait ends on success >= test or any failure.
#include "portals/arguments.hpp"

#include <cassert>

using namespace portunus;

namespace {

int change(const char* function, Verb verb, ptl_handle_ct_t handle, ptl_ct_event_t value, bool at_once = true) {
  api::Fault fault;
  const Counter* counter = api::object(api::runtime().objects().counters, "ct_handle", handle, fault);
  if (!counter) return api::refuse(function, fault);
  Command command;
  command.verb = verb;
  command.ni = counter->ni;
  command.handle = handle;
  command.extra.count = value;
  if (at_once) api::progress().submit_and_wait(command);  // the caller's next PtlCTGet sees it
  else api::progress().leave_to_engine(command);
  return PTL_OK;
}

// PtlCTWait and PtlCTPoll, their arguments checked.
int wait(const char* function, const ptl_handle_ct_t* ct_handles, const ptl_size_t* tests, unsigned size, ptl_time_t timeout,
         ptl_ct_event_t& event, unsigned& which) {
  auto& pool = api::runtime().objects().counters;
  const uint64_t aborts = api::progress().aborts();
  int code = PTL_CT_NONE_REACHED;
  auto reached = [&] {
    for (unsigned i = 0; i < size; ++i) {
      const Counter* counter = pool.find(ct_handles[i]);  // it may be freed while we wait
      if (!counter) {
        code = PTL_ARG_INVALID;
        return true;
      }
      const ptl_ct_event_t value = counter->read();
      if (value.success < tests[i] && value.failure == 0) continue;
      event = value;
      which = i;
      code = PTL_OK;
      return true;
    }
    return false;
  };
  if (api::progress().wait(reached, api::nanoseconds(timeout)))
    return code == PTL_ARG_INVALID ? api::refuse(function, {"a counting event", api::kFreedMeanwhile}) : code;
  return api::progress().aborts() != aborts ? PTL_ABORTED : PTL_CT_NONE_REACHED;
}

// Calls action(engine, counter) under the baton, which returns a code; a handle that is of no counter any more is refused.
template <class Action>
int change(const char* function, ptl_handle_ct_t handle, Action&& action) {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::runtime().objects().counters;
  api::Fault fault;
  if (!api::object(pool, "ct_handle", handle, fault)) return api::refuse(function, fault);
  const int code = api::progress().locked([&](Engine& engine) UNDER_BATON {
    Counter* counter = pool.find(handle);
    return counter ? action(engine, *counter) : static_cast<int>(PTL_ARG_INVALID);
  });
  return code == PTL_OK ? code : api::refuse(function, api::bad_handle("ct_handle", handle, HandleKind::counter));
}

}  // namespace

extern "C" {

int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t* ct_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!ct_handle) return api::refuse(__func__, {"ct_handle", api::kIsNull});
  if (!api::take(interface->counters, interface->limits.max_cts)) return PTL_NO_SPACE;
  auto& pool = api::runtime().objects().counters;
  const uint32_t index = pool.claim();
  if (index == kNoIndex) {
    interface->counters.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  Counter& counter = pool.at(index);
  counter.reset();
  counter.ni = interface->index;
  *ct_handle = pool.publish(index);
  return PTL_OK;
}
PTL_BARRIER

int PtlCTFree(ptl_handle_ct_t ct_handle) try {
  return change(__func__, ct_handle, [&](Engine& engine, Counter& counter) UNDER_BATON {
    auto& pool = api::runtime().objects().counters;
    engine.cancel_triggers(counter, ct_handle);
    assert(counter.parked == nullptr && counter.parked_count == 0);
    if (!pool.retire(ct_handle)) return static_cast<int>(PTL_ARG_INVALID);
    engine.peers().unwatch(ct_handle);
    engine.interface(counter.ni).counters.fetch_sub(1, std::memory_order_relaxed);
    pool.give_back(handle_index(ct_handle));
    engine.posted = true;  // who waits for it finds that it is gone
    return static_cast<int>(PTL_OK);
  });
}
PTL_BARRIER

int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle) try {
  return change(__func__, ct_handle, [&](Engine& engine, Counter& counter) UNDER_BATON {
    engine.cancel_triggers(counter, ct_handle);
    return static_cast<int>(PTL_OK);
  });
}
PTL_BARRIER

int PtlxCTPeek(ptl_handle_ct_t ct, ptl_ct_event_t* event) try {
  if (!api::initialized()) return PTL_NO_INIT;
  api::Fault fault;
  const Counter* counter = api::object(api::runtime().objects().counters, "ct_handle", ct, fault);
  if (!counter) return api::refuse(__func__, fault);
  if (!event) return api::refuse(__func__, {"event", api::kIsNull});
  *event = counter->read();
  return PTL_OK;
}
PTL_BARRIER

int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t* event) try {
  if (!api::initialized()) return PTL_NO_INIT;
  api::Fault fault;
  const Counter* counter = api::object(api::runtime().objects().counters, "ct_handle", ct_handle, fault);
  if (!counter) return api::refuse(__func__, fault);
  if (!event) return api::refuse(__func__, {"event", api::kIsNull});
  // A caller that only ever reads must see progress too; an engine thread that is awake makes this one load.
  api::progress().poll();
  *event = counter->read();
  return PTL_OK;
}
PTL_BARRIER

int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t* event) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_polled(api::runtime().objects().counters, "ct_handle", &ct_handle, 1))
    return api::refuse(__func__, fault);
  if (!event) return api::refuse(__func__, {"event", api::kIsNull});
  unsigned which;
  return wait(__func__, &ct_handle, &test, 1, PTL_TIME_FOREVER, *event, which);
}
PTL_BARRIER

int PtlCTPoll(const ptl_handle_ct_t* ct_handles, const ptl_size_t* tests, unsigned int size, ptl_time_t timeout, ptl_ct_event_t* event,
              unsigned int* which) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_polled(api::runtime().objects().counters, "ct_handles", ct_handles, size))
    return api::refuse(__func__, fault);
  if (!tests || !event || !which) return api::refuse(__func__, {!tests ? "tests" : !event ? "event" : "which", api::kIsNull});
  return wait(__func__, ct_handles, tests, size, timeout, *event, *which);
}
PTL_BARRIER

int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return change(__func__, Verb::counter_set, ct_handle, new_ct);
}
PTL_BARRIER

int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (increment.success != 0 && increment.failure != 0) return api::refuse(__func__, {"increment", api::kBothNonZero});
  return change(__func__, Verb::counter_add, ct_handle, increment);
}
PTL_BARRIER

int PtlxCTIncSoon(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (increment.success != 0 && increment.failure != 0) return api::refuse(__func__, {"increment", api::kBothNonZero});
  return change(__func__, Verb::counter_add, ct_handle, increment, false);
}
PTL_BARRIER

}  // extern "C"
