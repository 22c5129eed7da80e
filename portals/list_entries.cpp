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
  pattern.source_mask =
      (id.phys.nid == PTL_NID_ANY ? 0 : uint64_t{0xffffffff} << 32) | (id.phys.pid == PTL_PID_ANY ? 0 : uint64_t{0xffffffff});
  pattern.source = packed({id.phys.nid, id.phys.pid}) & pattern.source_mask;
}

}  // namespace

MatchPattern match_pattern(const Interface& interface, const ptl_me_t& me) {
  MatchPattern pattern;
  pattern.match_bits = me.match_bits;
  pattern.ignore_bits = me.ignore_bits;
  set_source(interface, me.match_id, pattern);
  return pattern;
}

namespace {

// The options that belong to PTLX_ME_RECORD, of those options that it needs or excludes.
constexpr uint32_t kRecorded = PTLX_ME_RECORD | PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE |
                               PTLX_ME_COMPLETE_UNEXPECTED;
constexpr uint32_t kAnyRecord = PTLX_ME_RECORD | PTLX_ME_RECORD_SENDER | PTLX_ME_RECORD_HEADER;
constexpr uint32_t kKeptMask =
    PTLX_ME_KEEP | PTLX_ME_RECORD | PTL_IOVEC | PTLX_ME_LAYOUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW | PTL_ME_EVENT_CT_BYTES;
constexpr uint32_t kRecordMask = kRecorded | PTL_ME_OP_GET | PTL_ME_MANAGE_LOCAL | PTLX_ME_HOLD | PTLX_ME_COUNT_MISMATCHES;

// Checks that appends and searches share.
[[gnu::always_inline]] inline Fault check_place(const Interface& interface, ptl_pt_index_t pt_index, bool has_match) {
  if (interface.matching() != has_match)
    return {"ni_handle", has_match ? "is an interface with PTL_NI_NO_MATCHING: use the LE functions"
                                   : "is an interface with PTL_NI_MATCHING: use the ME functions"};
  return valid_portal(interface, pt_index) ? Fault{} : Fault{"pt_index", kNotAllocated};
}

[[gnu::always_inline]] inline Fault check_entry(const Interface& interface, const ptl_me_t& me, bool has_match, uint32_t allowed) {
  if (me.options & ~allowed) [[unlikely]]
    return {"options", has_match ? "has bits that are no PTL_ME_ option" : "has bits that are no PTL_LE_ option"};
  if (Fault fault = counter_or_none("ct_handle", me.ct_handle, interface.index)) [[unlikely]]
    return fault;
  if ((me.options & kAnyRecord) && (me.options & kRecordMask) != kRecorded) [[unlikely]]
    return {"options",
            "has PTLX_ME_RECORD, _RECORD_SENDER or _RECORD_HEADER without an option that it needs, or with one that it excludes"};
  if ((me.options & PTLX_ME_RECORD_HEADER) && (me.min_free == 0 || me.min_free % alignof(uint64_t) != 0)) [[unlikely]]
    return {"min_free", "is no address of a uint64_t, which PTLX_ME_RECORD_HEADER needs"};
  if ((me.options & PTLX_ME_KEEP) && (me.options & kKeptMask) != (PTLX_ME_KEEP | PTLX_ME_RECORD)) [[unlikely]]
    return {"options", "has PTLX_ME_KEEP without PTLX_ME_RECORD, or with an option that it excludes"};
  if (!(me.options & (PTL_IOVEC | PTLX_ME_LAYOUT))) [[likely]]
    return {};
  if (!(me.options & PTLX_ME_LAYOUT)) return bad_iovec(interface, me.start, me.length);
  if (me.options & (PTL_IOVEC | PTL_ME_OP_GET)) return {"options", "have PTLX_ME_LAYOUT together with PTL_IOVEC or PTL_ME_OP_GET"};
  return bad_layout("start", me.start);
}

// A word by a load of its own: callers have just stored match bits and ignore bits one by one, and one load of both would wait until
// these stores have left the core's buffer.
uint64_t word_of(const ptl_match_bits_t& word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); }

