// group.cpp: groups as objects.
#include "mpi-adi/comm/group.hpp"

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/objects.hpp"

namespace portunus::mpi {

constinit int own_job_rank = 0;

namespace {
constinit ObjectPool<Group, 1 << 18> groups;
Group empty_group;
}  // namespace

int Group::member(int job_rank) const {
  if (ranks.empty()) return job_rank >= first && job_rank - first < size ? job_rank - first : MPI_UNDEFINED;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] == job_rank) return static_cast<int>(i);
  return MPI_UNDEFINED;
}

Group* find_group(MPI_Group handle) {
  if (predefined_count == 0) return nullptr;
  return handle == MPI_GROUP_EMPTY ? &empty_group : groups.find(handle);
}
MPI_Group handle_of(const Group* group) {
  return group == &empty_group ? MPI_GROUP_EMPTY : reinterpret_cast<MPI_Group>(const_cast<Group*>(group));
}

Group* make_group(std::vector<int> job_ranks) {
  if (job_ranks.empty()) return &empty_group;
  Group* made = groups.claim();
  if (made == nullptr) return nullptr;
  made->size = static_cast<int>(job_ranks.size());
  made->first = job_ranks[0];
  bool consecutive = true;
  for (size_t i = 1; i < job_ranks.size(); ++i) consecutive = consecutive && job_ranks[i] == job_ranks[i - 1] + 1;
  if (!consecutive) made->ranks = std::move(job_ranks);
  made->rank = made->member(own_job_rank);
  return made;
}

Group* make_group(int first, int size) {
  if (size == 0) return &empty_group;
  Group* made = groups.claim();
  if (made == nullptr) return nullptr;
  made->size = size;
  made->first = first;
  made->rank = made->member(own_job_rank);
  return made;
}

void for_each_group(const std::function<void(const Group&)>& action) { groups.for_each(action); }

Group* retain(Group* group) {
  group->references.fetch_add(1, std::memory_order_relaxed);
  return group;
}
void release(Group* group) {
  if (group == nullptr || group == &empty_group) return;
  if (group->references.fetch_sub(1, std::memory_order_acq_rel) == 1) groups.release(group);
}

}  // namespace portunus::mpi
