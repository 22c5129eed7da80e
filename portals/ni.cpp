// ni.cpp: network interfaces, limits, identity and maps. Source: Portals 4.3, network interfaces.
#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <exception>
#include <system_error>
#include <thread>

#include "engine/host/launchers.hpp"
#include "portals/arguments.hpp"
#include "portals/lifetime.hpp"

using namespace portunus;

namespace portunus::api {

JobPlace& job_place() {
  static JobPlace place;
  return place;
}

namespace {

// A program that finds its peers by itself is still told by its launcher, if it has one, who shares the node with it.
JobPlace known_place() {
  if (job_place().known) return job_place();
  const auto exported = exported_place();
  return exported ? JobPlace{exported->local_rank, exported->local_size, true, false} : JobPlace{};
}

std::array<int, kInterfaces> open_count{};  // under `lifetime`

constexpr const char* kPhysical = "is a physical interface, and those have no map";

constexpr ptl_size_t kMaxMessage = PTL_SIZE_MAX / 2 + 1;
constexpr ptl_size_t kMaxAtomic = 1 << 20;    // applied in one step: about a millisecond
constexpr ptl_size_t kMaxOrdered = 1 << 20;   // for who asks: what comes behind such a write waits for it
constexpr ptl_size_t kVolatile = 8192;        // at most every transport's eager limit: what is copied anyway
constexpr ptl_size_t kMaxVolatile = 1 << 20;  // for who asks: copied by the call where it cannot leave at once

// The value asked for, exactly, if it lies within what is possible; 0 (and less) asks for nothing in particular.
template <class T>
T within(T desired, T least, T most, T otherwise) {
  return desired <= 0 ? otherwise : std::clamp(desired, least, most);
}

// The same of what costs time beyond `free`: who asks for more than is possible asks for no number, and gets what is free.
ptl_size_t as_asked(ptl_size_t desired, ptl_size_t least, ptl_size_t free, ptl_size_t most) {
  return desired == 0 || desired > most ? free : std::max(desired, least);
}

// Nothing is sized by these numbers: they may be huge, and garbage in `desired` does no harm.
ptl_ni_limits_t grant(const ptl_ni_limits_t* desired) {
  const ptl_ni_limits_t wish = desired ? *desired : ptl_ni_limits_t{};
  ptl_ni_limits_t limits{};
  const int objects = runtime().objects().most(), usual = std::min(objects, 1'000'000), queues = runtime().objects().most_queues();
  limits.max_entries = within(wish.max_entries, 1, objects, usual);
  limits.max_unexpected_headers = within(wish.max_unexpected_headers, 1, INT_MAX, usual);
  limits.max_mds = within(wish.max_mds, 1, objects, usual);
  limits.max_cts = within(wish.max_cts, 1, objects, usual);
  limits.max_eqs = within(wish.max_eqs, 1, queues, queues);
  limits.max_pt_index = within(wish.max_pt_index, 63, static_cast<int>(kMaxPortals) - 1, 255);
  limits.max_iovecs = within(wish.max_iovecs, 1, INT_MAX, INT_MAX);
  limits.max_list_size = within(wish.max_list_size, 1, objects, usual);
  limits.max_triggered_ops = within(wish.max_triggered_ops, 1, objects, usual);
  limits.max_msg_size = within<ptl_size_t>(wish.max_msg_size, 1, kMaxMessage, kMaxMessage);
  limits.max_atomic_size = within<ptl_size_t>(wish.max_atomic_size, 64, kMaxAtomic, kMaxAtomic);
  limits.max_fetch_atomic_size = within<ptl_size_t>(wish.max_fetch_atomic_size, 64, kMaxAtomic, kMaxAtomic);
  limits.max_waw_ordered_size = as_asked(wish.max_waw_ordered_size, 64, kOrderedAnyway, kMaxOrdered);
  limits.max_war_ordered_size = within<ptl_size_t>(wish.max_war_ordered_size, 8, kOrderedAnyway, kOrderedAnyway);
  limits.max_volatile_size = as_asked(wish.max_volatile_size, 8, kVolatile, kMaxVolatile);
  limits.features = PTL_COHERENT_ATOMICS | (wish.features & PTL_TARGET_BIND_INACCESSIBLE);  // which costs time: only who asks pays
  return limits;
}

Fault check_options(ptl_interface_t iface, unsigned options) {
  const bool matching = options & PTL_NI_MATCHING, plain = options & PTL_NI_NO_MATCHING;
  const bool logical = options & PTL_NI_LOGICAL, physical = options & PTL_NI_PHYSICAL;
  if (iface != PTL_IFACE_DEFAULT && iface != 0) return {"iface", "is neither PTL_IFACE_DEFAULT nor 0: there is only one"};
  if (options & ~static_cast<unsigned>(PTL_NI_INIT_OPTIONS_MASK)) return {"options", "has bits that are no PTL_NI_ option"};
  if (matching == plain) return {"options", "must have exactly one of PTL_NI_MATCHING and PTL_NI_NO_MATCHING"};
  if (logical == physical) return {"options", "must have exactly one of PTL_NI_LOGICAL and PTL_NI_PHYSICAL"};
  return {};
}

void close_interface(uint32_t ni) {
  // Messages that were issued leave first: a peer may depend on our last put. A peer that is gone fails its messages.
  constexpr uint64_t kFlushNs = 10'000'000'000;
  const uint64_t deadline = now_ns() + kFlushNs;
  constexpr int kYields = 400;
  int idle = 0;
  while (!progress().locked([](Engine& engine) UNDER_BATON { return engine.flushed(); }) && now_ns() < deadline) {
    if (progress().poll() != 0) idle = 0;
    else if (++idle < kYields) sched_yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(100));  // for somebody who may be dead
  }
  progress().locked([ni](Engine& engine) UNDER_BATON {
    engine.close_interface(ni);
    return 0;
  });
}

}  // namespace

