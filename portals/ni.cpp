// ni.cpp: network interfaces, limits, identity and maps. Source: Portals 4.3, network interfaces.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <exception>
#include <system_error>

#include "portals/arguments.hpp"
#include "portals/lifetime.hpp"

using namespace portunus;

namespace portunus::api {

JobPlace& job_place() {
  static JobPlace place;
  return place;
}

namespace {

std::array<int, kInterfaces> open_count{};  // under `lifetime`

constexpr int kObjects = Objects::kCapacity - 1;
constexpr ptl_size_t kMaxAtomic = 8128;    // fetch and swap travel eagerly with their operand on every transport
constexpr ptl_size_t kMaxVolatile = 8192;  // at most every transport's eager limit
constexpr int kDefaultObjects = 1 << 16;

int clamp(int desired, int least, int most) { return std::clamp(desired, least, most); }
ptl_size_t clamp_size(ptl_size_t desired, ptl_size_t least, ptl_size_t most) { return std::clamp(desired, least, most); }

// Exactly what was asked for, within what there is; garbage in `desired` is pulled into range. Nothing is sized by these.
ptl_ni_limits_t grant(const ptl_ni_limits_t* desired) {
  ptl_ni_limits_t limits{};
  limits.max_entries = limits.max_unexpected_headers = limits.max_mds = limits.max_cts = kDefaultObjects;
  limits.max_list_size = limits.max_triggered_ops = kDefaultObjects;
  limits.max_eqs = 4096;
  limits.max_pt_index = 255;
  limits.max_iovecs = INT_MAX;
  limits.max_msg_size = PTL_SIZE_MAX / 2;
  limits.max_atomic_size = limits.max_fetch_atomic_size = kMaxAtomic;
  limits.max_waw_ordered_size = limits.max_war_ordered_size = kMaxVolatile;
  limits.max_volatile_size = kMaxVolatile;
  limits.features = PTL_COHERENT_ATOMICS;
  if (!desired) return limits;
  limits.max_entries = clamp(desired->max_entries, 1, kObjects);
  limits.max_unexpected_headers = clamp(desired->max_unexpected_headers, 1, INT_MAX);
  limits.max_mds = clamp(desired->max_mds, 1, kObjects);
  limits.max_cts = clamp(desired->max_cts, 1, kObjects);
  limits.max_eqs = clamp(desired->max_eqs, 1, 65535);
  limits.max_pt_index = clamp(desired->max_pt_index, 63, static_cast<int>(kMaxPortals) - 1);
  limits.max_iovecs = clamp(desired->max_iovecs, 1, INT_MAX);
  limits.max_list_size = clamp(desired->max_list_size, 1, kObjects);
  limits.max_triggered_ops = clamp(desired->max_triggered_ops, 1, kObjects);
  limits.max_msg_size = clamp_size(desired->max_msg_size, 0, PTL_SIZE_MAX / 2);
  limits.max_atomic_size = clamp_size(desired->max_atomic_size, 64, kMaxAtomic);
  limits.max_fetch_atomic_size = clamp_size(desired->max_fetch_atomic_size, 64, kMaxAtomic);
  limits.max_waw_ordered_size = clamp_size(desired->max_waw_ordered_size, 64, kMaxVolatile);
  limits.max_war_ordered_size = clamp_size(desired->max_war_ordered_size, 8, kMaxVolatile);
  limits.max_volatile_size = clamp_size(desired->max_volatile_size, 8, kMaxVolatile);
  return limits;
}

void close_interface(uint32_t ni) {
  // What was issued leaves first: a peer may depend on our last put. A peer that is gone fails its messages.
  constexpr uint64_t kFlushNs = 10'000'000'000;
  const uint64_t deadline = now_ns() + kFlushNs;
  while (!client().locked([](Engine& engine) { return engine.flushed(); }) && now_ns() < deadline)
    if (client().progress() == 0) sched_yield();
  client().locked([ni](Engine& engine) {
    engine.close_interface(ni);
    return 0;
  });
}

}  // namespace

void close_all_interfaces() {
  if (!client().running()) return;
  for (uint32_t ni = 0; ni < kInterfaces; ++ni) {
    if (open_count[ni] > 0) close_interface(ni);
    open_count[ni] = 0;
  }
  client().stop();
}

}  // namespace portunus::api

