// withdraw.cpp: extension E10, taking puts back and refusing held messages.
#include "portals/list_entries.hpp"

using namespace portunus;

extern "C" {

int PtlxPutWithdraw(ptl_handle_md_t md_handle, const void* user_ptr) try {
  if (!api::initialized()) return PTL_NO_INIT;
  api::Fault fault;
  const Descriptor* descriptor = api::object(api::runtime().objects().descriptors, "md_handle", md_handle, fault);
  if (!descriptor) return api::refuse(__func__, fault);
  const PutsOf like{static_cast<uint8_t>(descriptor->ni), descriptor->md.eq_handle, descriptor->md.ct_handle, user_ptr};
  return api::progress().locked([&](Engine& engine) UNDER_BATON {
    engine.initiator().withdraw(like);
    return static_cast<int>(PTL_OK);
  });
}
PTL_BARRIER

int PtlxMERefuse(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!me) return api::refuse(__func__, {"me", api::kIsNull});
  Interface* interface = api::find_interface(ni_handle);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (!interface->matching()) return api::refuse(__func__, {"ni_handle", "is an interface with PTL_NI_NO_MATCHING"});
  if (!api::valid_portal(*interface, pt_index)) return api::refuse(__func__, {"pt_index", api::kNotAllocated});
  const MatchPattern pattern = api::match_pattern(*interface, *me);
  const int code =
      api::progress().locked([&](Engine& engine) UNDER_BATON { return engine.target().refuse_held(interface->index, pt_index, pattern); });
  return code == PTL_ARG_INVALID ? api::refuse(__func__, {"pt_index", api::kNotAllocated}) : code;
}
PTL_BARRIER

}  // extern "C"
