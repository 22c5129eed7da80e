// md.cpp: memory descriptors. Binding copies the structure and nothing else: no registration, no look at the memory.
// Source: Portals 4.3, memory descriptors.
#include "portals/arguments.hpp"

using namespace portunus;

extern "C" {

int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t* md, ptl_handle_md_t* md_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni_handle);
  if (!interface || !md || !md_handle || (md->options & ~static_cast<unsigned>(PTL_MD_OPTIONS_MASK)) ||
      !api::queue_or_none(md->eq_handle, interface->index) || !api::counter_or_none(md->ct_handle, interface->index))
    return PTL_ARG_INVALID;
  if ((md->options & PTL_IOVEC) && (md->length > static_cast<ptl_size_t>(interface->limits.max_iovecs) || (md->length && !md->start)))
    return PTL_ARG_INVALID;
  if (!api::take(interface->descriptors, interface->limits.max_mds)) return PTL_NO_SPACE;
  auto& pool = api::client().objects().descriptors;
  const uint32_t index = pool.claim();
  if (index == kNoIndex) {
    interface->descriptors.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  pool.at(index) = {*md, static_cast<uint8_t>(interface->index)};
  *md_handle = pool.publish(index);
  return PTL_OK;
}

// Operations under way and parked ones carry what they need of the descriptor, so it can go at once.
int PtlMDRelease(ptl_handle_md_t md_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  auto& pool = api::client().objects().descriptors;
  Descriptor* descriptor = pool.find(md_handle);
  if (!descriptor) return PTL_ARG_INVALID;
  const uint32_t ni = descriptor->ni;
  if (!pool.retire(md_handle)) return PTL_ARG_INVALID;
  pool.give_back(handle_index(md_handle));
  api::client().interface(ni).descriptors.fetch_sub(1, std::memory_order_relaxed);
  return PTL_OK;
}

}  // extern "C"
