// program.cpp: a rank from MPI_Init to MPI_Finalize: see rank.hpp.
#include "tests/simulation/mpi/rank.hpp"

#include <algorithm>

#include "engine/simulation/seams.hpp"

namespace portunus::simulation {

void Rank::run() {
  check(MPI_Init(nullptr, nullptr), "MPI_Init");
  open();
  for (const Epoch& epoch : plan_.epochs) go_through(epoch.ranks[static_cast<size_t>(me_)]);
  close();
  machine_.acts("MPI_Finalize");
  check(MPI_Finalize(), "MPI_Finalize");
  machine_.acts("the end");
}

void Rank::open() {
  for (const CommPlan& made : plan_.comms) {
    machine_.acts("making communicators");
    Comm comm;
    const auto me = static_cast<size_t>(me_);
    if (comms_.empty()) comm.handle = MPI_COMM_WORLD;
    else if (made.dup) check(MPI_Comm_dup(comms_[static_cast<size_t>(made.parent)].handle, &comm.handle), "MPI_Comm_dup");
    else
      check(MPI_Comm_split(comms_[static_cast<size_t>(made.parent)].handle, made.colours[me], made.keys[me], &comm.handle),
            "MPI_Comm_split");
    check(MPI_Comm_set_errhandler(comm.handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    MPI_Comm_rank(comm.handle, &comm.rank);
    MPI_Comm_size(comm.handle, &comm.size);
    if (made.dup || made.colours[me] == 0) {
      expect(comm.size == static_cast<int>(made.members.size()), "a communicator has another size");
      expect(made.members[static_cast<size_t>(comm.rank)] == me_, "a communicator has another order");
    }
    comms_.push_back(comm);
  }
  if (!plan_.windows) return;
  machine_.acts("MPI_Win_allocate");
  check(MPI_Win_allocate(kOwnAreas + plan_.ranks * kArea, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_), "MPI_Win_allocate");
  std::fill(memory_, memory_ + kOwnAreas + plan_.ranks * kArea, uint8_t{0});
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  check(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
  check(MPI_Win_sync(window_), "MPI_Win_sync");
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

void Rank::close() {
  if (plan_.windows) {
    machine_.acts("MPI_Win_free");
    check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    check(MPI_Win_lock(MPI_LOCK_SHARED, me_, 0, window_), "MPI_Win_lock");
    const auto* const words = reinterpret_cast<const int64_t*>(memory_);
    expect(words[0] == plan_.fetched[static_cast<size_t>(me_)], "a fetch_and_op was not applied once");
    expect(words[1] == plan_.added[static_cast<size_t>(me_)], "an accumulate was not applied once");
    expect(words[2] == 0, "a compare_and_swap was not applied once");
    check(MPI_Win_unlock(me_, window_), "MPI_Win_unlock");
    check(MPI_Win_free(&window_), "MPI_Win_free");
  }
  for (size_t i = 1; i < comms_.size(); ++i) {
    machine_.acts("MPI_Comm_free");
    check(MPI_Comm_free(&comms_[i].handle), "MPI_Comm_free");
  }
}

void Rank::go_through(const std::vector<Action>& actions) {
  early_.clear();
  for (const Action& action : actions) {
    if (action.kind != Action::Kind::receive || !action.early) continue;
    machine_.acts("an early MPI_Irecv", action.number);
    Open open{.receive = &posted(action), .deferred = true, .number = action.number};
    start_receive(action, *open.receive, open);
    early_.push_back(open_.insert(open_.end(), std::move(open)));
  }
  size_t next_early = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action& action = actions[i];
    switch (action.kind) {
      case Action::Kind::send:
        if (action.joined) send_and_receive(action, actions[i + 1]), ++i;
        else send(action);
        break;
      case Action::Kind::receive:
        if (action.early) early_[next_early++]->deferred = false;
        else receive(action);
        break;
      case Action::Kind::collective: collective(action); break;
      case Action::Kind::access: access(action); break;
      case Action::Kind::cancelled: cancel(action); break;
      case Action::Kind::to_nobody: to_nobody(action);
    }
    if (one_in(3)) complete(false);
  }
  for (Open& open : open_) open.deferred = false;
  while (!open_.empty()) complete(true);
  for (auto& [number, comm] : made_) check(MPI_Comm_free(&comm), "MPI_Comm_free");
  made_.clear();
  machine_.acts("the MPI_Barrier of an epoch");
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

void perform(TestMachine& machine, const Plan& plan, History& history, int rank) { Rank(machine, plan, history, rank).run(); }

}  // namespace portunus::simulation

void simulated_rank(portunus::simulation::TestMachine& machine, const portunus::simulation::Plan& plan,
                    portunus::simulation::History& history, int rank) {
  portunus::simulation::machine = &machine;
  if (plan.rounds > 0) portunus::simulation::survive(machine, plan, history, rank);
  else portunus::simulation::perform(machine, plan, history, rank);
}
