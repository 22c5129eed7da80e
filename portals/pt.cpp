// pt.cpp: the portal table. Source: Portals 4.3, portal table entries.
#include "portals/arguments.hpp"

using namespace portunus;

extern "C" {

int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt_index_req, ptl_pt_index_t* pt_index) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !pt_index || (options & ~static_cast<unsigned>(PTL_PT_ALLOC_OPTIONS_MASK)) ||
      (pt_index_req != PTL_PT_ANY && pt_index_req > static_cast<unsigned>(interface->limits.max_pt_index)) ||
      !api::queue_or_none(eq_handle, interface->index))
    return PTL_ARG_INVALID;
  if ((options & PTL_PT_FLOWCTRL) && eq_handle == PTL_EQ_NONE) return PTL_PT_EQ_NEEDED;
  return api::client().locked([&](Engine& engine) {
    uint32_t index = 0;
    const int code = engine.portal_alloc(interface->index, options, eq_handle, pt_index_req, index);
    if (code == PTL_OK) *pt_index = index;
    return code;
  });
}

int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !api::valid_portal(*interface, pt_index)) return PTL_ARG_INVALID;
  return api::client().locked([&](Engine& engine) { return engine.portal_free(interface->index, pt_index); });
}

int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !api::valid_portal(*interface, pt_index)) return PTL_ARG_INVALID;
  auto disable = [&](Engine& engine) { return engine.portal_disable(interface->index, pt_index); };
  int code;
  while ((code = api::client().locked(disable)) == PTL_IN_USE)  // messages on their way into its entries finish first
    if (api::client().progress() == 0) sched_yield();
  return code;
}

int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !api::valid_portal(*interface, pt_index)) return PTL_ARG_INVALID;
  return api::client().locked([&](Engine& engine) { return engine.portal_enable(interface->index, pt_index); });
}

}  // extern "C"