// Fills an entry from arguments that were checked; it is as new. Rare fields come last, so that each field is stored once.
[[gnu::always_inline]] inline void fill_entry(const Interface& interface, const ptl_me_t& me, bool has_match, ListEntry& entry) {
  entry.ni = static_cast<uint8_t>(interface.index);
  entry.options = me.options;
  entry.ct = me.ct_handle;
  entry.uid = me.uid;
  entry.memory.base = me.start;
  entry.length = me.length;
  entry.may_fault = (interface.limits.features & PTL_TARGET_BIND_INACCESSIBLE) && !(me.options & PTL_ME_IS_ACCESSIBLE);
  entry.kept = entry.recurs = (me.options & PTLX_ME_KEEP) != 0;
  entry.match_bits = has_match ? word_of(me.match_bits) : 0;
  entry.ignore_bits = has_match ? word_of(me.ignore_bits) : ~uint64_t{0};
  entry.source = entry.source_mask = 0;
  if (has_match) {
    entry.min_free = me.options & (PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH | PTLX_ME_RECORD_HEADER) ? me.min_free : 0;
    set_source(interface, me.match_id, entry);
  }
  if (!(me.options & (PTL_IOVEC | PTLX_ME_LAYOUT))) [[likely]]
    return;
  if (me.options & PTLX_ME_LAYOUT) {
    entry.memory.iov_count = Memory::kLayout;
    entry.may_fault = false;
  } else {
    entry.length = iovec_length(static_cast<const ptl_iovec_t*>(me.start), me.length);
    entry.memory.iov_count = static_cast<uint32_t>(me.length);
  }
}

}  // namespace

namespace {

// Held: by the baton holder, without locked instructions.
template <bool kHeld>
[[gnu::always_inline]] inline int claim(const char* function, Runtime& process, Interface& interface, ptl_pt_index_t pt_index,
                                        const ptl_me_t& me, bool has_match, uint32_t allowed, ptl_list_t list, void* user_ptr,
                                        uint32_t& handle, ListEntry*& claimed) {
  if (Fault fault = check_place(interface, pt_index, has_match)) [[unlikely]]
    return refuse(function, fault);
  if (list != PTL_PRIORITY_LIST && list != PTL_OVERFLOW_LIST) [[unlikely]]
    return refuse(function, {"ptl_list", "is neither PTL_PRIORITY_LIST nor PTL_OVERFLOW_LIST"});
  if (Fault fault = check_entry(interface, me, has_match, allowed)) [[unlikely]]
    return refuse(function, fault);
  if ((me.options & PTLX_ME_RECORD) && list != PTL_PRIORITY_LIST) [[unlikely]]
    return refuse(function, {"ptl_list", "is not PTL_PRIORITY_LIST, as PTLX_ME_RECORD asks"});
  if ((me.options & (PTLX_ME_COUNT_MISMATCHES | PTLX_ME_RECORD)) && !user_ptr) [[unlikely]]
    return refuse(function, {"user_ptr", "is NULL, and the engine is to write there"});
  if ((me.options & PTLX_ME_LAYOUT) && list == PTL_OVERFLOW_LIST) [[unlikely]]
    return refuse(function, {"options", "have PTLX_ME_LAYOUT in the overflow list"});
  const ptl_ni_limits_t& limits = interface.limits;
  auto taken = [](Tally& tally, int limit) { return kHeld ? tally.take_held(limit) : tally.take(limit); };
  auto given = [](Tally& tally) { kHeld ? tally.give_held() : tally.give(); };
  if (!taken(interface.entries, limits.max_entries)) [[unlikely]]
    return PTL_NO_SPACE;
  if (interface.counts_lists() && !taken(interface.list_sizes[pt_index][list], limits.max_list_size)) [[unlikely]]
    return given(interface.entries), PTL_NO_SPACE;
  auto& pool = process.objects().entries;
  const uint32_t index = kHeld ? pool.claim_held() : pool.claim();
  if (index == kNoIndex) [[unlikely]] {
    if (interface.counts_lists()) given(interface.list_sizes[pt_index][list]);
    given(interface.entries);
    return PTL_NO_SPACE;
  }
  ListEntry& entry = *new (&pool.at(index)) ListEntry;
  entry.pt_index = static_cast<uint16_t>(pt_index);
  entry.list = list;
  entry.user_ptr = user_ptr;
  entry.parked = !kHeld;  // until its append has run
  const uint32_t named = pool.next_handle(index);
  entry.handle = named;
  fill_entry(interface, me, has_match, entry);
  pool.publish_as(named);
  handle = named;
  claimed = &entry;
  return PTL_OK;
}

}  // namespace

