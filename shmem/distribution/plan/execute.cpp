// execute.cpp: run and start: who copies, who sends, and who waits for whom.
//
// Between PEs of a node `run` needs no barrier: a source says in its readers' slots where its array lies and for which run
// (ready), readers copy and answer (done). A source whose array is in no node memory says so instead, and puts a message. Small messages
// are posted in the reader's box where PEs outnumber cores (choice.hpp): then a source waits for nobody.
#include <shmem.h>

#include <algorithm>

#include "shmem/distribution/explain.hpp"
#include "shmem/distribution/plan/network.hpp"
#include "shmem/distribution/plan/plan.hpp"

using namespace portunus::distribution;

int ccc_plan_::broken(const char* what) {
  state = State::kBroken;
  return refuse(CCC_ERR_FAILED, "%s; the target memory is undefined, and the plan can only be freed", what);
}

// As PtlxWait does it: looks, gives way, sleeps until memory changes or a message comes. The first looks, which most waits end with, are
// at memory alone.
template <class Done>
void ccc_plan_::wait_until(Done done) {
  constexpr int kShortLooks = 200;
  int looks = 0;
  auto look = [&] { return done(looks == kShortLooks || ++looks == kShortLooks); };
  PtlxWait([](void* arg) -> int { return (*static_cast<decltype(look)*>(arg))(); }, &look, kWatchBit, PTL_TIME_FOREVER);
}

// The place of `from` is asked once, as long as it is the same array.
bool ccc_plan_::find(const std::byte* from, NodePlace* place) {
  if (from != found_) {
    found_ = from;
    reachable_ = Network::instance().find(from, static_cast<uint64_t>(from_bytes_), &found_at_);
  }
  *place = found_at_;
  return reachable_;
}

// Puts a message in the reader's box: the cell of this run, which was read two runs ago. False: a PE was lost.
bool ccc_plan_::post(Peer& peer, const std::byte* from) {
  bool lost = false;
  const auto read = [&](bool long_wait) {
    if (long_wait) lost = laid_out_.lost();
    return lost || load(slots_[peer.pe].done) + 2 >= runs_;  // released in answer()
  };
  wait_until(read);
  if (lost) return false;
  if (peer.compiled) peer.program.copy(cell_of(peer.box), from, Stores::kCached);
  else peer.move.pack(0, peer.bytes, cell_of(peer.box), from);
  store(peer.theirs->ready, runs_);  // acquired in answer()
  ring(peer);
  return true;
}

// False: a PE was lost.
bool ccc_plan_::announce(const std::byte* from) {
  if (sends_.empty()) return true;
  for (Peer& peer : sends_) {
    peer.pending = !peer.box;
    if (peer.box && !post(peer, from)) return false;
  }
  if (all_posted_) return true;
  NodePlace place{};
  const bool reachable = find(from, &place);
  for (Peer& peer : sends_) {
    if (!peer.on_node() || !reachable || peer.box) continue;
    peer.theirs->block = place.block;
    peer.theirs->offset = place.offset;
    store(peer.theirs->ready, runs_);  // acquired in answer()
    ring(peer);
  }
  for (Peer& peer : sends_) {
    if ((peer.on_node() && reachable) || peer.box) continue;
    peer.pending = false;
    if (peer.on_node()) {
      peer.theirs->block = Slot::kByMessage;
      store(peer.theirs->ready, runs_);
      ring(peer);
    }
    laid_out_.send(peer, Kind::kRun, runs_, from);
  }
  return true;
}

// The address here of the array of a source that is ready (acquired); NULL: it sends a message instead.
const std::byte* ccc_plan_::array_of(const Peer& peer) const {
  const Slot& said = slots_[peer.pe];
  if (said.block == Slot::kByMessage) return nullptr;
  return Network::instance().reach(peer.pe, {static_cast<uint32_t>(said.block), said.offset});
}

// Copies from those who are ready; whether anything is left to copy.
bool ccc_plan_::answer(std::byte* to) {
  bool left = false;
  for (Peer& peer : receives_) {
    if (!peer.pending) continue;
    if (load(slots_[peer.pe].ready) < runs_) {
      left = true;
      continue;
    }
    peer.pending = false;
    if (peer.box) {
      if (peer.compiled) peer.program.copy(to, cell_of(peer.box), Stores::kCached);
      else peer.move.unpack(0, peer.bytes, cell_of(peer.box), to);
    } else if (const std::byte* const there = array_of(peer)) {
      peer.copy(to, there, stores_);
    } else {
      laid_out_.receive(peer, Kind::kRun, runs_, to);
      continue;
    }
    store(peer.theirs->done, runs_);  // acquired by the source before its array changes
    ring(peer);
  }
  return left;
}

// All sources are ready: one stretch of the target from each of them, then the next.
void ccc_plan_::copy_together(const std::byte* from, std::byte* to) {
  constexpr int64_t kStretch = int64_t{32} << 10;
  std::vector<std::pair<const Peer*, const std::byte*>> sources;
  if (own_.bytes != 0) sources.push_back({&own_, from});
  for (Peer& peer : receives_) {
    if (!peer.pending || peer.box) continue;
    if (const std::byte* const there = array_of(peer)) sources.push_back({&peer, there});
  }
  const int64_t parts = std::max<int64_t>(1, to_bytes_ / kStretch);
  for (int64_t part = 0; part < parts; ++part)
    for (const auto& [peer, array] : sources) peer->program.copy_part(to, array, part, parts, stores_);
  for (Peer& peer : receives_) {
    if (!peer.pending || peer.box) continue;
    peer.pending = false;
    if (!array_of(peer)) {
      laid_out_.receive(peer, Kind::kRun, runs_, to);
      continue;
    }
    store(peer.theirs->done, runs_);  // acquired by the source before its array changes
    ring(peer);
  }
}

