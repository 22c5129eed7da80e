// Parking what passes failures on.
//
// Thread: as domain.hpp says.
#include "engine/goal/domain.hpp"

#include <algorithm>

#include "engine/goal/failure_notice.hpp"

namespace portunus::goal {

namespace {

using client::process;

}  // namespace

Domain::Domain(const Port& port, const GOAL_Group& group, uint16_t context) : port_(port), notice_(failure_notice_of(context)) {
  const auto rank_of = [&](int64_t member) {
    const auto number = static_cast<int>((member % group.size + group.size) % group.size);
    return static_cast<uint32_t>(group.ranks ? group.ranks[number] : number);
  };
  self_ = rank_of(group.rank);
  for (int64_t distance = 1; distance < group.size; distance *= 2)
    for (const int64_t member : {group.rank + distance, group.rank - distance}) neighbours_.push_back(rank_of(member));
  std::ranges::sort(neighbours_);
  neighbours_.erase(std::unique(neighbours_.begin(), neighbours_.end()), neighbours_.end());
  std::erase(neighbours_, self_);
}

int Domain::open() {
  int code = errors_.open(port_.ni());
  if (code == PTL_OK) code = revoked_.open(port_.ni());
  if (code == PTL_OK) code = teller_.bind(port_.ni(), {nullptr, 0, 0, PTL_EQ_NONE, PTL_CT_NONE});
  for (const uint32_t rank : neighbours_)
    if (code == PTL_OK) code = tell(rank, notice_ | kRevoked, revoked_);
  if (code == PTL_OK) code = PtlTriggeredCTInc(errors_, {1, 0}, revoked_, 1);
  for (const uint32_t rank : neighbours_)
    if (code == PTL_OK) code = tell(rank, notice_, errors_);
  for (const ptl_size_t count : kPassedOnAt)
    if (code == PTL_OK) code = tell(self_, notice_, errors_, count);
  if (code == PTL_OK) code = hear(notice_ | kRevoked, revoked_);
  if (code == PTL_OK) code = hear(notice_, errors_);
  for (const uint32_t rank : neighbours_)
    if (code == PTL_OK) code = PtlxCTWatch(errors_, process(rank));
  return code;
}

int Domain::tell(uint32_t rank, uint64_t match_bits, ptl_handle_ct_t when, ptl_size_t count) const {
  return PtlTriggeredPut(teller_, 0, 0, PTL_NO_ACK_REQ, process(rank), port_.index(), match_bits, 0, nullptr, 0, when, count);
}

int Domain::hear(uint64_t match_bits, ptl_handle_ct_t errors) {
  client::MatchEntry entry;
  const int code = entry.append(port_.ni(), port_.index(), failure_notice_entry(match_bits, errors));
  if (code == PTL_OK) entries_.push_back(std::move(entry));
  return code;
}

void Domain::revoke() const { PtlCTInc(revoked_, {1, 0}); }

bool Domain::counted(const client::Counter& counter) {
  const ptl_ct_event_t count = counter.peek();
  return count.success + count.failure > 0;
}

Domain::~Domain() {
  entries_.clear();
  revoked_.close();
  errors_.close();
  ptl_me_t all = failure_notice_entry(notice_, PTL_CT_NONE);
  all.options = PTL_ME_OP_PUT;
  all.ignore_bits = kNoticesOfContext;
  PtlMESearch(port_.ni(), port_.index(), &all, PTL_SEARCH_DELETE, nullptr);
}

}  // namespace portunus::goal
