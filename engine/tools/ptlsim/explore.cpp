// explore.cpp: see explore.hpp.
#include "engine/tools/ptlsim/explore.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/tools/command_line.hpp"

namespace portunus::ptlsim {
namespace {

constexpr int kOtherOutput = 1;        // status
constexpr unsigned kLongestRun = 120;  // s of the processor; who takes longer runs on and on

double wall() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A run in a child, and all that it has printed.
struct Tried {
  int status;
  std::string output;
};

Tried try_seed(const JobOptions& options, Copies& copies) {
  const int file = memfd_create("output", MFD_CLOEXEC);
  Tried tried{run_in_child(options, copies,
                           [file] {
                             dup2(file, 1);
                             dup2(file, 2);
                             alarm(kLongestRun);
                           }),
              ""};
  lseek(file, 0, SEEK_SET);
  std::array<char, 8192> buffer;
  for (ssize_t got; (got = read(file, buffer.data(), buffer.size())) > 0;) tried.output.append(buffer.data(), static_cast<size_t>(got));
  close(file);
  return tried;
}

// Lines begin with their rank; each rank's are in their order.
std::vector<std::string> lines_by_rank(const std::string& output) {
  std::istringstream all(output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  std::ranges::stable_sort(lines, {}, [](const std::string& line) { return line.substr(0, line.find(']')); });
  return lines;
}

// The first difference of what the ranks print, or nothing.
std::string difference(const std::string& usual, const std::string& other) {
  const std::vector<std::string> lines = lines_by_rank(usual), others = lines_by_rank(other);
  const auto [line, another] = std::ranges::mismatch(lines, others);
  if (line == lines.end() && another == others.end()) return "";
  const auto quoted = [](auto place, auto end) { return place == end ? std::string("nothing more") : "'" + *place + "'"; };
  return quoted(another, others.end()) + " is printed instead of " + quoted(line, lines.end());
}

}  // namespace

int run_job(const JobOptions& options, Copies& copies) {
  Ranks& ranks = *new Ranks(options);  // what is on its fibers is never destroyed
  ranks.load(copies);
  return ranks.run();
}

int run_in_child(const JobOptions& options, Copies& copies, const std::function<void()>& first) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child can be made");
  if (child == 0) {
    first();
    int status = kBadUse;
    try {
      status = run_job(options, copies);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ptlsim: %s\n", error.what());
    }
    std::fflush(nullptr);
    _Exit(status);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? (WTERMSIG(status) == SIGALRM ? 124 : 128 + WTERMSIG(status)) : WEXITSTATUS(status);
}

int explore(JobOptions options, Copies& copies, double seconds, bool same_output) {
  const double end = wall() + seconds;
  const uint64_t usual_seed = options.seed;
  std::string usual;
  if (same_output) usual = try_seed(options, copies).output;
  uint32_t number = 0;
  do {
    ++options.seed;
    ++number;
    Tried tried = try_seed(options, copies);
    const std::string other = same_output && tried.status == 0 ? difference(usual, tried.output) : "";
    if (tried.status == 0 && other.empty()) continue;
    std::fwrite(tried.output.data(), 1, tried.output.size(), stdout);
    std::fflush(stdout);
    if (!other.empty()) {
      std::fprintf(stderr, "ptlsim: %s, as with seed %lu: the order of messages decides; --compute zero --seed %lu replays it\n",
                   other.c_str(), usual_seed, options.seed);
      return kOtherOutput;
    }
    std::fprintf(stderr, "ptlsim: seed %lu fails with status %d, after %u that did not; --compute zero --seed %lu replays it\n",
                 options.seed, tried.status, number - 1, options.seed);
    return tried.status;
  } while (wall() < end);
  std::fprintf(stderr, "ptlsim: %u seeds, none fails; go on with --seed %lu\n", number, options.seed);
  return 0;
}

}  // namespace portunus::ptlsim
