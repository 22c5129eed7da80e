// Schedules to text: see write.hpp.
//
// Thread: any; pure.
#include "engine/goal/schedules/write.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/compile.hpp"

namespace portunus::goal {

namespace {

// Words at the beginning of a line that txt2bin takes for something else than a label.
constexpr std::array<std::string_view, 5> kKeywords{"send", "recv", "calc", "rank", "num_ranks"};

class TextWriter {
 public:
  explicit TextWriter(const WriteOptions& options) : options_(options) {}
  void begin(size_t ranks) { text_ = "num_ranks " + std::to_string(ranks) + "\n"; }
  void rank(size_t number, const Schedule& schedule, const Plan* plan);
  std::string take() { return std::move(text_); }

 private:
  void name_all(const Schedule& schedule);
  void operation(const Schedule& schedule, VertexId v, const Plan* plan, uint32_t tag);
  void annotations(const Schedule& schedule, VertexId v, const Plan* plan);

  const WriteOptions& options_;
  std::string text_;
  std::vector<std::string> names_;
};

void TextWriter::name_all(const Schedule& schedule) {
  names_.assign(schedule.size(), {});
  for (VertexId v = 0; v < schedule.size(); ++v) {
    std::string name(schedule.label(v));
    const bool usable = !name.empty() && std::ranges::find(kKeywords, name) == kKeywords.end();
    if (!usable) {
      for (name = "o" + std::to_string(v); schedule.find(name) != kNoVertex;) name += "_";
    }
    names_[v] = std::move(name);
  }
}

void TextWriter::operation(const Schedule& schedule, VertexId v, const Plan* plan, uint32_t tag) {
  const Vertex& vertex = schedule[v];
  const auto number = [](uint32_t n) { return n == kAnyTag ? std::string("-1") : std::to_string(n); };
  text_ += names_[v] + ": ";
  if (vertex.is_message()) {
    text_ += vertex.kind == Kind::send ? "send " : "recv ";
    text_ += std::to_string(std::max<uint64_t>(vertex.size, 1));
    text_ += vertex.kind == Kind::send ? "b to " : "b from ";
    text_ += number(vertex.peer) + " tag " + number(tag);
  } else {
    const bool local = vertex.kind == Kind::local;
    text_ += "calc " + std::to_string(!local ? vertex.size : plan && options_.cost ? options_.cost(*plan, v) : 0);
  }
  if (vertex.cpu != 0) text_ += " cpu " + std::to_string(vertex.cpu);
  if (vertex.nic != 0 && vertex.is_message()) text_ += " nic " + std::to_string(vertex.nic);
  text_ += '\n';
}

void TextWriter::annotations(const Schedule& schedule, VertexId v, const Plan* plan) {
  const std::string begin = "//@ " + names_[v] + " ";
  const Vertex& vertex = schedule[v];
  if (vertex.is_message() && vertex.size == 0) text_ += begin + "bytes 0\n";
  if (vertex.needs != 0) text_ += begin + "needs " + std::to_string(vertex.needs) + "\n";
  if (plan && vertex.kind != Kind::calc) text_ += begin + annotation_of(*plan, v) + "\n";
}

void TextWriter::rank(size_t number, const Schedule& schedule, const Plan* plan) {
  name_all(schedule);
  std::vector<uint32_t> numbers;
  if (options_.distinct_tags) numbers = message_numbers(schedule);
  text_ += "rank " + std::to_string(number) + " {\n";
  if (plan && plan->scratch_bytes > 0) text_ += "//@ scratch " + std::to_string(plan->scratch_bytes) + "\n";
  for (VertexId v = 0; v < schedule.size(); ++v) {
    operation(schedule, v, plan, numbers.empty() ? schedule[v].tag : numbers[v]);
    annotations(schedule, v, plan);
  }
  for (VertexId v = 0; v < schedule.size(); ++v) {
    for (const Edge e : schedule.prerequisites(v)) {
      text_ += names_[v] + (e.on_start ? " irequires " : " requires ") + names_[e.vertex] + "\n";
    }
  }
  text_ += "}\n";
}

template <class Ranks, class ScheduleOf, class PlanOf>
std::string write_all(const Ranks& ranks, WriteOptions options, ScheduleOf&& schedule_of, PlanOf&& plan_of) {
  for (const auto& rank : ranks) options.distinct_tags = options.distinct_tags && !has_wildcards(schedule_of(rank));
  TextWriter writer(options);
  writer.begin(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) writer.rank(r, schedule_of(ranks[r]), plan_of(ranks[r]));
  return writer.take();
}

}  // namespace

bool has_wildcards(const Schedule& schedule) {
  return std::ranges::any_of(schedule.vertices(),
                             [](const Vertex& v) { return v.kind == Kind::recv && (v.peer == kAnySource || v.tag == kAnyTag); });
}

// In the order of tags, and of the program among equal ones: that order is the same at both ends.
std::vector<uint32_t> message_numbers(const Schedule& schedule) {
  std::vector<VertexId> messages;
  for (VertexId v = 0; v < schedule.size(); ++v) {
    if (schedule[v].is_message()) messages.push_back(v);
  }
  const auto key = [&](VertexId v) { return std::tuple(schedule[v].kind, schedule[v].peer, schedule[v].tag, v); };
  std::ranges::sort(messages, {}, key);
  std::vector<uint32_t> numbers(schedule.size());
  for (size_t i = 1; i < messages.size(); ++i) {
    const Vertex &last = schedule[messages[i - 1]], &now = schedule[messages[i]];
    if (last.kind == now.kind && last.peer == now.peer) numbers[messages[i]] = numbers[messages[i - 1]] + 1;
  }
  return numbers;
}

std::string write_goal(std::span<const Plan> ranks, const WriteOptions& options) {
  return write_all(
      ranks, options, [](const Plan& plan) -> const Schedule& { return plan.graph; }, [](const Plan& plan) { return &plan; });
}

std::string write_rank(size_t number, const Plan& plan) {
  const WriteOptions options;
  TextWriter writer(options);
  writer.rank(number, plan.graph, &plan);
  return writer.take();
}

std::string write_goal(std::span<const Schedule> ranks, const WriteOptions& options) {
  return write_all(
      ranks, options, [](const Schedule& s) -> const Schedule& { return s; }, [](const Schedule&) -> const Plan* { return nullptr; });
}

}  // namespace portunus::goal
