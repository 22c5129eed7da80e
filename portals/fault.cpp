// fault.cpp: the sentences behind PTL_ARG_INVALID. See fault.hpp.
#include "portals/fault.hpp"

#include <cstdio>

#include "engine/host/debug.hpp"
#include "portals/portals4.h"

namespace portunus::api {
namespace {

constexpr uint32_t kKinds = 5;

// By HandleKind: what the handle is, where another kind is asked for.
constexpr const char* kIsA[kKinds] = {"is the handle of a network interface", "is the handle of an event queue",
                                      "is the handle of a counting event", "is the handle of a memory descriptor",
                                      "is the handle of a list entry"};
constexpr const char* kIsNo[kKinds] = {"is no network interface that is open",
                                       "is stale: its event queue was freed, or there never was one",
                                       "is stale: its counting event was freed, or there never was one",
                                       "is stale: its memory descriptor was released, or there never was one",
                                       "is stale: its list entry was unlinked, by the program or by itself, or there never was one"};

}  // namespace

int refuse(const char* function, Fault fault) {
  if (debug_wanted("arguments")) std::fprintf(stderr, "portals: %s: %s %s\n", function, fault.argument, fault.why);
  return PTL_ARG_INVALID;
}

int no_memory(const char* function) {
  if (debug_wanted("arguments")) std::fprintf(stderr, "portals: %s: there is not enough memory\n", function);
  return PTL_NO_SPACE;
}

Fault bad_handle(const char* argument, uint32_t handle, HandleKind wanted) {
  if (handle == PTL_INVALID_HANDLE) return {argument, "is PTL_INVALID_HANDLE"};
  if (handle == PTL_EQ_NONE) return {argument, "is PTL_EQ_NONE"};
  if (handle == PTL_CT_NONE) return {argument, "is PTL_CT_NONE"};
  const auto kind = static_cast<uint32_t>(handle_kind(handle));
  if (kind >= kKinds) return {argument, "is no handle at all; was it ever set?"};
  return {argument, handle_kind(handle) == wanted ? kIsNo[kind] : kIsA[kind]};
}

}  // namespace portunus::api
