// state.cpp: making, keeping and forgetting the schedules of a communicator.
#include "mpi-adi/collectives/state.hpp"

#include <new>

#include "mpi-adi/adi.hpp"
#include "mpi-adi/collectives/inter.hpp"

namespace portunus::mpi::collectives {
namespace {

static_assert(kMaxCommunicators <= 32768, "GOAL has that many contexts to give");
unsigned goal_context(const Communicator& comm) { return comm.context / kContextsPerCommunicator; }

std::mutex goal;

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Locked::Locked() : lock_(goal, std::defer_lock) {
  if (adi::device.threaded) lock_.lock();
}

int Schedule::make(const Work& work, const Communicator& comm, const GOAL_Group& group, GOAL_Buffer in, GOAL_Buffer out,
                   bool meet) {
  Locked locked;
  int code = GOAL_Create(&schedule_);
  if (code == GOAL_SUCCESS) code = GOAL_Context(schedule_, goal_context(comm));
  if (code == GOAL_SUCCESS) code = work.build(&schedule_, &group, in, out);
  if (code == GOAL_SUCCESS && meet) code = GOAL_Barrier(&schedule_, &group, nullptr);
  if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule_);
  return code;
}

void Schedule::free() {
  if (schedule_ == nullptr) return;
  Locked locked;
  GOAL_Free(&schedule_);
}

State::State(const Communicator& comm) : comm_(comm), rank_(comm.rank) {
  GOAL_Group all{};
  GOAL_World(&all);
  const auto add = [&](const Group& members) {
    for (int i = 0; i < members.size; ++i) ranks_.push_back(members.job_rank(i));
  };
  if (comm.inter) {
    rank_ += inter::own_base(comm);
    const bool first = inter::own_base(comm) == 0;
    add(first ? *comm.group : *comm.remote_group);
    add(first ? *comm.remote_group : *comm.group);
  } else {
    add(*comm.group);
  }
  for (const int rank : ranks_) nodes_.push_back(all.nodes ? all.nodes[rank] : 0);
}

GOAL_Group State::group(uint32_t tag) const {
  return {rank_, static_cast<int>(ranks_.size()), ranks_.data(), nodes_.data(), tag, GOAL_AUTO};
}
GOAL_Group State::once() { return group(kResidents + once_++ % kOnce); }
GOAL_Group State::persistent() { return group(kResidents + kOnce + persistent_++ % kPersistent); }

bool State::must_meet(const Work& work) {
  apart_ = work.waits_for_all ? 0 : apart_ + 1;
  if (apart_ < kApart) return false;
  apart_ = 0;
  return true;
}

Resident* State::resident(const Work& work, int& code) {
  unsigned place = last_;
  if (!residents_[place] || residents_[place]->key != work.key) {
    place = 0;
    for (unsigned i = 0; i < kResidents; ++i) {
      if (!residents_[i]) {
        place = i;
        break;
      }
      if (residents_[i]->key == work.key) {
        place = i;
        break;
      }
      if (residents_[i]->last_use < residents_[place]->last_use) place = i;
    }
    last_ = place;
  }
  code = GOAL_SUCCESS;
  if (!residents_[place] || residents_[place]->key != work.key) {
    residents_[place].reset();
    auto made = std::make_unique<Resident>();
    made->key = work.key;
    made->memory.reset(new std::byte[aligned(work.in_bytes) + aligned(work.out_bytes) + 64]);
    made->in = made->memory.get();
    made->out = made->in + aligned(work.in_bytes);
    const GOAL_Buffer out = GOAL_User(made->out);
    code = made->schedule.make(work, comm_, group(place), work.in_is_out ? out : GOAL_User(made->in), out, false);
    if (code != GOAL_SUCCESS) return nullptr;
    residents_[place] = std::move(made);
  }
  residents_[place]->last_use = ++uses_;
  return residents_[place].get();
}

State& state_of(Communicator& comm) {
  if (!comm.collectives) [[unlikely]]
    comm.collectives = new State(comm);
  return *comm.collectives;
}

void forget(Communicator& comm) {
  delete comm.collectives;
  comm.collectives = nullptr;
}

}  // namespace portunus::mpi::collectives
