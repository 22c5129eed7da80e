// Making and mapping: see shared_memory.hpp.
//
// Thread: as shared_memory.hpp says.
#include "engine/goal/node/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace portunus::goal::node {

namespace {

void write_name(char (&name)[64], const Record& maker) {
  std::snprintf(name, sizeof name, "/portunus-goal-%" PRIu64 "-%016" PRIx64, maker.maker, maker.nonce);
}

// -1: there is no room.
int create(const char* name, size_t bytes) {
  const int descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor < 0 || posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0) return descriptor;
  close(descriptor);
  shm_unlink(name);
  return -1;
}

}  // namespace

Agreement::Agreement(const GOAL_Group& group, unsigned context, const AbortPredicate& abort)
    : all(static_cast<size_t>(group.size)), abort_(abort), group_(group), context_(context) {}

Agreement::~Agreement() {
  if (schedule_ != nullptr) GOAL_Free(&schedule_);
}

bool Agreement::all_well() const {
  return std::ranges::all_of(all, [](const Record& one) { return one.well != 0; });
}

int Agreement::tell(const Record& mine) {
  mine_ = mine;
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

SharedMemory::~SharedMemory() { drop(); }

void SharedMemory::drop() {
  if (start_ != nullptr) munmap(std::exchange(start_, nullptr), bytes_);
}

int SharedMemory::make(Agreement& agreement, const GOAL_Group& group, size_t each, bool may) {
  each_ = each;
  bytes_ = each * static_cast<size_t>(group.size);
  const bool makes = group.rank == 0;
  Record mine{.well = may, .maker = static_cast<uint64_t>(getpid())};
  char name[64];
  int descriptor = -1;
  if (makes && may) {
    mine.well = getrandom(&mine.nonce, sizeof mine.nonce, 0) == sizeof mine.nonce;
    write_name(name, mine);
    if (mine.well) descriptor = create(name, bytes_);
    mine.well = descriptor >= 0;
  }
  int code = agreement.tell(mine);
  const bool there = code == GOAL_SUCCESS && agreement.all_well();
  if (there && !makes) {
    write_name(name, agreement.all[0]);
    descriptor = shm_open(name, O_RDWR, 0);
  }
  if (descriptor >= 0) {
    void* start = there ? mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0) : MAP_FAILED;
    if (start != MAP_FAILED) start_ = static_cast<std::byte*>(start);
    close(descriptor);
  }
  mine.well = made();
  if (there) code = agreement.tell(mine);
  if (makes && descriptor >= 0) shm_unlink(name);
  if (code != GOAL_SUCCESS || !there || !agreement.all_well()) drop();
  return code;
}

}  // namespace portunus::goal::node
