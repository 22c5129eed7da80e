// The calls of goal_call.h.
//
// Thread: as goal_call.h says.
#include "engine/goal/goal_call.h"

#include "engine/goal/call/team.hpp"
#include "engine/goal/calls.hpp"
#include "engine/goal/library.hpp"

struct goal_team {
  portunus::goal::CallTeam team;
};

using namespace portunus::goal;

namespace {

// Runs f, and explains a failure of the group.
template <class F>
int explained(F&& f) {
  const int code = guarded(f);
  return code == GOAL_ERR_FAILED ? fail(code, "a rank of the group has ended, or does not come; free what belongs to the group") : code;
}

// GOAL_SUCCESS, or what is wrong with the arguments.
int check(GOAL_Team team, const GOAL_Call* call) {
  if (!team || !call) return fail(GOAL_ERR_ARG, "the team or the call is NULL");
  const char* const refusal = team->team.refusal_of(*call);
  return refusal ? fail(GOAL_ERR_ARG, refusal) : int{GOAL_SUCCESS};
}

// Hands out what f has made or started.
template <class F>
int hand_out(GOAL_Team team, const GOAL_Call* call, GOAL_Started* started, F&& f) {
  if (const int code = check(team, call); code != GOAL_SUCCESS) return code;
  if (!started) return fail(GOAL_ERR_ARG, "the place of the result is NULL");
  return explained([&] {
    goal_started& made = *(*started = new goal_started);
    const int code = guarded([&] { return f(made); });  // its user may have freed it by now
    if (code != GOAL_SUCCESS) GOAL_Release(started);
    return code;
  });
}

}  // namespace

extern "C" {

int GOAL_Call_meets(const GOAL_Call* call) { return call && waits_for_all(*call); }

int GOAL_Call_add(GOAL_Schedule schedule, const GOAL_Group* group, const GOAL_Call* call, GOAL_Span* span) {
  if (!schedule || !group || !call) return fail(GOAL_ERR_ARG, "the schedule, the group or the call is NULL");
  return guarded([&] {
    if (const char* const refusal = refusal_of(*call, *group)) return fail(GOAL_ERR_ARG, refusal);
    GOAL_Buffer in = GOAL_User(call->in), out = GOAL_User(call->out);
    if (is_in_place(*call, *group)) (call->kind == GOAL_CALL_SCATTER || call->kind == GOAL_CALL_SCATTERV ? out : in) = GOAL_InPlace();
    return build(schedule, *group, *call, in, out, span);
  });
}

int GOAL_Team_open(const GOAL_Group* group, unsigned context, unsigned options, GOAL_Domain domain,
                   int (*should_abort)(void* arg, int again), void* arg, GOAL_Team* team) {
  if (!group || !team || group->size < 1 || group->rank < 0 || group->rank >= group->size || !Library::context_of(context))
    return fail(GOAL_ERR_ARG, "the group, its context or the place of the result is wrong");
  if (Library::instance().users() == 0) return fail(GOAL_ERR_STATE, "GOAL is not initialised; call GOAL_Init first");
  if (!StartedSchedules::instance().open()) return fail(GOAL_ERR_NO_SPACE, "the process has as many pollers as it can (PtlxPollerAdd)");
  return guarded([&] {
    *team = new goal_team{{*group, context, options, domain, {should_abort, arg}}};
    return int{GOAL_SUCCESS};
  });
}

void GOAL_Team_close(GOAL_Team* team) {
  if (!team) return;
  delete *team;
  *team = nullptr;
}

int GOAL_Team_share(GOAL_Team team) {
  if (!team) return fail(GOAL_ERR_ARG, "the team is NULL");
  return explained([&] { return team->team.share(); });
}

int GOAL_Place_take(GOAL_Team whole, const GOAL_Group* part, uint64_t key) {
  return whole && part ? whole->team.take_place(*part, key) : 0;
}

int GOAL_Place_find(GOAL_Team whole, const GOAL_Group* part, uint64_t key) {
  return whole && part ? whole->team.find_place(*part, key) : 0;
}

void GOAL_Place_leave(GOAL_Team whole, const GOAL_Group* part, int place) {
  if (whole && part) whole->team.leave_place(*part, place);
}

void GOAL_Place_return(GOAL_Team whole, const GOAL_Group* part, int place) {
  if (whole && part) whole->team.return_place(*part, place);
}

int GOAL_Team_lie_at(GOAL_Team part, GOAL_Team whole, int place) {
  if (!part || !whole) return fail(GOAL_ERR_ARG, "a team is NULL");
  return explained([&] { return part->team.lie_at(whole->team, place); });
}

int GOAL_Call_run(GOAL_Team team, const GOAL_Call* call) {
  if (const int code = check(team, call); code != GOAL_SUCCESS) return code;
  return explained([&] { return team->team.run(*call); });
}

int GOAL_Start(GOAL_Team team, const GOAL_Call* call, void (*ended)(void* arg), void* arg, GOAL_Started* started) {
  return hand_out(team, call, started, [&](goal_started& one) {
    one.call = *call;
    one.ended = ended;
    one.arg = arg;
    return team->team.start(*call, one);
  });
}

int GOAL_Make(GOAL_Team team, const GOAL_Call* call, GOAL_Started* started) {
  return hand_out(team, call, started, [&](goal_started& one) {
    one.call = *call;
    return team->team.make(*call, one);
  });
}

int GOAL_Prepare(GOAL_Team team, const GOAL_Call* call, GOAL_Started* started) {
  return hand_out(team, call, started, [&](goal_started& one) {
    one.call = *call;
    return team->team.prepare(*call, one);
  });
}

int GOAL_Make_of(GOAL_Team team, GOAL_Schedule schedule, GOAL_Started* started) {
  if (!team || !schedule || !started) return fail(GOAL_ERR_ARG, "the team, the schedule or the place of the result is NULL");
  if (!schedule->instance) return fail(GOAL_ERR_STATE, "the schedule is not compiled");
  return explained([&] {
    *started = new goal_started;
    (*started)->call = {};
    return team->team.make_of(schedule, **started);
  });
}

int GOAL_Restart(GOAL_Started started, void (*ended)(void* arg), void* arg) {
  if (!started || !(started->execution || started->made)) return fail(GOAL_ERR_ARG, "nothing was made that could be started");
  started->ended = ended;
  started->arg = arg;
  return explained([&] { return started->start(); });
}

int GOAL_Result(GOAL_Started started) {
  if (!started) return fail(GOAL_ERR_ARG, "nothing was started");
  return explained([&] { return started->result(); });
}

int GOAL_Abandon(GOAL_Started started) { return started && started->give_up() ? 1 : 0; }

void GOAL_Release(GOAL_Started* started) {
  if (!started || !*started) return;
  delete *started;
  *started = nullptr;
}

}  // extern "C"
