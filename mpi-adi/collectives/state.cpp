// state.cpp: opening and closing what a communicator's collectives need.
#include "mpi-adi/collectives/state.hpp"

#include <new>

#include "mpi-adi/collectives/inter.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"

namespace portunus::mpi::collectives {

State::State(const Communicator& comm) : log(comm) {
  static_assert(client::kFirstCommunicatorContext + kMaxCommunicators <= client::kFirstCommunicatorsProgramContext);
  const unsigned context = client::kFirstCommunicatorContext + comm.context / kContextsPerCommunicator;
  int rank = comm.rank;
  const auto add = [&](const Group& members) {
    for (int i = 0; i < members.size; ++i) ranks_.push_back(members.job_rank(i));
  };
  if (comm.inter) {
    rank += inter::own_base(comm);
    const bool first = inter::own_base(comm) == 0;
    add(first ? *comm.group : *comm.remote_group);
    add(first ? *comm.remote_group : *comm.group);
  } else {
    add(*comm.group);
  }
  nodes_ = nodes_of(ranks_);
  group_ = {rank, static_cast<int>(ranks_.size()), ranks_.data(), nodes_.data(), 0, GOAL_AUTO};
  GOAL_Domain_open(&group_, context, &domain_);  // without memory for it: each schedule fails alone
  const auto differs = [](void* its_log, int again) -> int { return static_cast<CallLog*>(its_log)->overdue(again != 0); };
  const unsigned options = GOAL_TEAM_CHECKED | (comm.inter || debug.no_node_collectives ? GOAL_TEAM_NO_MEMORY : 0);
  int code = GOAL_Team_open(&group_, context, options, domain_, differs, &log, &team_);
  if (code == GOAL_SUCCESS && comm.place != 0) code = GOAL_Team_lie_at(team_, world().collectives->team(), comm.place);
  if (code == GOAL_SUCCESS) return;
  GOAL_Team_close(&team_);
  GOAL_Domain_close(&domain_);
  throw std::bad_alloc();
}

State::~State() {
  GOAL_Team_close(&team_);
  GOAL_Domain_close(&domain_);
}

bool share_memory(Communicator& comm) {
  if (comm.size < 2) return true;
  const GOAL_Team team = state_of(comm).team();
  if (team == nullptr) return false;
  const int code = GOAL_Team_share(team);
  if (code != GOAL_ERR_FAILED) return code == GOAL_SUCCESS;
  for (int i = 0; i < comm.size; ++i)
    if (!device::reachable(comm.job_rank(i))) return true;
  return false;  // it is this rank that cannot reach others, for want of memory
}

bool differ(Communicator& comm) { return comm.collectives && comm.collectives->log.differs(); }

bool all_fit(const Communicator& comm) { return !comm.collectives || comm.collectives->log.all_fit(); }

int compare_all(const char* function) {
  int error = MPI_SUCCESS;
  communicators.for_each([&](Communicator& comm) {
    if (error == MPI_SUCCESS && comm.collectives && comm.collectives->log.differs_at_the_end())
      error = raise_goal(function, comm, kDisagreement);
  });
  return error;
}

void forget(Communicator& comm) {
  delete comm.collectives;
  comm.collectives = nullptr;
}

}  // namespace portunus::mpi::collectives
