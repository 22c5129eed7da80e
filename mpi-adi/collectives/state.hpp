// state.hpp: what a communicator remembers for its collectives: the group as GOAL sees it, which numbers keep the messages of
// its schedules apart, and the schedules that stay.
//
// All schedules of a communicator have a GOAL context of its own; their tags are
//       0 ..   511   resident ones (schedule_cache.hpp): collectives of no great size, run again for each call that is alike. Nonblocking
//                    ones of one shape take turns, so that several can be under way
//     512 .. 16383   those that run once, by turns
//   16384 .. 32767   persistent ones, by turns
// Which one a call gets depends on the order of the calls alone, which is the same on all ranks. A number may be used again
// before other ranks are done with it: of two processes, the messages of the first use are matched before those of the second,
// as every message of a schedule has its receive. Where a resident one is still under way on this rank when its turn comes, or works on
// other memory of the user, another takes its place, which counts on from its epoch: to the other ranks it is the same.
//
// Thread: one at a time per communicator, as MPI demands of collectives; GOAL itself is locked (Locked).
// Invariants: as GOAL keeps only 256 epochs apart, and memory for messages that nobody has asked for is not endless, the
// ranks meet after at most kApart collectives in which nobody waits for all; and no more than kMostUnderWay runs of one place
// are under way on a rank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/goal/goal_collectives.h"
#include "engine/goal/goal_domain.h"
#include "engine/goal/goal_node.h"
#include "engine/goal/schedule_cache.hpp"
#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/collectives/execution.hpp"
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
  // What fails together with all schedules of the communicator; or nullptr.
  GOAL_Domain domain() const { return domain_.handle; }

  // The group with the tag of the next schedule that runs once, or is persistent.
  GOAL_Group once();
  GOAL_Group persistent();
  // A blocking collective through memory that all ranks share: GOAL_* codes, GOAL_NODE_NOT_TAKEN.
  int run_on_node(const Work& work);
  // Memory for data that are packed, from call to call or of one call.
  struct Packed {
    std::vector<std::byte> in, out;
    void drop_large();
  };
  // Starts one so: see GOAL_Node_start. `out`: where its result will lie, for Work::drain.
  int start_on_node(const Work& work, Packed& packed, void (*ended)(void*), void* arg, GOAL_Node_request& request, std::byte*& out);
  // Does this collective have to be a meeting? Counts it.
  bool must_meet(const Work& work);

  // The resident schedule for such work, not busy, made if need be: nullptr and a GOAL_* code. `reports`: nonblocking; see
  // Execution::report. Waits if too many are under way.
  const std::shared_ptr<Execution>& resident(const Work& work, bool reports, int& code);

 private:
  struct ResidentKey {
    Key key{};
    bool reports = false;
    bool operator==(const ResidentKey&) const = default;
  };
  using Residents = goal::ScheduleCache<ResidentKey, Execution>;
  static constexpr unsigned kOnce = 16384 - Residents::kTags, kPersistent = 16384, kApart = 64, kMostUnderWay = 192;

  GOAL_Group group(uint32_t tag) const;
  int renew(Residents::Place& place, const Work& work, bool reports);

  struct Domain {
    ~Domain() { GOAL_Domain_close(&handle); }
    GOAL_Domain handle = nullptr;
  };

  const Communicator& comm_;
  Domain domain_;                   // outlives the schedules
  int rank_;                        // among all ranks: of both groups of an intercommunicator
  std::vector<int> ranks_, nodes_;  // of all of them
  Residents residents_;
  uint32_t once_ = 0, persistent_ = 0;
  unsigned apart_ = 0;
  GOAL_Node node_ = nullptr;
  Packed packed_;  // for that
};

State& state_of(Communicator& comm);
// Whether its ranks' collectives are found not to fit, see CallLog::differs.
bool differ(Communicator& comm);
// Frees what the communicator remembers.
void forget(Communicator& comm);

}  // namespace portunus::mpi::collectives
