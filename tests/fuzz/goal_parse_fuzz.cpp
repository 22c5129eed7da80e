// Any bytes given to the GOAL reader are either refused with a place and a sentence or yield a graph that holds its
// invariants. With Clang built as a libFuzzer target (-fsanitize=fuzzer); with -DFUZZ_REPLAY a program that runs the
// files of the directories named on its command line.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "engine/goal/parse.hpp"
#include "engine/goal/validate.hpp"

namespace {

using namespace portunus::goal;

void require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", invariant);
  std::abort();
}

void check_graph(const Schedule& s) {
  std::uint64_t in = 0, out = 0;
  for (VertexId v = 0; v < s.size(); ++v) {
    in += s.prerequisites(v).size();
    out += s.dependents(v).size();
    for (const Edge e : s.prerequisites(v)) require(e.vertex < s.size() && e.vertex != v, "prerequisites exist");
    require(s.label(v).empty() || s.find(s.label(v)) == v, "labels are found");
  }
  require(in == s.num_edges() && out == in, "both edge lists are complete");
}

void check(std::string_view text) {
  try {
    const GoalFile file = parse_goal(text);
    require(file.ranks.size() == file.num_ranks, "one schedule per rank");
    for (const Schedule& s : file.ranks) check_graph(s);
    validate(file.ranks);
    validate(file.ranks, 0);
  } catch (const ScheduleError& e) {
    require(e.line >= 1 && e.column >= 1, "errors have a place");
    require(!e.message.empty(), "errors have a sentence");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifdef FUZZ_REPLAY
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      check(text);
      // Every prefix too: the cheapest way to meet an end of file in every state of the reader.
      for (std::size_t n = 0; n < text.size() && text.size() <= 4096; ++n) check(std::string_view(text).substr(0, n));
      ++files;
    }
  }
  std::printf("%zu files\n", files);
  return files == 0 ? 1 : 0;
}
#endif
