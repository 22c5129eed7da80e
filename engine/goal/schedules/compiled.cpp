// Compiling plans: see compiled.hpp.
//
// Thread: any; pure.
#include "engine/goal/schedules/compiled.hpp"

#include <utility>

namespace portunus::goal {

namespace {

// The address at which the compiler imagines memory to lie.
uint64_t imagined(const Memory& m) {
  if (m.space == Space::user) return m.place;
  const uint64_t region = m.space == Space::scratch ? 1 : uint64_t{2} + m.number;
  return (region << 50) + m.place;
}

}  // namespace

std::vector<Touch> touches_of(const Plan& plan) {
  std::vector<Touch> all;
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    plan.each_range(v, [&](const Memory& m, uint64_t bytes, bool) {
      if (bytes > 0) all.push_back({v, {imagined(m), imagined(m) + bytes}});
    });
  }
  for (const Piece& piece : plan.exposed) all.push_back({kNoVertex, {imagined(piece.at), imagined(piece.at) + piece.bytes}});
  return all;
}

std::shared_ptr<const Compiled> compile(Plan plan, uint32_t rank, std::span<const Wildcards> wildcards) {
  const std::vector<Touch> all = touches_of(plan);
  Program program = compile(plan.graph, {.rank = rank, .context = 0, .wildcards = wildcards, .touches = all});
  return std::make_shared<const Compiled>(Compiled{std::move(plan), std::move(program)});
}

}  // namespace portunus::goal
