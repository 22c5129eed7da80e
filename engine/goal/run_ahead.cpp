// run_ahead.cpp: notices of runs that ended, and runs that wait for them.
#include "engine/goal/run_ahead.hpp"

#include <algorithm>

namespace portunus::goal {

namespace {

constexpr unsigned kClassShift = 60;
constexpr uint64_t kMostEager = 64 << 10;  // of longer messages the header comes alone
constexpr uint64_t kHeader = 384;          // what a message occupies beside its data, at most

constexpr uint64_t notice_of(uint16_t context) { return kRunsEnded | uint64_t{context} << kContextShift; }

}  // namespace

std::vector<Traffic> traffic_of(const Program& program, Action action, uint32_t self) {
  std::vector<Traffic> all;
  for (const auto* operations : {&program.early, &program.triggered})
    for (const Operation& operation : *operations) {
      if (operation.action != action || operation.match_bits >> kClassShift != 1 || operation.peer == self) continue;
      all.push_back({operation.peer, 1, std::min(operation.size, kMostEager) + kHeader});
    }
  std::ranges::stable_sort(all, {}, &Traffic::peer);
  std::vector<Traffic> by_peer;
  for (const Traffic& message : all) {
    if (by_peer.empty() || by_peer.back().peer != message.peer) by_peer.push_back({message.peer});
    by_peer.back().messages += message.messages;
    by_peer.back().bytes += message.bytes;
  }
  return by_peer;
}

int NoticeCount::open(ptl_handle_ni_t ni, ptl_pt_index_t index, uint16_t context, uint32_t peer) {
  if (const int code = notices_.open(ni); code != PTL_OK) return code;
  ptl_me_t entry = client::entry_of(nullptr, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | client::kQuiet, notice_of(context), notices_);
  entry.match_id = client::process(peer);
  return entry_.append(ni, index, entry);
}

// One that came for runs before the first that was counted would make all later ones seem to come early.
uint64_t NoticeCount::expect(uint64_t missing) {
  expected_ = std::max(expected_, seen()) + 1;
  return expected_ - std::min(expected_, missing);
}

int SharedCounts::find(ptl_handle_ni_t ni, ptl_pt_index_t index, uint16_t context, uint32_t peer, std::shared_ptr<NoticeCount>& count) {
  const Key key{context, peer};
  if (const auto known = counts_.find(key); known != counts_.end())
    if ((count = known->second.lock())) return PTL_OK;
  std::erase_if(counts_, [](const auto& each) { return each.second.expired(); });
  auto made = std::make_shared<NoticeCount>();
  if (const int code = made->open(ni, index, context, peer); code != PTL_OK) return code;
  counts_[key] = made;
  count = std::move(made);
  return PTL_OK;
}

// A copy that counts on keeps what others before it have counted; another program counts when it has run so often that it matters.
int RunAhead::load(const Place& place) {
  ptl_process_t self{};
  if (const int code = PtlGetId(place.ni, &self); code != PTL_OK) return code;
  for (const Traffic& to : traffic_of(place.program, Action::put, self.rank)) {
    const uint64_t runs = runs_a_notice(to.messages);
    receivers_.push_back({to.peer, runs, most_missing(to.bytes, runs, most_), nullptr});
    next_ = std::min(next_, begin_of(counts_on_ || runs == 1 ? 0 : 1, runs));
  }
  if (counts_on_)
    if (const int code = find_counts(place, [](const Receiver&) { return true; }); code != PTL_OK) return code;
  for (const Traffic& from : traffic_of(place.program, Action::append, self.rank))
    if (const int code = tell(place, from.peer, runs_a_notice(from.messages)); code != PTL_OK) return code;
  return PTL_OK;
}

template <class Which>
int RunAhead::find_counts(const Place& place, Which&& which) {
  const std::lock_guard lock(place.counts.guard);
  for (Receiver& to : receivers_)
    if (!to.count && which(to))
      if (const int code = place.counts.find(place.ni, place.index, place.program.context, to.peer, to.count); code != PTL_OK) return code;
  return PTL_OK;
}

int RunAhead::tell(const Place& place, uint32_t peer, uint64_t runs) const {
  const uint32_t each = place.program.increments[kFinish];
  if (const int code = PtlxCTRepeat(place.finish, runs * each, 0); code != PTL_OK) return code;
  const int code = PtlTriggeredPut(place.nothing, 0, 0, PTL_NO_ACK_REQ, client::process(peer), place.index,
                                   notice_of(place.program.context), 0, nullptr, 0, place.finish, (end_of(0, runs) + 1) * each);
  const int restored = PtlxCTRepeat(place.finish, each, uint64_t{0xff} << kEpochShift);
  return code != PTL_OK ? code : restored;
}

// A run for whose wait there is no room does not wait.
int RunAhead::begin(const Place& place, uint64_t run, ptl_handle_ct_t& behind, ptl_size_t& threshold) {
  if (!met_.is_open())
    if (const int code = met_.open(place.ni); code != PTL_OK) return code;
  const auto begins = [&](const Receiver& to) { return begin_of(run, to.runs) == run; };
  if (const int code = find_counts(place, begins); code != PTL_OK) return code;
  const std::lock_guard lock(place.counts.guard);
  next_ = UINT64_MAX;
  for (const Receiver& to : receivers_) {
    next_ = std::min(next_, begin_of(run + 1, to.runs));
    if (!begins(to)) continue;
    const uint64_t needed = to.count->expect(to.missing);
    if (to.count->seen() >= needed || PtlTriggeredCTInc(met_, {1, 0}, to.count->counter(), needed) != PTL_OK) continue;
    behind = met_;
    threshold = ++conditions_;
  }
  return PTL_OK;
}

void RunAhead::cancel() {
  if (met_.is_open()) PtlCTCancelTriggered(met_);
}

}  // namespace portunus::goal
