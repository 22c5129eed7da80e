// One rank's schedule from what its program did: see rank_program.hpp.
#include "engine/tools/goalc/rank_program.hpp"

#include <algorithm>
#include <utility>

#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goalc {

using goal::Kind;
using goal::Memory;
using goal::VertexId;
using record::Collective;
namespace collectives = goal::collectives;

namespace {

constexpr uint64_t kLeast_ns = 1000;                 // of a calc: a shorter one costs about as much itself
constexpr double kCopy_ns = 0.1, kCombine_ns = 0.2;  // per byte, of collectives

uint64_t total(std::span<const uint64_t> numbers) {
  uint64_t sum = 0;
  for (const uint64_t number : numbers) sum += number;
  return sum;
}

std::vector<goal::Piece> pieces_in(goal::Builder& builder, std::span<const uint64_t> sizes) {
  Memory at = builder.scratch(total(sizes));
  std::vector<goal::Piece> pieces;
  for (const uint64_t size : sizes) {
    pieces.push_back({at, size});
    at = at + size;
  }
  return pieces;
}

collectives::Choices choices_for(bool crowded) {
  collectives::Choices choices = collectives::Choices::environment();
  const collectives::RankPlacement place{
      static_cast<uint8_t>(collectives::RankPlacement::kSeveral | (crowded ? collectives::RankPlacement::kCrowded : 0))};
  choices.take_place({place, place, place});
  return choices;
}

}  // namespace

VertexId RankProgram::step(VertexId v, bool blocking) {
  builder_.after(v, now_);
  if (blocking) now_ = {v};
  return v;
}

void RankProgram::compute(uint64_t ns) {
  computed_ns_ += ns;
  if (computed_ns_ < kLeast_ns) return;
  step(builder_.delay(std::exchange(computed_ns_, 0)), true);
}

VertexId RankProgram::send(uint64_t bytes, uint32_t peer, uint32_t tag, bool blocking) {
  return step(builder_.send({}, bytes, peer, tag), blocking);
}

VertexId RankProgram::recv(uint64_t bytes, uint32_t peer, uint32_t tag, bool blocking) {
  return step(builder_.recv({}, bytes, peer, tag), blocking);
}

VertexId RankProgram::send_after(uint64_t bytes, uint32_t peer, uint32_t tag, std::span<const VertexId> after) {
  const VertexId v = builder_.send({}, bytes, peer, tag);
  builder_.after(v, after);
  return v;
}

void RankProgram::wait_for(std::span<const VertexId> vertices) {
  now_.insert(now_.end(), vertices.begin(), vertices.end());
  std::ranges::sort(now_);
  now_.erase(std::unique(now_.begin(), now_.end()), now_.end());
}

VertexId RankProgram::reached() {
  if (now_.size() != 1) step(builder_.join(), true);
  return now_.front();
}

VertexId RankProgram::pass() { return step(builder_.join(), true); }

void RankProgram::wait_for_request(uint64_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  wait_for(found->second);
  requests_.erase(found);
}

RankProgram::Vertices RankProgram::collective(const CollectiveCall& call, const CommFacts& comm, uint32_t tag, bool crowded) {
  const auto place = std::ranges::find(comm.ranks, static_cast<int>(rank_));
  if (place == comm.ranks.end() || comm.ranks.size() < 2) return {};
  const auto me = static_cast<uint32_t>(place - comm.ranks.begin()), size = static_cast<uint32_t>(comm.ranks.size());
  if (now_.size() > 1) reached();
  collectives::Script script(builder_, tag, comm.ranks);
  add(script, call, me, size, crowded);
  Vertices last;
  for (VertexId v = script.first(); v < builder_.plan().graph.size(); ++v) {
    if (!script.waits(v)) builder_.after(v, now_);
    if (!script.is_waited_for(v)) last.push_back(v);
  }
  return last;
}

