// Timing a message to the next node: see wire_probe.hpp.
//
// Thread: as wire_probe.hpp says. Everything goes through the Portals API.
#include "engine/goal/wire_probe.hpp"

#include <chrono>

#include "engine/goal/program.hpp"

namespace portunus::goal {

namespace {

constexpr ptl_pt_index_t kPortal = 49;  // the same in all processes, and none that other layers use
constexpr ptl_time_t kPatienceMs = 10'000;
constexpr int kTries = 3;  // a busy processor makes a wire seem slow, nothing makes it seem fast

}  // namespace

int WireProbe::open(ptl_handle_ni_t ni) {
  ni_ = ni;
  memory_.resize(2 * kBytes);
  ptl_pt_index_t portal;
  int code = PtlPTAlloc(ni, 0, PTL_EQ_NONE, kPortal, &portal);
  has_portal_ = code == PTL_OK;
  if (code == PTL_OK) code = PtlCTAlloc(ni, &ended_);
  if (code == PTL_OK) code = PtlCTAlloc(ni, &acknowledged_);
  if (code == PTL_OK) {
    ptl_md_t all{};
    all.start = memory_.data();
    all.length = kBytes;
    all.options = PTL_MD_EVENT_CT_ACK;
    all.eq_handle = PTL_EQ_NONE;
    all.ct_handle = acknowledged_;
    code = PtlMDBind(ni, &all, &source_);
  }
  for (const Kind kind : {data, end}) {
    if (code != PTL_OK) break;
    ptl_me_t entry{};
    entry.start = memory_.data() + kBytes;
    entry.length = kind == data ? kBytes : 0;
    entry.ct_handle = kind == end ? ended_ : PTL_CT_NONE;
    entry.uid = PTL_UID_ANY;
    entry.options = PTL_ME_OP_PUT | (kind == end ? PTL_ME_EVENT_CT_COMM : 0);
    entry.match_id.rank = PTL_RANK_ANY;
    entry.match_bits = kind;
    code = PtlMEAppend(ni, kPortal, &entry, PTL_PRIORITY_LIST, nullptr, &entries_[kind]);
  }
  return code;
}

// Not for ever: whoever it is waited for may have ended.
bool WireProbe::wait(ptl_handle_ct_t counter, ptl_size_t count) {
  ptl_ct_event_t event{};
  unsigned which;
  return counter != PTL_INVALID_HANDLE && PtlCTPoll(&counter, &count, 1, kPatienceMs, &event, &which) == PTL_OK && event.failure == 0;
}

bool WireProbe::is_slow(ptl_rank_t next) {
  ptl_process_t to{};
  to.rank = next;
  ptl_size_t sent = 0;
  bool answered = source_ != PTL_INVALID_HANDLE;
  const auto send = [&](size_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    answered =
        answered && PtlPut(source_, 0, bytes, PTL_CT_ACK_REQ, to, kPortal, data, 0, nullptr, 0) == PTL_OK && wait(acknowledged_, ++sent);
    return std::chrono::steady_clock::now() - begin;
  };
  send(0);  // opens the way
  bool slow = true;
  for (int i = 0; i < kTries && answered && slow; ++i) slow = send(kBytes) > std::chrono::nanoseconds(kSlowNs);
  // The peer before us may not be through, and needs somebody here who answers.
  if (source_ != PTL_INVALID_HANDLE) PtlPut(source_, 0, 0, PTL_NO_ACK_REQ, to, kPortal, end, 0, nullptr, 0);
  wait(ended_, 1);
  return slow && answered;
}

void WireProbe::close() {
  if (ni_ == PTL_INVALID_HANDLE) return;
  for (const ptl_handle_me_t entry : entries_)
    if (entry != PTL_INVALID_HANDLE) take_out(entry);
  if (source_ != PTL_INVALID_HANDLE) PtlMDRelease(source_);
  for (const ptl_handle_ct_t counter : {ended_, acknowledged_})
    if (counter != PTL_INVALID_HANDLE) PtlCTFree(counter);
  if (has_portal_) PtlPTFree(ni_, kPortal);
  ni_ = PTL_INVALID_HANDLE;
}

}  // namespace portunus::goal
