// members.cpp: see members.hpp.
#include "mpi-adi/comm/members.hpp"

#include <utility>

#include "mpi-adi/comm/group.hpp"
#include "mpi-adi/comm/processes.hpp"

namespace portunus::mpi {

std::vector<int> members_of(const Communicator& comm) {
  const Group* first = comm.group;
  const Group* second = comm.inter ? comm.remote_group : nullptr;
  if (second != nullptr && identity_of(second->job_rank(0)) < identity_of(first->job_rank(0))) std::swap(first, second);
  std::vector<int> members;
  for (const Group* side : {first, second})
    for (int i = 0; side != nullptr && i < side->size; ++i) members.push_back(side->job_rank(i));
  return members;
}

}  // namespace portunus::mpi
