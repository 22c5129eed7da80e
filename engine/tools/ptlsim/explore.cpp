// explore.cpp: see explore.hpp.
#include "engine/tools/ptlsim/explore.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <stdexcept>

#include "engine/tools/command_line.hpp"

namespace portunus::ptlsim {
namespace {

constexpr unsigned kLongestRun = 120;  // s of the processor; who takes longer runs on and on

double wall() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void copy_out(int file) {
  lseek(file, 0, SEEK_SET);
  std::array<char, 8192> buffer;
  for (ssize_t got; (got = read(file, buffer.data(), buffer.size())) > 0;)
    if (std::fwrite(buffer.data(), 1, static_cast<size_t>(got), stdout) == 0) break;
  std::fflush(stdout);
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

int explore(JobOptions options, Copies& copies, double seconds) {
  const double end = wall() + seconds;
  uint32_t tried = 0;
  do {
    ++options.seed;
    ++tried;
    const int file = memfd_create("output", MFD_CLOEXEC);
    const int status = run_in_child(options, copies, [file] {
      dup2(file, 1);
      dup2(file, 2);
      alarm(kLongestRun);
    });
    if (status != 0) {
      copy_out(file);
      std::fprintf(stderr, "ptlsim: seed %lu fails with status %d, after %u that did not; --compute zero --seed %lu replays it\n",
                   options.seed, status, tried - 1, options.seed);
      return status;
    }
    close(file);
  } while (wall() < end);
  std::fprintf(stderr, "ptlsim: %u seeds, none fails; go on with --seed %lu\n", tried, options.seed);
  return 0;
}

}  // namespace portunus::ptlsim
