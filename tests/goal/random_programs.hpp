// Random programs of several ranks that really compute, and what they must compute: the sequential reference.
//
// Every rank has a few slots of memory. Operations are drawn one after the other: local work on slots of one rank, or a
// message from a slot of one rank to a slot of another (or itself). Each depends on all earlier ones that it must not
// overtake (read after write, write after read, write after write), and on a few more by chance, finish or start.
//
// Thread: any.
#pragma once

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/program.hpp"
#include "engine/goal/schedules/buffered.hpp"
#include "engine/goal/schedules/compile.hpp"

namespace portunus::goal {

using Slots = std::vector<std::vector<uint64_t>>;

struct RandomJob {
  struct Act {
    ptlx_local_op_t op = PTLX_ADD;
    uint32_t to = 0, a = 0, b = 0;  // slots; a send reads a, a receive writes `to`
  };
  struct Step {  // of the reference, in an order in which everything may happen one by one
    uint32_t rank, from;
    VertexId vertex, send;
    bool message;
  };
  uint32_t words = 1;
  std::vector<Schedule> schedules;
  std::vector<std::vector<Act>> acts;
  std::vector<std::vector<Touch>> touches;
  std::vector<Step> steps;
  std::vector<Slots> initial;

  // Buffers the sends that could be in a circle of messages of more than `eager` bytes. Returns how many.
  size_t buffer(uint64_t eager) {
    size_t buffered = 0;
    std::vector<std::map<VertexId, VertexId>> copies(schedules.size());
    for (uint32_t r = 0; r < schedules.size(); ++r) {
      const std::vector<VertexId> sends = sends_to_buffer(schedules[r], touches[r], eager);
      schedules[r] = with_copies(schedules[r], sends);
      buffered += sends.size();
      for (const VertexId send : sends) {
        const auto slot = static_cast<uint32_t>(initial[r].size());
        const auto copy = static_cast<VertexId>(acts[r].size());
        copies[r][send] = copy;
        initial[r].emplace_back(words);
        acts[r].push_back({PTLX_COPY, slot, acts[r][send].a, acts[r][send].a});
        acts[r][send].a = slot;
        for (Touch& touch : touches[r])
          if (touch.vertex == send) touch.vertex = copy;
        for (const VertexId v : {send, copy}) touches[r].push_back({v, {8 * uint64_t{words} * slot, 8 * uint64_t{words} * (slot + 1)}});
      }
    }
    const std::vector<Step> before = std::exchange(steps, {});
    for (const Step& s : before) {
      if (s.message && copies[s.from].contains(s.send)) {
        const VertexId copy = copies[s.from][s.send];
        steps.push_back({s.from, s.from, copy, copy, false});
      }
      steps.push_back(s);
    }
    return buffered;
  }

  void advance(std::vector<Slots>& memory) const {
    for (const Step& s : steps) {
      const Act& act = acts[s.rank][s.vertex];
      Slots& mine = memory[s.rank];
      if (s.message) {
        mine[act.to] = memory[s.from][acts[s.from][s.send].a];
        continue;
      }
      const auto bytes = [](std::vector<uint64_t>& slot) { return reinterpret_cast<std::byte*>(slot.data()); };
      apply_local(act.op, PTL_UINT64_T, bytes(mine[act.to]), bytes(mine[act.a]), bytes(mine[act.b]), words);
    }
  }
};

class RandomPrograms {
 public:
  static constexpr uint32_t kSlots = 8;

  explicit RandomPrograms(uint64_t seed) : random_(seed) {}

  // `ranks`: 0, they are drawn. `first_tag`: jobs of one context at one time differ in it, by two at least.
  RandomJob job(uint32_t words, bool to_oneself = true, uint32_t ranks = 0, uint32_t first_tag = 0) {
    RandomJob job;
    if (ranks == 0) ranks = 2 + draw(3);
    job.words = words;
    job.schedules.resize(ranks);
    job.acts.resize(ranks);
    job.touches.resize(ranks);
    job.initial.assign(ranks, Slots(kSlots, std::vector<uint64_t>(words)));
    for (Slots& slots : job.initial)
      for (auto& slot : slots)
        for (uint64_t& word : slot) word = random_();
    writer_.clear();
    readers_.clear();
    for (uint32_t left = 5 + draw(26); left > 0; --left) {
      if (draw(5) < 2) {
        const uint32_t rank = draw(ranks);
        constexpr ptlx_local_op_t kOps[] = {PTLX_ADD, PTLX_SUB, PTLX_XOR};
        Vertex local;
        local.kind = Kind::local;
        const VertexId v = job.schedules[rank].add(local, {});
        commit(job, rank, v, {kOps[draw(3)], draw(kSlots), draw(kSlots), draw(kSlots)}, Kind::local);
        job.steps.push_back({rank, rank, v, v, false});
        continue;
      }
      const uint32_t from = draw(ranks), tag = first_tag + draw(2);
      const uint32_t to = to_oneself ? draw(ranks) : (from + 1 + draw(ranks - 1)) % ranks;
      const VertexId send = job.schedules[from].send(8 * words, to, tag);
      commit(job, from, send, {PTLX_COPY, 0, draw(kSlots), 0}, Kind::send);
      const VertexId recv = job.schedules[to].recv(8 * words, from, tag);
      if (from == to && draw(3) == 0) job.schedules[to].add_dependency(recv, send);
      commit(job, to, recv, {PTLX_COPY, draw(kSlots), 0, 0}, Kind::recv);
      job.steps.push_back({to, from, recv, send, true});
    }
    for (Schedule& s : job.schedules) s.finish();
    return job;
  }

  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

 private:
  using Slot = std::pair<uint32_t, uint32_t>;  // rank, slot

  void commit(RandomJob& job, uint32_t rank, VertexId v, const RandomJob::Act& act, Kind kind) {
    Schedule& s = job.schedules[rank];
    std::set<VertexId> before;
    std::vector<uint32_t> reads;
    if (kind != Kind::recv) reads.push_back(act.a);
    if (kind == Kind::local) reads.push_back(act.b);
    const auto touch = [&](uint32_t slot) {
      const uint64_t begin = 8 * job.words * slot;
      job.touches[rank].push_back({v, {begin, begin + 8 * job.words}});
      if (const auto last = writer_.find({rank, slot}); last != writer_.end()) before.insert(last->second);
    };
    for (const uint32_t slot : reads) touch(slot);
    if (kind != Kind::send) {
      touch(act.to);
      before.merge(readers_[{rank, act.to}]);
      readers_[{rank, act.to}].clear();
      writer_[{rank, act.to}] = v;
    }
    for (const uint32_t slot : reads)
      if (kind == Kind::send || slot != act.to) readers_[{rank, slot}].insert(v);
    for (const VertexId w : before) s.add_dependency(v, w);
    if (v > 0 && draw(5) == 0) s.add_dependency(v, draw(v));
    if (v > 0 && draw(5) == 0) s.add_dependency(v, draw(v), After::start);
    job.acts[rank].push_back(act);
  }

  std::mt19937_64 random_;
  std::map<Slot, VertexId> writer_;
  std::map<Slot, std::set<VertexId>> readers_;
};

}  // namespace portunus::goal