int claim_entry(const char* function, Interface& interface, ptl_pt_index_t pt_index, const ptl_me_t& me, bool has_match, uint32_t allowed,
                ptl_list_t list, void* user_ptr, uint32_t& handle) {
  ListEntry* entry;
  return claim<false>(function, runtime(), interface, pt_index, me, has_match, allowed, list, user_ptr, handle, entry);
}

namespace {

struct Wanted {  // what tells the ME functions from the LE functions
  const char* function;
  bool has_match;
  uint32_t options;
};

[[gnu::always_inline]] inline int append(const Wanted wanted, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t& me,
                                         ptl_list_t list, void* user_ptr, uint32_t* handle) {
  Runtime& process = runtime();
  Interface* interface = find_interface(ni_handle, process);
  if (!interface) return refuse(wanted.function, bad_interface(ni_handle));
  if (!handle) return refuse(wanted.function, {wanted.has_match ? "me_handle" : "le_handle", kIsNull});
  int code;
  if (process.progress().try_enter()) [[likely]] {
    ListEntry* entry = nullptr;
    code =
        claim<true>(wanted.function, process, *interface, pt_index, me, wanted.has_match, wanted.options, list, user_ptr, *handle, entry);
    if (code == PTL_OK) [[likely]]
      process.engine().target().append_now(*entry, *interface->portals[pt_index]);
    process.progress().leave();
    return code;
  }
  code = claim_entry(wanted.function, *interface, pt_index, me, wanted.has_match, wanted.options, list, user_ptr, *handle);
  if (code != PTL_OK) return code;
  Command command;
  command.verb = Verb::append;
  command.ni = static_cast<uint8_t>(interface->index);
  command.handle = *handle;
  command.match_bits = me.match_bits;
  process.progress().submit_and_wait(command);  // who hears of it may send at once
  return PTL_OK;
}

constexpr Fault kNotKept{"me_handle", "is no entry with PTLX_ME_KEEP of a portal table entry that is still there"};

// The fields that differ from one message to the next.
struct Again {
  void* start;
  ptl_size_t length;
  ptl_process_t source;
  ptl_match_bits_t match_bits, ignore_bits;
};

[[gnu::always_inline]] inline int append_again(Engine& engine, ListEntry& entry, const Again& now) UNDER_BATON {
  const Interface& interface = engine.interface(entry.ni);
  PortalEntry* const portal = interface.portals[entry.pt_index].get();
  if (!portal || !entry.parked) [[unlikely]]
    return portal ? int{PTL_IN_USE} : int{PTL_ARG_INVALID};
  entry.memory.base = now.start;
  entry.length = now.length;
  entry.match_bits = now.match_bits;
  entry.ignore_bits = now.ignore_bits;
  set_source(interface, now.source, entry);
  entry.parked = false;
  engine.target().append_now(entry, *portal);
  return int{PTL_OK};
}

[[gnu::noinline]] int wait_and_append_again(ListEntry& entry, const Again now) {
  return progress().locked([&](Engine& engine) UNDER_BATON { return append_again(engine, entry, now); });
}

int unlink(const char* function, const char* argument, uint32_t handle) {
  if (handle_kind(handle) != HandleKind::entry) return refuse(function, bad_handle(argument, handle, HandleKind::entry));
  const int code = progress().locked([&](Engine& engine) UNDER_BATON { return engine.table().unlink(handle); });
  return code == PTL_ARG_INVALID ? refuse(function, bad_handle(argument, handle, HandleKind::entry)) : code;
}

int search(const Wanted& wanted, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t& me, ptl_search_op_t op,
           void* user_ptr) {
  Interface* interface = find_interface(ni_handle);
  if (!interface) return refuse(wanted.function, bad_interface(ni_handle));
  if (Fault fault = check_place(*interface, pt_index, wanted.has_match)) return refuse(wanted.function, fault);
  if (op != PTL_SEARCH_ONLY && op != PTL_SEARCH_DELETE)
    return refuse(wanted.function, {"ptl_search_op", "is neither PTL_SEARCH_ONLY nor PTL_SEARCH_DELETE"});
  if (Fault fault = check_entry(*interface, me, wanted.has_match, wanted.options)) return refuse(wanted.function, fault);
  ListEntry like;
  fill_entry(*interface, me, wanted.has_match, like);
  like.user_ptr = user_ptr;
  progress().poll();  // a caller that only ever searches must see progress, too
  int code;
  while ((code = progress().locked([&](Engine& engine) UNDER_BATON {
           return engine.target().unexpected().search(interface->index, pt_index, like, like, op);
         })) == PTL_IN_USE)
    if (progress().poll() == 0) sched_yield();
  return code == PTL_ARG_INVALID ? refuse(wanted.function, {"pt_index", kNotAllocated}) : code;
}

int find(const char* function, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t& me, const ptl_match_bits_t* label,
         ptl_event_t& found) {
  Interface* interface = find_interface(ni_handle);
  if (!interface) return refuse(function, bad_interface(ni_handle));
  if (Fault fault = check_place(*interface, pt_index, true)) return refuse(function, fault);
  if (Fault fault = check_entry(*interface, me, true, kMeOptions)) return refuse(function, fault);
  const MatchPattern pattern = match_pattern(*interface, me);
  Room room{me.options, me.length};
  if (me.options & PTL_IOVEC) room.length = iovec_length(static_cast<const ptl_iovec_t*>(me.start), me.length);
  const int code = progress().locked([&](Engine& engine) UNDER_BATON {
    return engine.target().unexpected().find(interface->index, pt_index, pattern, room, label, found);
  });
  return code == PTL_ARG_INVALID ? refuse(function, {"pt_index", kNotAllocated}) : code;
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

int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t* le, ptl_list_t ptl_list, void* user_ptr,
                ptl_handle_le_t* le_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!le) return api::refuse(__func__, {"le", api::kIsNull});
  return api::append({__func__, false, api::kLeOptions}, ni_handle, pt_index, api::as_me(*le), ptl_list, user_ptr, le_handle);
}
PTL_BARRIER

