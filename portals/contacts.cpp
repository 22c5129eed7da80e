// contacts.cpp: processes of other jobs: how to reach them, and their places in a map.
#include <bit>
#include <cstring>

#include "portals/arguments.hpp"
#include "portals/portals4_ext.h"

using namespace portunus;

namespace {

struct Contact {
  ProcessId process;
  SegmentPlace place;
};
static_assert(sizeof(Contact) == sizeof(ptlx_contact_t));

constexpr uint64_t kBurying_ns = 10'000'000'000;  // what the end of a process that had the address before may take

int extend(uint32_t ni, const Contact& contact, ptl_rank_t& rank) {
  return api::progress().locked([&](Engine& engine) UNDER_BATON -> int {
    NodeTransport* node = api::runtime().node();
    if (node && !(contact.process == api::runtime().self()) && contact.process.nid == api::runtime().self().nid) {
      const Acquaintance met = node->acquaint(contact.process, contact.place);
      if (met == Acquaintance::later) node->housekeeping(true);
      if (met != Acquaintance::made) return met == Acquaintance::later ? Engine::kNotYet : int{PTL_FAIL};
    }
    return engine.extend_map(ni, contact.process, contact.place.incarnation, rank);
  });
}

}  // namespace

extern "C" {

int PtlxContact(ptl_handle_ni_t ni, ptlx_contact_t* contact) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni)) return api::refuse(__func__, api::bad_interface(ni));
  if (!contact) return api::refuse(__func__, {"contact", api::kIsNull});
  Contact own{api::runtime().self(), {}};
  if (NodeTransport* node = api::runtime().node()) own.place = node->segment().header().place;
  own.place.incarnation = api::runtime().incarnation();
  std::memcpy(contact, &own, sizeof own);
  return PTL_OK;
}
PTL_BARRIER

int PtlxMapExtend(ptl_handle_ni_t ni, const ptlx_contact_t* contacts, ptl_size_t count, ptl_rank_t* ranks) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni));
  if (!interface->logical()) return api::refuse(__func__, {"ni", "is a physical interface, and those have no map"});
  if (count && (!contacts || !ranks)) return api::refuse(__func__, {contacts ? "ranks" : "contacts", api::kIsNull});
  if (interface->map_size.load(std::memory_order_acquire) == 0) return api::refuse(__func__, {"ni", "has no map yet: PtlSetMap"});
  int result = PTL_OK;
  for (ptl_size_t i = 0; i < count; ++i) {
    const auto contact = std::bit_cast<Contact>(contacts[i]);
    const uint64_t until = now_ns() + kBurying_ns;
    int code;
    while ((code = extend(interface->index, contact, ranks[i])) == Engine::kNotYet && now_ns() < until)
      if (api::progress().poll() == 0) sched_yield();
    if (code == PTL_NO_SPACE) return code;
    if (code == PTL_OK) continue;
    ranks[i] = PTL_RANK_ANY;
    result = PTL_FAIL;
  }
  return result;
}
PTL_BARRIER

}  // extern "C"