void RankProgram::add(collectives::Script& script, const CollectiveCall& call, uint32_t me, uint32_t size, bool crowded) {
  const collectives::Team team(me, size);
  const collectives::Choices choices = choices_for(crowded);
  const bool root = me == call.root;
  const auto memory = [&](uint64_t bytes) { return builder_.scratch(bytes); };
  std::vector<uint64_t> sizes(call.numbers.begin(), call.numbers.end());
  switch (call.kind) {
    case Collective::barrier: return barrier(script, team, choices);
    case Collective::bcast: return bcast(script, team, call.root, memory(call.bytes), call.bytes, choices);
    case Collective::gather:
      return gather(script, team, call.root, memory(call.bytes), memory(root ? call.bytes * size : 0), call.bytes, choices);
    case Collective::scatter:
      return scatter(script, team, call.root, memory(root ? call.bytes * size : 0), memory(call.bytes), call.bytes, choices);
    case Collective::allgather: return allgather(script, team, memory(call.bytes), memory(call.bytes * size), call.bytes, choices);
    case Collective::alltoall: return alltoall(script, team, memory(call.bytes * size), memory(call.bytes * size), call.bytes, choices);
    case Collective::gatherv:
    case Collective::scatterv: {
      const uint64_t mine = root ? sizes.at(me) : call.bytes;
      const std::vector<goal::Piece> pieces = root ? pieces_in(builder_, sizes) : std::vector<goal::Piece>();
      const auto how = call.kind == Collective::gatherv ? collectives::gatherv : collectives::scatterv;
      return how(script, team, call.root, {memory(mine), mine}, pieces);
    }
    case Collective::allgatherv: return allgatherv(script, team, memory(sizes.at(me)), pieces_in(builder_, sizes), choices);
    case Collective::alltoallv: {
      const std::vector<goal::Piece> out = pieces_in(builder_, std::span(sizes).first(size));
      return alltoallv(script, team, out, pieces_in(builder_, std::span(sizes).subspan(size)));
    }
    case Collective::exchange: {
      std::vector<collectives::Link> links;
      for (size_t i = 0; i + 1 < sizes.size(); i += 2)
        links.push_back({static_cast<uint32_t>(sizes[i]), 0, {memory(sizes[i + 1]), sizes[i + 1]}});
      return exchange(script, team, std::span(links).first(call.leaving), std::span(links).subspan(call.leaving));
    }
    default: return add_reduction(script, call, me, size, crowded);
  }
}

void RankProgram::add_reduction(collectives::Script& script, const CollectiveCall& call, uint32_t me, uint32_t size, bool crowded) {
  const collectives::Team team(me, size);
  const collectives::Choices choices = choices_for(crowded);
  const collectives::Element bytes{};
  const auto from_to = [&](uint64_t from, uint64_t to) {
    return collectives::Reduction{builder_.scratch(from), builder_.scratch(to), from, bytes};
  };
  switch (call.kind) {
    case Collective::reduce: return reduce(script, team, call.root, from_to(call.bytes, me == call.root ? call.bytes : 0), choices);
    case Collective::allreduce: return allreduce(script, team, from_to(call.bytes, call.bytes), choices);
    case Collective::scan: return scan(script, team, from_to(call.bytes, call.bytes));
    case Collective::exscan: return exscan(script, team, from_to(call.bytes, call.bytes));
    default: break;
  }
  std::vector<uint64_t> shares(call.numbers.begin(), call.numbers.end());
  if (call.kind == Collective::reduce_scatter_block) shares.assign(size, call.bytes);
  reduce_scatter(script, team, from_to(total(shares), shares.at(me)), collectives::Cuts::of(shares), choices);
}

goal::Schedule RankProgram::finish() {
  goal::Plan plan = builder_.plan();
  plan.graph.finish();
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    if (plan.graph[v].kind != Kind::local) continue;
    const double ns = static_cast<double>(plan.bytes(v)) * (plan.works[v].op == PTLX_COPY ? kCopy_ns : kCombine_ns);
    plan.graph.amend(v, Kind::calc, ns < static_cast<double>(kLeast_ns) ? 0 : static_cast<uint64_t>(ns));
  }
  return std::move(plan.graph);
}

}  // namespace portunus::goalc