int ccc_plan_::run_on_node(const std::byte* from, std::byte* to) {
  ++runs_;
  for (Peer& peer : receives_) {
    peer.pending = peer.on_node();
    if (!peer.pending) laid_out_.receive(peer, Kind::kRun, runs_, to);
  }
  bool lost = !announce(from);
  if (own_.bytes != 0 && !together_) own_.copy(to, from, stores_);
  // Whether somebody is lost is asked only when it takes long.
  const auto ready = [&](const Peer& peer) { return !peer.pending || load(slots_[peer.pe].ready) >= runs_; };
  if (together_ && !lost) {
    wait_until([&](bool long_wait) {
      if (long_wait) lost = laid_out_.lost();
      return lost || std::all_of(receives_.begin(), receives_.end(), ready);
    });
    if (!lost) copy_together(from, to);
  }
  while (!lost && answer(to))
    wait_until([&](bool long_wait) {
      const auto comes = [&](const Peer& peer) { return peer.pending && ready(peer); };
      if (long_wait) lost = laid_out_.lost();
      return lost || std::any_of(receives_.begin(), receives_.end(), comes);
    });
  if (stores_ == Stores::kStreaming) stores_done();
  const auto finished = [&](bool long_wait) {
    const bool messages = (!long_wait && laid_out_.idle()) || laid_out_.done(&lost);
    if (lost) return true;
    for (Peer& peer : sends_)
      if (peer.pending && load(slots_[peer.pe].done) >= runs_) peer.pending = false;
    return messages && std::none_of(sends_.begin(), sends_.end(), [](const Peer& peer) { return peer.pending; });
  };
  if (!lost) wait_until(finished);
  return lost ? broken("a PE was lost during the run") : CCC_SUCCESS;
}

int ccc_plan_::run(const std::byte* from, std::byte* to) {
  if (const int code = check(from, to); code != CCC_SUCCESS) return code;
  if (any_on_node_ || (sends_.empty() && receives_.empty())) return run_on_node(from, to);
  if (const int code = start(from, to); code != CCC_SUCCESS) return code;
  return wait();
}

// Small messages may leave long before their receivers want them: a sender is never more than 128 starts ahead. Receivers
// say every 64 starts how far they are.
void ccc_plan_::keep_in_step() {
  constexpr uint64_t kMost = 128;
  if (starts_ <= kMost) return;
  for (const Peer& peer : sends_) wait_until([&](bool) { return load(slots_[peer.pe].taken) + kMost >= starts_ || laid_out_.lost(); });
}

int ccc_plan_::started(int goal_code, int portals_code) {
  if (goal_code == GOAL_SUCCESS && portals_code == PTL_OK) return CCC_SUCCESS;
  if (goal_code == GOAL_ERR_FAILED) return broken("a PE that the plan needs was lost");
  state = State::kBroken;
  if (goal_code != GOAL_SUCCESS) return refuse(CCC_ERR_NO_SPACE, "the plan's schedule cannot be started: %s", GOAL_Explain());
  return refuse(CCC_ERR_NO_SPACE, "the network interface takes no more messages (Portals return code %d)", portals_code);
}

int ccc_plan_::start(const std::byte* from, std::byte* to) {
  if (const int code = check(from, to); code != CCC_SUCCESS) return code;
  ++starts_;
  keep_in_step();
  state = State::kStarted;
  const bool by_goal = scheduled_.used();
  const int goal_code = by_goal ? scheduled_.start(from, to) : int{GOAL_SUCCESS};
  int portals_code = PTL_OK;
  const auto begin = [&](int code) { portals_code = portals_code == PTL_OK ? code : portals_code; };
  for (const Peer& peer : receives_)
    if (peer.way == Way::kLaidOut) begin(laid_out_.receive(peer, Kind::kStart, starts_, to));
  if (own_.bytes != 0) begin(laid_out_.receive(own_, Kind::kStart, starts_, to));
  for (const Peer& peer : sends_)
    if (peer.way == Way::kLaidOut) begin(laid_out_.send(peer, Kind::kStart, starts_, from));
  if (own_.bytes != 0) begin(laid_out_.send(own_, Kind::kStart, starts_, from));
  return started(goal_code, portals_code);
}

int ccc_plan_::test(bool* done) {
  *done = true;
  if (state == State::kBroken) return refuse(CCC_ERR_STATE, "the plan has failed and can only be freed");
  if (state == State::kIdle) return CCC_SUCCESS;
  bool lost = false, scheduled = true;
  const bool messages = laid_out_.done(&lost);
  if (scheduled_.used() && scheduled_.test(&scheduled) != GOAL_SUCCESS) lost = true;
  if (lost) return broken("a PE was lost while the plan ran");
  *done = messages && scheduled;
  if (!*done) {
    PtlxProgress();  // where no thread of the engine does
    return CCC_SUCCESS;
  }
  state = State::kIdle;
  if (starts_ % 64 == 0)
    for (const Peer& peer : receives_) shmem_uint64_p(&slots_[shmem_my_pe()].taken, starts_, peer.pe);  // acquired in keep_in_step()
  return CCC_SUCCESS;
}

int ccc_plan_::wait() {
  bool done = false, lost = false;
  if (state == State::kStarted) {
    auto last = [&] { return laid_out_.done(&lost); };
    if (!last()) PtlxWait([](void* arg) -> int { return (*static_cast<decltype(last)*>(arg))(); }, &last, 0, PTL_TIME_FOREVER);
    if (!lost && scheduled_.used() && scheduled_.wait() != GOAL_SUCCESS) return broken("a PE was lost while the plan ran");
  }
  const int code = test(&done);
  return code;
}
