// The calls of goal_node.h.
//
// Thread: as goal_node.h says.
#include "engine/goal/goal_node.h"

#include "engine/goal/calls.hpp"
#include "engine/goal/library.hpp"
#include "engine/goal/node/collectives.hpp"
#include "engine/goal/node/waiting.hpp"

struct goal_node {
  portunus::goal::node::Collectives collectives;
};

using namespace portunus::goal;

namespace {

constexpr const char* kLost = "a rank of the group has ended, or does not come; free what belongs to the group";

}  // namespace

extern "C" {

int GOAL_Node_open(const GOAL_Group* group, unsigned context, GOAL_Domain domain, int (*hopeless)(void* arg), void* arg, GOAL_Node* node) {
  if (!group || !node || group->size < 1 || group->rank < 0 || group->rank >= group->size || context >= Library::kContexts)
    return fail(GOAL_ERR_ARG, "the group, its context or the place of the result is wrong");
  return guarded([&] {
    *node = new goal_node{{*group, context, domain, {hopeless, arg}}};
    return int{GOAL_SUCCESS};
  });
}

int GOAL_Node_run(GOAL_Node node, const GOAL_Node_call* call) {
  const int code = node->collectives.run(*call);
  return code == GOAL_ERR_FAILED ? fail(code, kLost) : code;
}

int GOAL_Node_start(GOAL_Node node, const GOAL_Node_call* call, void (*ended)(void* arg), void* arg, GOAL_Node_request* request) {
  return guarded([&] {
    const int code = node->collectives.start(*call, ended, arg, *request);
    return code == GOAL_ERR_FAILED ? fail(code, kLost) : code;
  });
}

int GOAL_Node_finish(GOAL_Node_request* request) {
  goal_node_run* const run = *request;
  *request = nullptr;
  int code = GOAL_ERR_FAILED;
  {
    const std::lock_guard held(node::UnderWay::instance().lock);
    if (run->owner != nullptr) run->owner->remove(*run);
    else code = run->code;
  }
  delete run;
  return code == GOAL_ERR_FAILED ? fail(code, kLost) : code;
}

void GOAL_Node_close(GOAL_Node* node) {
  if (!node) return;
  delete *node;
  *node = nullptr;
}

}  // extern "C"
