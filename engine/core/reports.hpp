// reports.hpp: what users are told: full events, counts, and records in their memory.
//
// Queues and counters are named by handle and looked up when something is reported, so an object that its user has freed
// meanwhile simply takes no more reports. A count ripens the commands that wait for it.
//
// Thread: the baton holder. Callers: whoever moves messages or computes; reports cause nothing but ready commands.
// Invariants: a report is visible only after the data it stands for (release in EventQueue, Counter and the record).
// Source: Portals 4.3, ptl_event_t, counting events; PTLX_ME_RECORD and PTLX_ME_COUNT_MISMATCHES.
#pragma once

#include <atomic>

#include "engine/core/core.hpp"
#include "engine/core/target/delivery.hpp"
#include "engine/core/target/kept_header.hpp"
#include "engine/core/triggered/triggers.hpp"

namespace portunus {

class Reports {
 public:
  Reports(Core& core, Triggers& triggers) : core_(core), triggers_(triggers) {}

  void post(uint32_t eq, const ptl_event_t& event) {
    if (eq == PTL_EQ_NONE) return;
    if (EventQueue* queue = core_.objects.queues.find(eq)) {
      queue->post(event);
      core_.posted = true;
    } else {
      ++core_.stats.stale_events;
    }
  }
  void count(uint32_t ct, uint64_t success, uint64_t failure) {
    if (ct == PTL_CT_NONE) return;
    if (Counter* counter = core_.objects.counters.find(ct)) [[likely]]
      add(*counter, success, failure);
    else ++core_.stats.stale_events;
  }
  void add(Counter& counter, uint64_t success, uint64_t failure) {
    counter.add(success, failure);
    core_.posted = true;
    if (failure && counter.errors) [[unlikely]]
      count_errors(counter.errors, failure);
    triggers_.ripen(counter);
  }
  void set(Counter& counter, ptl_ct_event_t value) {
    counter.set(value);
    core_.posted = true;
    triggers_.ripen(counter);
  }

  // LINK, AUTO_UNLINK, AUTO_FREE: about an entry rather than a message.
  void entry_event(const ListEntry& entry, ptl_event_kind_t type);
  // The communication event of a message at its target, and the counts that go with it.
  void delivered(const Delivery& delivery, ptl_ni_fail_t fail);
  // *_OVERFLOW and SEARCH: about a header kept earlier, to whoever consumed or looked for it.
  void overflow(const KeptHeader& kept, uint32_t eq, void* user_ptr, ptl_event_kind_t type);
  // Counts a consumed or deleted header: its message, or that this never came whole.
  void count_overflow(const KeptHeader& kept, const ListEntry& entry);
  // SEARCH that found nothing.
  void nothing_found(uint32_t eq, uint32_t pt_index, void* user_ptr);
  // The events of these two, without the user pointer, for who answers at once.
  ptl_event_t header_event(const KeptHeader& kept, ptl_event_kind_t type);
  static ptl_event_t nothing_event(uint32_t pt_index);
  // The source of a message is free again, or (fail) never was sent.
  void sent(const Local& local, uint64_t length, void* user_ptr, ptl_ni_fail_t fail) {
    const bool counted = local.options & PTL_MD_EVENT_CT_SEND;
    if (counted || (local.eq != PTL_EQ_NONE && !(local.options & PTL_MD_EVENT_SEND_DISABLE))) tell_sent(local, length, user_ptr, fail);
  }

  // The body of delivered(), of which Target::put_at_once knows a part when it is compiled.
  struct Delivered {
    const wire::Header& header;
    const ListEntry& entry;
    uint32_t options;  // the entry's
    uint64_t source;   // as match lists keep it, a rank or a packed nid and pid
    void* start;
    uint64_t mlength;
    ptl_uid_t uid;
    ptl_event_kind_t type;
    bool early;
    ptl_ni_fail_t fail;
  };
  // `queue`: of the entry's portal; nullptr: it has none, or it was freed.
  [[gnu::always_inline]] inline void tell_delivered(const Delivered& what, EventQueue* queue) {
    const ListEntry& entry = what.entry;
    Interface& ni = core_.interface_of(entry);
    if (what.options & PTL_ME_EVENT_CT_COMM) {
      note_length(entry, what.header.rlength);
      if (what.fail != PTL_NI_OK) count(entry.ct, 0, 1);
      else count(entry.ct, what.options & PTL_ME_EVENT_CT_BYTES ? what.mlength : 1, 0);
    }
    if (what.options & PTLX_ME_RECORD) {
      write_record(ni, entry, what.header, what.source, what.mlength, what.early, what.fail);
      return;
    }
    if (what.options & PTL_ME_EVENT_COMM_DISABLE) return;
    if (what.fail == PTL_NI_OK && (what.options & PTL_ME_EVENT_SUCCESS_DISABLE)) return;
    if (!queue) return note_stale(entry);
    ptl_event_t event = arrival_event(ni, what.header, what.source, what.start, what.mlength);
    event.user_ptr = entry.user_ptr;
    event.uid = what.uid;
    event.type = what.type;
    event.ptl_list = what.early ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST;
    event.ni_fail_type = what.fail;
    queue->post(event);
  }

