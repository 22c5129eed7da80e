// Any bytes given to the readers of GOAL - the text, the simulators' binary form, blocks of compiled schedules - are either
// refused with a sentence, and of texts with a place, or yield a graph that holds its invariants and compiles. With Clang built as a
// libFuzzer target (-fsanitize=fuzzer); with -DFUZZ_REPLAY a program that runs the files of the directories named on its command line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/binary.hpp"
#include "engine/goal/schedules/block.hpp"
#include "engine/goal/schedules/validate.hpp"
#include "engine/goal/schedules/write.hpp"

namespace {

using namespace portunus::goal;

void require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", invariant);
  std::abort();
}

void check_graph(const Schedule& s) {
  uint64_t in = 0, out = 0;
  for (VertexId v = 0; v < s.size(); ++v) {
    in += s.prerequisites(v).size();
    out += s.dependents(v).size();
    for (const Edge e : s.prerequisites(v)) require(e.vertex < s.size() && e.vertex != v, "prerequisites exist");
    require(s.label(v).empty() || s.find(s.label(v)) == v, "labels are found");
  }
  require(in == s.num_edges() && out == in, "both edge lists are complete");
}

// Everything that a program does with a file after reading it.
void check_schedules(GoalFile file) {
  require(file.ranks.size() == file.num_ranks, "one schedule per rank");
  for (const Schedule& s : file.ranks) check_graph(s);
  validate(file.ranks);
  validate(file.ranks, 0);
  std::vector<Wildcards> wildcards;
  for (const Schedule& s : file.ranks) wildcards.emplace_back(s);
  std::vector<Plan> plans = plans_of(std::move(file));
  const std::string text = write_goal(std::span<const Plan>(plans));
  const std::vector<Plan> again = plans_of(parse_goal(text));
  require(write_goal(std::span<const Plan>(again)) == text, "what is written is read again");
  for (uint32_t r = 0; r < plans.size(); ++r) {
    const auto compiled = compile(plans[r], r, wildcards);
    const auto check_point = [&](const Point& when) {
      require(when.threshold > 0 && when.threshold <= compiled->program.increments[when.counter], "thresholds are reached");
    };
    for (const Operation& o : compiled->program.triggered) check_point(o.when);
    for (const Relay& relay : compiled->program.relays) check_point(relay.when);
    (void)save(*compiled);
  }
}

void check_text(std::string_view text) {
  try {
    check_schedules(parse_goal(text));
  } catch (const ScheduleError& e) {
    require(e.line >= 1 && e.column >= 1, "errors have a place");
    require(!e.message.empty(), "errors have a sentence");
  }
}

void check_binary(std::string_view bytes) {
  try {
    GoalFile file = read_binary_goal(bytes);
    require(read_binary_goal(write_binary_goal(file.ranks)).num_ranks == file.num_ranks, "what is written is read again");
    check_schedules(std::move(file));
  } catch (const ScheduleError& e) {
    require(!e.message.empty(), "errors have a sentence");
  }
}

void check_block(std::string_view bytes) {
  std::vector<std::byte> block(bytes.size());
  std::transform(bytes.begin(), bytes.end(), block.begin(), [](char c) { return static_cast<std::byte>(c); });
  seal(block);
  try {
    require(save(*load(block, 8)) == block, "a block that is accepted is the only one of its schedule");
  } catch (const ScheduleError& e) {
    require(!e.message.empty(), "errors have a sentence");
  }
}

void check(std::string_view bytes) {
  if (bytes.starts_with("GOALBLK")) check_block(bytes);
  else if (is_binary_goal(bytes)) check_binary(bytes);
  else check_text(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifdef FUZZ_REPLAY
#include <filesystem>
#include <fstream>
#include <iterator>

int main(int argc, char** argv) {
  size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      check(text);
      // Every prefix too: the cheapest way to meet an end of file in every state of the reader.
      for (size_t n = 0; n < text.size() && text.size() <= 4096; ++n) check(std::string_view(text).substr(0, n));
      // And each bit of what is not text.
      std::string changed = text;
      const bool is_text = text.find('\0') == std::string::npos;
      for (size_t n = 0; n < 8 * text.size() && text.size() <= 4096 && !is_text; ++n) {
        changed[n / 8] = static_cast<char>(changed[n / 8] ^ 1 << n % 8);
        check(changed);
        changed[n / 8] = text[n / 8];
      }
      ++files;
    }
  }
  std::printf("%zu files\n", files);
  return files == 0 ? 1 : 0;
}
#endif
