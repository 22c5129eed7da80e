// goal_group.cpp: the call of mpi-goal.h.
#include "engine/client/numbers.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/mpi-goal.h"

using namespace portunus;
using namespace portunus::mpi;

extern "C" int PMPIX_Comm_goal_group(MPI_Comm comm, GOAL_Group* group, unsigned* context) try {
  static constexpr char kName[] = "MPIX_Comm_goal_group";
  Communicator* found;
  if (int error = check(kName, comm, found, {})) return error;
  if (found->inter) return raise(kName, found, MPI_ERR_COMM, "an intercommunicator has two groups; merge it first (MPI_Intercomm_merge)");
  static_assert(client::kFirstCommunicatorsProgramContext + kMaxCommunicators <= client::kGoalContexts);
  if (group != nullptr) *group = collectives::state_of(*found).group();
  if (context != nullptr) *context = client::kFirstCommunicatorsProgramContext + found->context / kContextsPerCommunicator;
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_goal_group)