int PtlLEUnlink(ptl_handle_le_t le_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::unlink(__func__, "le_handle", le_handle);
}
PTL_BARRIER

int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t* le, ptl_search_op_t ptl_search_op, void* user_ptr) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!le) return api::refuse(__func__, {"le", api::kIsNull});
  return api::search({__func__, false, api::kLeOptions}, ni_handle, pt_index, api::as_me(*le), ptl_search_op, user_ptr);
}
PTL_BARRIER

int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_list_t ptl_list, void* user_ptr,
                ptl_handle_me_t* me_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!me) return api::refuse(__func__, {"me", api::kIsNull});
  return api::append({__func__, true, api::kMeOptions | PTLX_ME_KEEP}, ni_handle, pt_index, *me, ptl_list, user_ptr, me_handle);
}
PTL_BARRIER

int PtlxMEAppendAgain(ptl_handle_me_t me_handle, void* start, ptl_size_t length, ptl_process_t match_id, ptl_match_bits_t match_bits,
                      ptl_match_bits_t ignore_bits) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Runtime& process = api::runtime();
  ListEntry* const entry = process.objects().entries.find(me_handle);
  if (!entry) [[unlikely]]
    return api::refuse(__func__, api::bad_handle("me_handle", me_handle, HandleKind::entry));
  if (!entry->kept) [[unlikely]]
    return api::refuse(__func__, api::kNotKept);
  const api::Again now{start, length, match_id, match_bits, ignore_bits};
  int code;
  if (process.progress().try_enter()) [[likely]] {
    code = api::append_again(process.engine(), *entry, now);
    process.progress().leave();
  } else {
    code = api::wait_and_append_again(*entry, now);
  }
  return code == PTL_ARG_INVALID ? api::refuse(__func__, api::kNotKept) : code;
}
PTL_BARRIER

int PtlMEUnlink(ptl_handle_me_t me_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::unlink(__func__, "me_handle", me_handle);
}
PTL_BARRIER

int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_search_op_t ptl_search_op, void* user_ptr) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!me) return api::refuse(__func__, {"me", api::kIsNull});
  return api::search({__func__, true, api::kMeOptions}, ni_handle, pt_index, *me, ptl_search_op, user_ptr);
}
PTL_BARRIER

int PtlxMEFind(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me, const ptl_match_bits_t* label,
               ptl_event_t* found) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!me || !found) return api::refuse(__func__, {me ? "found" : "me", api::kIsNull});
  return api::find(__func__, ni_handle, pt_index, *me, label, *found);
}
PTL_BARRIER

}  // extern "C"
