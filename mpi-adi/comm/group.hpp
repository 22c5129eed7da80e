// group.hpp: groups: ordered sets of processes, each named by its rank in the job.
//
// Thread: a group is constant from its making on; any thread may use it.
// Invariants: it lives as long as somebody holds it: users by handle, communicators and windows by retain().
// Source: MPI-5.0, 7.3.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

extern constinit int own_job_rank;
class MessageBuffer;

struct Group {
  int size = 0;
  int rank = MPI_UNDEFINED;  // of this process
  int first = 0;             // without `ranks`, the members are the `size` ranks of the job from this one on
  std::vector<int> ranks;
  std::shared_ptr<MessageBuffer> session_buffer;  // of the session that it comes from, if it does
  std::atomic<int> references{1};

  int job_rank(int member) const { return ranks.empty() ? first + member : ranks[static_cast<size_t>(member)]; }
  // MPI_UNDEFINED: that process is no member. Costs O(size), O(1) for groups of consecutive ranks.
  int member(int job_rank) const;
};

// nullptr: no such group. The empty group is a constant object.
Group* find_group(MPI_Group handle);
MPI_Group handle_of(const Group* group);

// MPI_IDENT: the same members in the same order; MPI_SIMILAR: in another; else MPI_UNEQUAL.
int compare(const Group& one, const Group& other);

// Both keep one reference for the caller. nullptr: too many groups are in use. Consecutive ranks are recognized.
Group* make_group(std::vector<int> job_ranks);
Group* make_group(int first, int size);
Group* retain(Group* group);
void release(Group* group);
// Not the empty one.
void for_each_group(const std::function<void(const Group&)>& action);

}  // namespace portunus::mpi
