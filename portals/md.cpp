// md.cpp: memory descriptors. Binding copies the structure and nothing else: no registration, no look at the memory.
// Source: Portals 4.3, memory descriptors.
#include "portals/arguments.hpp"

#include <cassert>
#include "portals/portals4_ext.h"

using namespace portunus;

extern "C" {

int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t* md, ptl_handle_md_t* md_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!md || !md_handle) return api::refuse(__func__, {md ? "md_handle" : "md", api::kIsNull});
  if (md->options & ~static_cast<unsigned>(PTL_MD_OPTIONS_MASK | PTLX_MD_LAZY | PTLX_MD_HEADER_FIRST | PTLX_MD_LAYOUT))
    return api::refuse(__func__, {"options", "has bits that are no PTL_MD_ option"});
  if (api::Fault fault = api::queue_or_none("eq_handle", md->eq_handle, interface->index)) return api::refuse(__func__, fault);
  if (api::Fault fault = api::counter_or_none("ct_handle", md->ct_handle, interface->index)) return api::refuse(__func__, fault);
  if ((md->options & PTL_IOVEC) && (md->options & PTLX_MD_LAYOUT))
    return api::refuse(__func__, {"options", "have both PTL_IOVEC and PTLX_MD_LAYOUT"});
  if (md->options & PTL_IOVEC)
    if (api::Fault fault = api::bad_iovec(*interface, md->start, md->length)) return api::refuse(__func__, fault);
  if (!api::take(interface->descriptors, interface->limits.max_mds)) return PTL_NO_SPACE;
  auto& pool = api::runtime().objects().descriptors;
  const uint32_t index = pool.claim();
  if (index == kNoIndex) {
    interface->descriptors.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  pool.at(index).md = *md;
  pool.at(index).ni = interface->index;
  *md_handle = pool.publish(index);
  return PTL_OK;
}
PTL_BARRIER

// Operations under way and parked ones carry what they need of the descriptor, so it can go at once.
int PtlMDRelease(ptl_handle_md_t md_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::runtime().objects().descriptors;
  api::Fault fault;
  const Descriptor* descriptor = api::object(pool, "md_handle", md_handle, fault);
  if (!descriptor) return api::refuse(__func__, fault);
  const uint32_t ni = descriptor->ni;
  if (!pool.retire(md_handle)) return api::refuse(__func__, api::bad_handle("md_handle", md_handle, HandleKind::descriptor));
  assert(api::runtime().interface(ni).descriptors.load(std::memory_order_relaxed) > 0);
  pool.give_back(handle_index(md_handle));
  api::runtime().interface(ni).descriptors.fetch_sub(1, std::memory_order_relaxed);
  return PTL_OK;
}
PTL_BARRIER

}  // extern "C"