extern "C" {

int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t* desired, ptl_ni_limits_t* actual,
              ptl_handle_ni_t* ni_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  const bool matching = options & PTL_NI_MATCHING, plain = options & PTL_NI_NO_MATCHING;
  const bool logical = options & PTL_NI_LOGICAL, physical = options & PTL_NI_PHYSICAL;
  if (!ni_handle || (options & ~static_cast<unsigned>(PTL_NI_INIT_OPTIONS_MASK)) || matching == plain || logical == physical ||
      (iface != PTL_IFACE_DEFAULT && iface != 0))
    return PTL_ARG_INVALID;
  std::lock_guard guard(api::lifetime());
  if (pid != PTL_PID_ANY && (pid == 0 || pid > 0xffff)) return PTL_ARG_INVALID;
  try {
    if (!api::client().running()) api::client().start(api::job_place(), pid == PTL_PID_ANY ? 0 : pid);
  } catch (const std::system_error& error) {
    if (error.code().value() == EADDRINUSE) return PTL_PID_IN_USE;
    std::fprintf(stderr, "portals: %s\n", error.what());
    return error.code().value() == ENOSPC ? PTL_NO_SPACE : PTL_FAIL;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "portals: %s\n", error.what());
    return PTL_FAIL;
  }
  const uint32_t index = api::interface_index(options);
  Interface& interface = api::client().interface(index);
  if (api::open_count[index]++ == 0) {
    api::client().locked([&](Engine&) {
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

int PtlNIFini(ptl_handle_ni_t ni_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  std::lock_guard guard(api::lifetime());
  if (!api::find_interface(ni_handle)) return PTL_ARG_INVALID;
  const uint32_t index = handle_index(ni_handle);
  if (--api::open_count[index] == 0) api::close_interface(index);
  return PTL_OK;
}

int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t* status) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !status || static_cast<unsigned>(status_register) >= PTL_SR_LAST) return PTL_ARG_INVALID;
  *status = interface->status[status_register].load(std::memory_order_relaxed);
  return PTL_OK;
}

int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t* mapping) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle) || !mapping || map_size == 0 || map_size >= kRankUnknown) return PTL_ARG_INVALID;
  return api::client().locked([&](Engine& engine) { return engine.set_map(handle_index(ni_handle), mapping, map_size); });
}

int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t* mapping, ptl_size_t* actual_map_size) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !interface->logical()) return PTL_ARG_INVALID;
  const uint32_t size = interface->map_size.load(std::memory_order_acquire);  // pairs with set_map
  if (size == 0) return PTL_NO_SPACE;
  if (map_size && !mapping) return PTL_ARG_INVALID;
  for (uint32_t i = 0; i < std::min<ptl_size_t>(size, map_size); ++i)
    mapping[i].phys = {interface->map[i].nid, interface->map[i].pid};
  if (actual_map_size) *actual_map_size = size;
  return PTL_OK;
}

int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t* uid) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle) || !uid) return PTL_ARG_INVALID;
  *uid = api::client().uid();
  return PTL_OK;
}

int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t* id) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle) || !id) return PTL_ARG_INVALID;
  id->phys = {api::client().self().nid, api::client().self().pid};
  return PTL_OK;
}

int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t* id) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !id) return PTL_ARG_INVALID;
  if (!interface->logical()) return PtlGetPhysId(ni_handle, id);
  id->phys = {0, 0};
  id->rank = PTL_RANK_ANY;
  if (interface->map_size.load(std::memory_order_acquire) != 0) {
    auto found = interface->rank_of.find(packed(api::client().self()));
    if (found != interface->rank_of.end()) id->rank = found->second;
  }
  return PTL_OK;
}

}  // extern "C"
