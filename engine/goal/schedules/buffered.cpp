// Finding sends that could be in a circle, and putting copies before them: see buffered.hpp.
//
// Thread: any; pure.
#include "engine/goal/schedules/buffered.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/goal/schedules/compiled.hpp"
#include "engine/goal/schedules/reduce.hpp"
#include "engine/goal/schedules/validate.hpp"
#include "engine/goal/schedules/write.hpp"

namespace portunus::goal {

namespace {

constexpr uint64_t kMaxExtent = uint64_t{1} << 50;
constexpr uint64_t kAlignment = 64;

// May this receive be appended later than at the start? Which ones messages of any source or tag may take, and in
// which order, is not asked here.
std::vector<bool> late_receives(const Schedule& schedule, std::span<const Touch> touches, std::span<const VertexId> order) {
  std::vector<bool> harmless;
  if (!touches.empty()) harmless = free_of_hazards(schedule, touches, order);
  const bool shares = has_wildcards(schedule);
  std::vector<bool> late(schedule.size());
  for (VertexId v = 0; v < schedule.size(); ++v) {
    if (schedule[v].kind != Kind::recv || schedule.prerequisites(v).empty()) continue;
    late[v] = shares || schedule.is_choice(v) || (!harmless.empty() && !harmless[v]);
  }
  return late;
}

}  // namespace

std::vector<VertexId> sends_to_buffer(const Schedule& schedule, std::span<const Touch> touches, uint64_t eager) {
  std::vector<VertexId> sends;
  const auto followed = [&](VertexId v) { return std::ranges::any_of(schedule.dependents(v), [](Edge e) { return e.on_start == 0; }); };
  for (VertexId v = 0; v < schedule.size(); ++v) {
    if (schedule[v].kind == Kind::send && schedule[v].size > eager && followed(v)) sends.push_back(v);
  }
  if (sends.empty()) return sends;
  const std::vector<VertexId> order = topological_order(schedule);
  const std::vector<bool> late = late_receives(schedule, touches, order);
  std::vector<bool> leads(schedule.size());  // to something that another rank may wait for, by its start
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    leads[*v] = schedule[*v].kind == Kind::send || late[*v] ||
                std::ranges::any_of(schedule.dependents(*v), [&](Edge e) { return leads[e.vertex]; });
  }
  std::erase_if(sends, [&](VertexId v) {
    return std::ranges::none_of(schedule.dependents(v), [&](Edge e) { return e.on_start == 0 && leads[e.vertex]; });
  });
  return sends;
}

Schedule with_copies(const Schedule& schedule, std::span<const VertexId> sends) {
  Schedule result;
  std::vector<VertexId> stands_for(schedule.size());
  for (VertexId v = 0; v < schedule.size(); ++v) stands_for[v] = result.add(schedule[v], schedule.label(v));
  for (const VertexId send : sends) {
    Vertex copy;
    copy.kind = Kind::local;
    copy.where = schedule[send].where;
    copy.needs = schedule[send].needs;
    stands_for[send] = result.add(copy, {});
    result.set_needs(send, 0);
    result.add_dependency(send, stands_for[send]);
  }
  for (VertexId v = 0; v < schedule.size(); ++v) {
    for (const Edge e : schedule.prerequisites(v))
      result.add_dependency(stands_for[v], stands_for[e.vertex], e.on_start ? After::start : After::finish);
  }
  result.finish();
  return result;
}

Plan buffered(Plan plan, const std::function<bool(VertexId)>& proven) {
  const std::vector<Touch> all = touches_of(plan);
  std::vector<VertexId> sends = sends_to_buffer(plan.graph, all);
  if (proven) std::erase_if(sends, proven);
  if (sends.empty()) return plan;
  assert(plan.works.size() == plan.graph.size());
  plan.graph = with_copies(plan.graph, sends);
  for (const VertexId send : sends) {
    const uint64_t bytes = plan.graph[send].size, place = (plan.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > kMaxExtent || place > kMaxExtent) {
      throw ScheduleError(plan.graph[send].where, "the " + plan.graph.describe(send) +
                                                      " must be buffered, because other messages wait for its end, "
                                                      "and is larger than memory; make it smaller or let nothing wait for it");
    }
    Memory& from = plan.works[send].memory;
    plan.works.push_back({.memory = scratchpad(place), .a = from, .b = {}, .count = bytes, .op = PTLX_COPY, .type = PTL_UINT8_T});
    plan.works[send].memory = scratchpad(place);
    plan.scratch_bytes = place + bytes;
  }
  assert(plan.works.size() == plan.graph.size());
  return plan;
}

void buffer_circles(std::vector<Plan>& plans) {
  const auto any_late = [](const Plan& plan) {
    const std::vector<bool> late = late_receives(plan.graph, touches_of(plan), topological_order(plan.graph));
    return std::ranges::find(late, true) != late.end();
  };
  if (std::ranges::none_of(plans, any_late)) return;
  std::vector<Schedule> graphs;
  for (const Plan& plan : plans) graphs.push_back(plan.graph);
  try {
    validate(graphs, kAlwaysEager);
    if (std::ranges::none_of(graphs, has_wildcards)) return;
  } catch (const ScheduleError&) {  // a circle, for the graphs are valid otherwise
  }
  for (Plan& plan : plans) plan = buffered(std::move(plan));
}

}  // namespace portunus::goal