void close_all_interfaces() {
  if (!runtime().running()) return;
  for (uint32_t ni = 0; ni < kInterfaces; ++ni) {
    if (open_count[ni] > 0) close_interface(ni);
    open_count[ni] = 0;
  }
  runtime().stop();
}

}  // namespace portunus::api

extern "C" {

int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t* desired, ptl_ni_limits_t* actual,
              ptl_handle_ni_t* ni_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (api::Fault fault = api::check_options(iface, options)) return api::refuse(__func__, fault);
  if (!ni_handle) return api::refuse(__func__, {"ni_handle", api::kIsNull});
  std::lock_guard guard(api::lifetime());
  const uint32_t index = api::interface_index(options);
  if (api::open_count[index] == 0) {
    if (pid != PTL_PID_ANY && (pid == 0 || pid > 0xffff))
      return api::refuse(__func__, {"pid", "is neither PTL_PID_ANY nor from 1 to 65534"});
    // All interfaces share one pid, so a second one cannot have another.
    if (api::runtime().running() && pid != PTL_PID_ANY && pid != api::runtime().self().pid) return PTL_PID_IN_USE;
  }
  try {
    if (!api::runtime().running()) api::runtime().start(api::known_place(), pid == PTL_PID_ANY ? 0 : pid);
  } catch (const std::system_error& error) {
    if (error.code().value() == EADDRINUSE) return PTL_PID_IN_USE;
    std::fprintf(stderr, "portals: %s\n", error.what());
    return error.code().value() == ENOSPC ? PTL_NO_SPACE : PTL_FAIL;
  } catch (const std::bad_alloc&) {
    return api::no_memory(__func__);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "portals: %s\n", error.what());
    return PTL_FAIL;
  }
  Interface& interface = api::runtime().interface(index);
  if (api::open_count[index]++ == 0) {
    api::progress().locked([&](Engine&) UNDER_BATON {
      interface.options = options;
      interface.limits = api::grant(desired);
      interface.open.store(true, std::memory_order_release);
      return 0;
    });
  }
  if (actual) *actual = interface.limits;
  *ni_handle = api::interface_handle(index);
  return PTL_OK;
}
PTL_BARRIER

int PtlNIFini(ptl_handle_ni_t ni_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  std::lock_guard guard(api::lifetime());
  if (!api::find_interface(ni_handle)) return api::refuse(__func__, api::bad_interface(ni_handle));
  const uint32_t index = handle_index(ni_handle);
  if (--api::open_count[index] == 0) api::close_interface(index);
  return PTL_OK;
}
PTL_BARRIER

int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t* status) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (static_cast<unsigned>(status_register) >= PTL_SR_LAST) return api::refuse(__func__, {"status_register", "is not below PTL_SR_LAST"});
  if (!status) return api::refuse(__func__, {"status", api::kIsNull});
  *status = interface->status[status_register].load(std::memory_order_relaxed);
  return PTL_OK;
}
PTL_BARRIER

int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t* mapping) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!interface->logical()) return api::refuse(__func__, {"ni_handle", api::kPhysical});
  if (!mapping) return api::refuse(__func__, {"mapping", api::kIsNull});
  if (map_size == 0 || map_size >= kRankUnknown) return api::refuse(__func__, {"map_size", "is 0, or more than there are ranks"});
  const int code = api::progress().locked([&](Engine& engine) UNDER_BATON { return engine.set_map(interface->index, mapping, map_size); });
  return code == PTL_ARG_INVALID ? api::refuse(__func__, {"mapping", "does not contain this process: see PtlGetPhysId"}) : code;
}
PTL_BARRIER

int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t* mapping, ptl_size_t* actual_map_size) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!interface->logical()) return api::refuse(__func__, {"ni_handle", api::kPhysical});
  if (map_size && !mapping) return api::refuse(__func__, {"mapping", api::kIsNull});
  const uint32_t size = interface->map_size.load(std::memory_order_acquire);  // pairs with set_map
  if (size == 0) return PTL_NO_SPACE;
  if (map_size)
    api::progress().locked([&](Engine&) UNDER_BATON {
      for (uint32_t i = 0; i < std::min<ptl_size_t>(size, map_size); ++i) mapping[i].phys = {interface->map[i].nid, interface->map[i].pid};
      return 0;
    });
  if (actual_map_size) *actual_map_size = size;
  return PTL_OK;
}
PTL_BARRIER

int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t* uid) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle)) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!uid) return api::refuse(__func__, {"uid", api::kIsNull});
  *uid = api::runtime().uid();
  return PTL_OK;
}
PTL_BARRIER

int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t* id) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle)) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!id) return api::refuse(__func__, {"id", api::kIsNull});
  id->phys = {api::runtime().self().nid, api::runtime().self().pid};
  return PTL_OK;
}
PTL_BARRIER

int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t* id) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!id) return api::refuse(__func__, {"id", api::kIsNull});
  if (!interface->logical()) return PtlGetPhysId(ni_handle, id);
  id->phys = {0, 0};
  id->rank = PTL_RANK_ANY;
  if (interface->map_size.load(std::memory_order_acquire) != 0)
    api::progress().locked([&](Engine&) UNDER_BATON {
      auto found = interface->rank_of.find(packed(api::runtime().self()));
      if (found != interface->rank_of.end()) id->rank = found->second;
      return 0;
    });
  return PTL_OK;
}
PTL_BARRIER

}  // extern "C"
