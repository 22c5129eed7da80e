// The calls of goal_domain.h.
//
// Thread: as goal_domain.h says.
#include "engine/goal/goal_domain.h"

#include <memory>

#include "engine/goal/calls.hpp"
#include "engine/goal/domain.hpp"
#include "engine/goal/library.hpp"

struct goal_domain {
  portunus::goal::Domain domain;
};

using namespace portunus::goal;

extern "C" {

int GOAL_Domain_open(const GOAL_Group* group, unsigned context, GOAL_Domain* domain) try {
  const std::optional<uint16_t> number = Library::context_of(context);
  if (!group || !domain || group->size < 1 || group->rank < 0 || group->rank >= group->size || !number)
    return fail(GOAL_ERR_ARG, "the group, its context or the place of the result is wrong");
  return guarded([&] {
    std::unique_ptr<goal_domain> made(new goal_domain{{Library::instance().port(), *group, *number}});
    if (made->domain.open() != PTL_OK)
      return fail(GOAL_ERR_NO_SPACE, "the network interface has not enough counters or entries left for another domain; free schedules");
    *domain = made.release();
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

void GOAL_Domain_revoke(GOAL_Domain domain) { domain->domain.revoke(); }
int GOAL_Domain_failed(GOAL_Domain domain) try { return domain->domain.failed() ? 1 : 0; }
GOAL_BARRIER
int GOAL_Domain_revoked(GOAL_Domain domain) try { return domain->domain.revoked() ? 1 : 0; }
GOAL_BARRIER

void GOAL_Domain_close(GOAL_Domain* domain) {
  if (!domain) return;
  delete *domain;
  *domain = nullptr;
}

}  // extern "C"