  // Counts a message whose length is not the entry's (PTLX_ME_COUNT_MISMATCHES), before it is counted itself.
  static void note_length(const ListEntry& entry, uint64_t rlength) {
    if (!(entry.options & PTLX_ME_COUNT_MISMATCHES) || rlength == entry.length) [[likely]]
      return;
    // The baton holder is its only writer.
    const std::atomic_ref<uint64_t> mismatches(*static_cast<uint64_t*>(entry.user_ptr));
    mismatches.store(mismatches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Writes what the event would tell to where the user wants it (PTLX_ME_RECORD). The state is released for readers of the record, and then
  // the number of records for those who wait.
  [[gnu::always_inline]] static void write_record(Interface& ni, const ListEntry& entry, const wire::Header& header, uint64_t source,
                                                  uint64_t mlength, bool early, ptl_ni_fail_t fail) {
    auto& record = *static_cast<ptlx_record_t*>(entry.user_ptr);
    record.ni_fail_type = fail;
    record.match_bits = header.match_bits;
    record.mlength = mlength;
    record.rlength = header.rlength;
    if (entry.options & PTLX_ME_RECORD_SENDER) {
      auto& more = *static_cast<ptlx_sender_record_t*>(entry.user_ptr);
      more.initiator = initiator_of(ni, source);
      more.hdr_data = header.hdr_data;
      more.ptl_list = early ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST;
    }
    if (entry.options & PTLX_ME_RECORD_HEADER) *reinterpret_cast<uint64_t*>(entry.min_free) = header.hdr_data;
    std::atomic_ref<uint32_t>(record.state).store(PTLX_RECORDED, std::memory_order_release);
    ni.recorded.store(ni.recorded.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // `source`: as match lists keep it, a rank or a packed nid and pid. Type, list, user pointer, uid and fail type are the
  // caller's business. Inline, so that the event never lies in memory before it lies in a queue.
  [[gnu::always_inline]] static ptl_event_t arrival_event(const Interface& ni, const wire::Header& header, uint64_t source, void* start,
                                                          uint64_t mlength) {
    ptl_event_t event{};
    event.start = start;
    event.hdr_data = header.hdr_data;
    event.match_bits = header.match_bits;
    event.rlength = header.rlength;
    event.mlength = mlength;
    event.remote_offset = header.remote_offset;
    event.initiator = initiator_of(ni, source);
    event.pt_index = header.pt_index;
    event.atomic_operation = header.op;
    event.atomic_type = header.datatype;
    return event;
  }

 private:
  static ptl_process_t initiator_of(const Interface& ni, uint64_t source) {
    ptl_process_t id;
    if (ni.logical()) {
      id.phys = {0, 0};
      id.rank = static_cast<ptl_rank_t>(source);
    } else {
      id.phys = {static_cast<ptl_nid_t>(source >> 32), static_cast<ptl_pid_t>(source)};
    }
    return id;
  }
  void count_errors(uint32_t errors, uint64_t failure);
  // An event is lost if the portal still names the queue, which its user has freed.
  void note_stale(const ListEntry& entry) {
    const PortalEntry* portal = core_.portal_of(entry);
    if (portal && portal->eq != PTL_EQ_NONE) ++core_.stats.stale_events;
  }
  void tell_sent(const Local& local, uint64_t length, void* user_ptr, ptl_ni_fail_t fail);

  Core& core_;
  Triggers& triggers_;
};

}  // namespace portunus
