// pt.cpp: the portal table. Source: Portals 4.3, portal table entries.
#include "portals/arguments.hpp"
#include "portals/portals4_ext.h"

using namespace portunus;

namespace {

// Runs `action(engine, interface's number)` for an allocated entry; whatever frees it meanwhile makes that answer PTL_ARG_INVALID.
template <class Action>
int on_entry(const char* function, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, Action&& action) {
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(function, api::bad_interface(ni_handle));
  if (!api::valid_portal(*interface, pt_index)) return api::refuse(function, {"pt_index", api::kNotAllocated});
  const int code = api::progress().locked([&](Engine& engine) UNDER_BATON { return action(engine, interface->index); });
  return code == PTL_ARG_INVALID ? api::refuse(function, {"pt_index", api::kNotAllocated}) : code;
}

}  // namespace

extern "C" {

int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt_index_req,
               ptl_pt_index_t* pt_index) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!pt_index) return api::refuse(__func__, {"pt_index", api::kIsNull});
  if (options & ~static_cast<unsigned>(PTL_PT_ALLOC_OPTIONS_MASK))
    return api::refuse(__func__, {"options", "has bits that are no PTL_PT_ option"});
  if (pt_index_req != PTL_PT_ANY && pt_index_req > static_cast<unsigned>(interface->limits.max_pt_index))
    return api::refuse(__func__, {"pt_index_req", "is above max_pt_index"});
  if (api::Fault fault = api::queue_or_none("eq_handle", eq_handle, interface->index)) return api::refuse(__func__, fault);
  if ((options & PTL_PT_FLOWCTRL) && eq_handle == PTL_EQ_NONE) return PTL_PT_EQ_NEEDED;
  return api::progress().locked([&](Engine& engine) UNDER_BATON {
    uint32_t index = 0;
    const int code = engine.table().alloc(interface->index, options, eq_handle, pt_index_req, index);
    if (code == PTL_OK) *pt_index = index;
    return code;
  });
}
PTL_BARRIER

int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return on_entry(__func__, ni_handle, pt_index,
                  [=](Engine& engine, uint32_t ni) UNDER_BATON { return engine.target().free_portal(ni, pt_index); });
}
PTL_BARRIER

int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index) try {
  if (!api::initialized()) return PTL_NO_INIT;
  auto disable = [=](Engine& engine, uint32_t ni) UNDER_BATON { return engine.table().disable(ni, pt_index); };
  int code;
  while ((code = on_entry(__func__, ni_handle, pt_index, disable)) == PTL_IN_USE)  // messages on their way into its entries finish first
    if (api::progress().poll() == 0) sched_yield();
  return code;
}
PTL_BARRIER

int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return on_entry(__func__, ni_handle, pt_index,
                  [=](Engine& engine, uint32_t ni) UNDER_BATON { return engine.table().enable(ni, pt_index); });
}
PTL_BARRIER

int PtlxPTLimitHeld(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_size_t headers_only_from, ptl_size_t most) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (most == 0 || headers_only_from == 0 || headers_only_from > most)
    return api::refuse(__func__, {"headers_only_from", "and most must be above 0, and the first not above the second"});
  return on_entry(__func__, ni_handle, pt_index,
                  [=](Engine& engine, uint32_t ni) UNDER_BATON { return engine.flow().limit_held(ni, pt_index, headers_only_from, most); });
}
PTL_BARRIER

}  // extern "C"
