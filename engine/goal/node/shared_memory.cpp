// Making and mapping: see shared_memory.hpp.
//
// Thread: as shared_memory.hpp says.
#include "engine/goal/node/shared_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace portunus::goal::node {

Agreement::Agreement(const GOAL_Group& group, unsigned context, const AbortPredicate& abort, Through through)
    : all(static_cast<size_t>(group.size)), abort_(abort), group_(group), context_(context), through_(std::move(through)) {}

Agreement::~Agreement() {
  if (schedule_ != nullptr) GOAL_Free(&schedule_);
}

bool Agreement::all_well() const {
  return std::ranges::all_of(all, [](const Record& one) { return one.well != 0; });
}

int Agreement::tell(const Record& mine) {
  mine_ = mine;
  if (through_) return through_(mine_, all);
  if (schedule_ == nullptr) {
    int code = GOAL_Create(&schedule_);
    if (code == GOAL_SUCCESS) code = GOAL_Allgather(&schedule_, &group_, GOAL_User(&mine_), GOAL_User(all.data()), sizeof(Record), nullptr);
    if (code == GOAL_SUCCESS) code = GOAL_Context(schedule_, context_);
    if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule_);
    if (code != GOAL_SUCCESS) return code;
  }
  GOAL_Request run = GOAL_REQUEST_NULL;
  int code = GOAL_Run(schedule_, &run);
  if (code == GOAL_SUCCESS) code = await_end(schedule_, ++runs_, abort_);
  if (code == GOAL_SUCCESS) code = GOAL_Wait(&run);
  if (run != GOAL_REQUEST_NULL && code != GOAL_SUCCESS) GOAL_Cancel(&run);
  return code;
}

int SharedMemory::make(Agreement& agreement, const GOAL_Group& group, size_t each, bool may, size_t later) {
  const size_t bytes = each * static_cast<size_t>(group.size);
  const bool makes = group.rank == 0;
  Record mine{.well = makes && may ? memory_.make(bytes, 1, later) : may, .process = getpid()};
  mine.memory = memory_.number();
  int code = agreement.tell(mine);
  const bool there = code == GOAL_SUCCESS && agreement.all_well();
  if (there && !makes) memory_.join(agreement.all[0].memory, bytes, 1, later);
  mine.well = memory_.is_mapped();
  if (there) code = agreement.tell(mine);
  memory_.forget_name();
  if (code != GOAL_SUCCESS || !there || !agreement.all_well()) memory_.drop();
  lie_at(memory_.start(), each);
  return code;
}

}  // namespace portunus::goal::node
