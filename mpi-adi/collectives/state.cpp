// state.cpp: making, keeping and forgetting the schedules of a communicator.
#include "mpi-adi/collectives/state.hpp"

#include <utility>

#include "mpi-adi/collectives/inter.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/adi.hpp"
#include "mpi-adi/core/settings.hpp"

namespace portunus::mpi::collectives {
namespace {

const std::shared_ptr<Execution> none;

}  // namespace

State::State(const Communicator& comm) : log(comm), comm_(comm), rank_(comm.rank) {
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
  nodes_ = nodes_of(ranks_);
  const GOAL_Group group{rank_, static_cast<int>(ranks_.size()), ranks_.data(), nodes_.data(), 0, GOAL_AUTO};
  GOAL_Domain_open(&group, goal_context(comm), &domain_.handle);  // without memory for it: each schedule fails alone
  if (comm.inter || !settings.node_collectives) return;
  const auto hopeless = [](void* its_log) -> int { return static_cast<CallLog*>(its_log)->differs(); };
  GOAL_Node_open(&group, goal_context(comm), domain_.handle, hopeless, &log, &node_);  // without memory for it: schedules
}

State::~State() { GOAL_Node_close(&node_); }

namespace {

// Says what a work is for ranks that share memory, where its data lie or are packed. False: they do not have it.
bool describe(const Work& work, State::Packed& packed, GOAL_Node_call& call, std::byte*& out) {
  const auto room = [](std::vector<std::byte>& memory, size_t bytes) {
    if (memory.size() <= bytes) memory.resize(bytes + 1);
    return memory.data();
  };
  const bool replaced = work.in_place && (work.key.kind == Kind::alltoall || work.key.kind == Kind::other);  // before it is sent
  out = work.out_is_direct ? work.user_out : room(packed.out, work.out_bytes);
  call.out = out;
  if (work.in_is_out) {
    if (!work.out_is_direct) work.fill(out);
  } else if (work.input_is_direct() && !replaced) {
    call.in = work.user_in;
  } else {
    std::byte* in = room(packed.in, work.in_bytes);
    work.fill(in);
    call.in = in;
  }
  return work.on_node(call);
}

}  // namespace

void State::Packed::drop_large() {
  constexpr size_t kKept = 256 * 1024;
  for (auto* memory : {&in, &out})
    if (memory->size() > kKept) std::vector<std::byte>().swap(*memory);
}

int State::run_on_node(const Work& work) {
  if (node_ == nullptr) return GOAL_NODE_NOT_TAKEN;
  GOAL_Node_call call{};
  std::byte* out;
  if (!describe(work, packed_, call, out)) return GOAL_NODE_NOT_TAKEN;
  const int code = GOAL_Node_run(node_, &call);
  if (code == GOAL_SUCCESS) work.drain(out);
  packed_.drop_large();
  return code;
}

int State::start_on_node(const Work& work, Packed& packed, void (*ended)(void*), void* arg, GOAL_Node_request& request, std::byte*& out) {
  constexpr size_t kMost = 512 * 1024;  // longer ones are not taken
  if (node_ == nullptr || work.then != nullptr || work.key.kind == Kind::other || work.most_bytes > kMost) return GOAL_NODE_NOT_TAKEN;
  GOAL_Node_call call{};
  if (!describe(work, packed, call, out)) return GOAL_NODE_NOT_TAKEN;
  return GOAL_Node_start(node_, &call, ended, arg, &request);
}

bool Work::on_node(GOAL_Node_call& call) const {
  switch (key.kind) {
    case Kind::barrier: call.kind = GOAL_NODE_BARRIER; break;
    case Kind::bcast: call.kind = GOAL_NODE_BCAST; break;
    case Kind::gather: call.kind = GOAL_NODE_GATHER; break;
    case Kind::scatter: call.kind = GOAL_NODE_SCATTER; break;
    case Kind::allgather: call.kind = GOAL_NODE_ALLGATHER; break;
    case Kind::alltoall: call.kind = GOAL_NODE_ALLTOALL; break;
    default: return false;
  }
  call.root = key.root;
  call.bytes = key.bytes;
  return true;
}

GOAL_Group State::group(uint32_t tag) const {
  return {rank_, static_cast<int>(ranks_.size()), ranks_.data(), nodes_.data(), tag, GOAL_AUTO};
}
GOAL_Group State::once() { return group(Residents::kTags + once_++ % kOnce); }
GOAL_Group State::persistent() { return group(Residents::kTags + kOnce + persistent_++ % kPersistent); }

bool State::must_meet(const Work& work) {
  apart_ = work.waits_for_all ? 0 : apart_ + 1;
  if (apart_ < kApart) return false;
  apart_ = 0;
  return true;
}

// Puts an execution for such work where there is none, or one that is under way, works on other memory or has failed.
int State::renew(Residents::Place& place, const Work& work, bool reports) {
  const bool small = work.is_small();
  auto made = std::make_shared<Execution>(work, small ? Memory::Whose::own : Memory::Whose::users);
  int code =
      small && place.now ? made->copy(*place.now, work, comm_, place.epoch) : made->make(work, comm_, group(place.tag), false, place.epoch);
  if (code == GOAL_SUCCESS && reports && made->report() != PTL_OK) code = GOAL_ERR_NO_SPACE;
  if (code != GOAL_SUCCESS) return code;
  Residents::replace(place, std::move(made));
  if (place.before.size() >= kMostUnderWay) place.before.front()->await_end(log);
  return code;
}

const std::shared_ptr<Execution>& State::resident(const Work& work, bool reports, int& code) {
  Residents::Place& place = residents_.place_of({work.key, reports}, reports);
  code = GOAL_SUCCESS;
  if (!place.now || !place.now->ready_for(work)) [[unlikely]] {
    code = renew(place, work, reports);
    if (code != GOAL_SUCCESS) return none;
  }
  ++place.epoch;
  return place.now;
}

State& state_of(Communicator& comm) {
  if (!comm.collectives) [[unlikely]]
    comm.collectives = new State(comm);
  return *comm.collectives;
}

bool differ(Communicator& comm) { return comm.collectives && comm.collectives->log.differs(); }

void forget(Communicator& comm) {
  delete comm.collectives;
  comm.collectives = nullptr;
}

}  // namespace portunus::mpi::collectives
