// list_entries.cpp: LEs and MEs: append, unlink, search. Source: Portals 4.3, list entries and match list entries.
#include "portals/list_entries.hpp"

#include <new>

using namespace portunus;

namespace portunus::api {

namespace {

// Which initiators an entry accepts, as bits of the packed id.
void set_source(const Interface& interface, ptl_process_t id, MatchPattern& pattern) {
  if (interface.logical()) {
    pattern.source_mask = id.rank == PTL_RANK_ANY ? 0 : ~uint64_t{0};
    pattern.source = id.rank & pattern.source_mask;
    return;
  }
  pattern.source_mask = (id.phys.nid == PTL_NID_ANY ? 0 : uint64_t{0xffffffff} << 32) | (id.phys.pid == PTL_PID_ANY ? 0 : uint64_t{0xffffffff});
  pattern.source = packed({id.phys.nid, id.phys.pid}) & pattern.source_mask;
}

}  // namespace

bool describe_entry(const Interface& interface, const ptl_me_t& me, bool has_match, uint32_t allowed, ListEntry& entry) {
  if (me.options & ~allowed) return false;
  if (!counter_or_none(me.ct_handle, interface.index)) return false;
  entry.ni = static_cast<uint8_t>(interface.index);
  entry.options = me.options;
  entry.ct = me.ct_handle;
  entry.uid = me.uid;
  entry.memory.base = me.start;
  entry.length = me.length;
  if (me.options & PTL_IOVEC) {
    if (me.length > static_cast<ptl_size_t>(interface.limits.max_iovecs) || (me.length && !me.start)) return false;
    const auto* iov = static_cast<const ptl_iovec_t*>(me.start);
    entry.length = 0;
    for (ptl_size_t i = 0; i < me.length; ++i) entry.length += iov[i].iov_len;
    entry.memory.iov_count = static_cast<uint32_t>(me.length);
  }
  if (has_match) {
    entry.match_bits = me.match_bits;
    entry.ignore_bits = me.ignore_bits;
    entry.min_free = me.options & (PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH) ? me.min_free : 0;
    set_source(interface, me.match_id, entry);
  } else {
    entry.match_bits = 0;
    entry.ignore_bits = ~uint64_t{0};
    entry.source = entry.source_mask = 0;
  }
  return true;
}

int claim_entry(Interface& interface, ptl_pt_index_t pt_index, const ptl_me_t& me, bool has_match, uint32_t allowed,
                ptl_list_t list, void* user_ptr, uint32_t& handle) {
  if (interface.matching() != has_match || !valid_portal(interface, pt_index) || (list != PTL_PRIORITY_LIST && list != PTL_OVERFLOW_LIST))
    return PTL_ARG_INVALID;
  ListEntry filled;
  if (!describe_entry(interface, me, has_match, allowed, filled)) return PTL_ARG_INVALID;
  if (!take(interface.entries, interface.limits.max_entries)) return PTL_NO_SPACE;
  auto& pool = client().objects().entries;
  if (!take(interface.list_sizes[pt_index][list], interface.limits.max_list_size)) {
    interface.entries.fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  const uint32_t index = pool.claim();
  if (index == kNoIndex) {
    interface.entries.fetch_sub(1, std::memory_order_relaxed);
    interface.list_sizes[pt_index][list].fetch_sub(1, std::memory_order_relaxed);
    return PTL_NO_SPACE;
  }
  ListEntry& entry = *new (&pool.at(index)) ListEntry(filled);
  entry.pt_index = static_cast<uint16_t>(pt_index);
  entry.list = list;
  entry.user_ptr = user_ptr;
  entry.parked = true;  // until its append has run
  entry.handle = pool.next_handle(index);
  handle = pool.publish(index);
  return PTL_OK;
}

namespace {

int append(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t& me, bool has_match, uint32_t allowed,
           ptl_list_t list, void* user_ptr, uint32_t* handle) {
  Interface* interface = find_interface(ni_handle);
  if (!interface || !handle) return PTL_ARG_INVALID;
  const int code = claim_entry(*interface, pt_index, me, has_match, allowed, list, user_ptr, *handle);
  if (code != PTL_OK) return code;
  Command command;
  command.verb = Verb::append;
  command.ni = static_cast<uint8_t>(interface->index);
  command.handle = *handle;
  client().submit(command);
  return PTL_OK;
}

int unlink(uint32_t handle) {
  if (!client().objects().entries.find(handle)) return PTL_ARG_INVALID;
  return client().locked([&](Engine& engine) { return engine.unlink(handle); });
}

int search(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t& me, bool has_match, uint32_t allowed,
           ptl_search_op_t op, void* user_ptr) {
  Interface* interface = find_interface(ni_handle);
  if (!interface || interface->matching() != has_match || !valid_portal(*interface, pt_index) ||
      (op != PTL_SEARCH_ONLY && op != PTL_SEARCH_DELETE))
    return PTL_ARG_INVALID;
  ListEntry like;
  if (!describe_entry(*interface, me, has_match, allowed, like)) return PTL_ARG_INVALID;
  like.user_ptr = user_ptr;
  return client().locked([&](Engine& engine) { return engine.search(interface->index, pt_index, like, like, op); });
}

// The first five members of an ME are an LE.
ptl_me_t as_me(const ptl_le_t& le) {
  ptl_me_t me{};
  me.start = le.start;
  me.length = le.length;
  me.ct_handle = le.ct_handle;
  me.uid = le.uid;
  me.options = le.options;
  return me;
}

}  // namespace
}  // namespace portunus::api

extern "C" {

int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t* le, ptl_list_t ptl_list, void* user_ptr, ptl_handle_le_t* le_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  return le ? api::append(ni_handle, pt_index, api::as_me(*le), false, api::kLeOptions, ptl_list, user_ptr, le_handle) : PTL_ARG_INVALID;
}

int PtlLEUnlink(ptl_handle_le_t le_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::unlink(le_handle);
}

int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t* le, ptl_search_op_t ptl_search_op, void* user_ptr) {
  if (!api::initialized()) return PTL_NO_INIT;
  return le ? api::search(ni_handle, pt_index, api::as_me(*le), false, api::kLeOptions, ptl_search_op, user_ptr) : PTL_ARG_INVALID;
}

int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_list_t ptl_list, void* user_ptr, ptl_handle_me_t* me_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  return me ? api::append(ni_handle, pt_index, *me, true, api::kMeOptions, ptl_list, user_ptr, me_handle) : PTL_ARG_INVALID;
}

int PtlMEUnlink(ptl_handle_me_t me_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::unlink(me_handle);
}

int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_search_op_t ptl_search_op, void* user_ptr) {
  if (!api::initialized()) return PTL_NO_INIT;
  return me ? api::search(ni_handle, pt_index, *me, true, api::kMeOptions, ptl_search_op, user_ptr) : PTL_ARG_INVALID;
}

}  // extern "C"
