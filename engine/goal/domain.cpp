// Parking what passes failures on, and the calls of goal_domain.h.
//
// Thread: as domain.hpp says.
#include "engine/goal/domain.hpp"

#include <algorithm>

#include "engine/goal/calls.hpp"
#include "engine/goal/goal_domain.h"
#include "engine/goal/library.hpp"
#include "engine/goal/poison.hpp"

namespace portunus::goal {

namespace {

ptl_process_t process(uint32_t rank) {
  ptl_process_t id{};
  id.rank = rank;
  return id;
}

}  // namespace

Domain::Domain(const Port& port, const GOAL_Group& group, uint16_t context) : port_(port), poison_(poison_of(context)) {
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
  for (ptl_handle_ct_t* counter : {&errors_, &revoked_})
    if (const int code = PtlCTAlloc(port_.ni(), counter); code != PTL_OK) return code;
  ptl_md_t nothing{};
  nothing.eq_handle = PTL_EQ_NONE;
  nothing.ct_handle = PTL_CT_NONE;
  int code = PtlMDBind(port_.ni(), &nothing, &teller_);
  for (const uint32_t rank : neighbours_)
    if (code == PTL_OK) code = tell(rank, poison_ | kRevoked, revoked_);
  if (code == PTL_OK) code = PtlTriggeredCTInc(errors_, {1, 0}, revoked_, 1);
  for (const uint32_t rank : neighbours_)
    if (code == PTL_OK) code = tell(rank, poison_, errors_);
  if (code == PTL_OK) code = tell(self_, poison_, errors_);
  if (code == PTL_OK) code = hear(poison_ | kRevoked, revoked_);
  if (code == PTL_OK) code = hear(poison_, errors_);
  for (const uint32_t rank : neighbours_)
    if (code == PTL_OK) code = PtlxCTWatch(errors_, process(rank));
  return code;
}

int Domain::tell(uint32_t rank, uint64_t match_bits, ptl_handle_ct_t when) const {
  return PtlTriggeredPut(teller_, 0, 0, PTL_NO_ACK_REQ, process(rank), port_.index(), match_bits, 0, nullptr, 0, when, 1);
}

int Domain::hear(uint64_t match_bits, ptl_handle_ct_t errors) {
  const ptl_me_t me = poison_entry(match_bits, errors);
  ptl_handle_me_t handle;
  const int code = PtlMEAppend(port_.ni(), port_.index(), &me, PTL_PRIORITY_LIST, nullptr, &handle);
  if (code == PTL_OK) entries_.push_back(handle);
  return code;
}

void Domain::revoke() const { PtlCTInc(revoked_, {1, 0}); }

bool Domain::counted(ptl_handle_ct_t counter) {
  ptl_ct_event_t count;
  return PtlCTGet(counter, &count) != PTL_OK || count.success + count.failure > 0;
}

Domain::~Domain() {
  for (const ptl_handle_me_t entry : entries_) take_out(entry);
  for (const ptl_handle_ct_t counter : {revoked_, errors_})
    if (counter != PTL_CT_NONE) PtlCTFree(counter);
  if (teller_ != PTL_INVALID_HANDLE) PtlMDRelease(teller_);
  ptl_me_t all = poison_entry(poison_, PTL_CT_NONE);
  all.options = PTL_ME_OP_PUT;
  all.ignore_bits = kPoisonOfContext;
  PtlMESearch(port_.ni(), port_.index(), &all, PTL_SEARCH_DELETE, nullptr);
}

}  // namespace portunus::goal

struct goal_domain {
  portunus::goal::Domain domain;
};

using namespace portunus::goal;

extern "C" {

int GOAL_Domain_open(const GOAL_Group* group, unsigned context, GOAL_Domain* domain) {
  if (!group || !domain || group->size < 1 || group->rank < 0 || group->rank >= group->size || context >= Library::kContexts)
    return fail(GOAL_ERR_ARG, "the group, its context or the place of the result is wrong");
  return guarded([&] {
    const auto context16 = static_cast<uint16_t>(Library::kContexts + context);
    std::unique_ptr<goal_domain> made(new goal_domain{{Library::instance().port(), *group, context16}});
    if (made->domain.open() != PTL_OK)
      return fail(GOAL_ERR_NO_SPACE, "the network interface has not enough counters or entries left for another domain; free schedules");
    *domain = made.release();
    return int{GOAL_SUCCESS};
  });
}

void GOAL_Domain_revoke(GOAL_Domain domain) { domain->domain.revoke(); }
int GOAL_Domain_failed(GOAL_Domain domain) { return domain->domain.failed() ? 1 : 0; }
int GOAL_Domain_revoked(GOAL_Domain domain) { return domain->domain.revoked() ? 1 : 0; }

void GOAL_Domain_close(GOAL_Domain* domain) {
  if (!domain) return;
  delete *domain;
  *domain = nullptr;
}

}  // extern "C"
