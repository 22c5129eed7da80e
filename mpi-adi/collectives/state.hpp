// state.hpp: what a communicator remembers for its collectives: the team that does them, what fails together, and the log of calls.
//
// Thread: one at a time per communicator, as MPI demands of collectives.
#pragma once

#include <vector>

#include "engine/goal/goal_call.h"
#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi::collectives {

class State {
 public:
  explicit State(const Communicator& comm);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  CallLog log;
  Packed packed;  // of the blocking call
  // Does the collectives; of an intercommunicator for both groups together. nullptr: there is no memory for it.
  GOAL_Team team() const { return team_; }
  // An intercommunicator's: both groups together.
  const GOAL_Group& group() const { return group_; }
  // The domain that fails together with all schedules of the communicator; or nullptr.
  GOAL_Domain domain() const { return domain_; }

 private:
  std::vector<int> ranks_, nodes_;
  GOAL_Group group_{};
  GOAL_Domain domain_ = nullptr;
  GOAL_Team team_ = nullptr;
};

inline State& state_of(Communicator& comm) {
  if (!comm.collectives) [[unlikely]]
    comm.collectives = new State(comm);
  return *comm.collectives;
}
// Makes what its ranks share for their collectives; waits until all of them call it. False: it cannot be made here, and others wait for
// ever. If one of them has ended, the collectives say so.
bool share_memory(Communicator& comm);
// Whether its ranks' collectives are found not to fit, see CallLog::differs.
bool differ(Communicator& comm);
// Whether the last look found that they do, and all that were asked have answered.
bool all_fit(const Communicator& comm);
// PTL_DEBUG=calls: looks at the last calls of all communicators, at the end of all ranks. MPI_SUCCESS, or the error that was raised.
int compare_all(const char* function);
// Frees what the communicator remembers.
void forget(Communicator& comm);

}  // namespace portunus::mpi::collectives
