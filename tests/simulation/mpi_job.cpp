// mpi_job.cpp: see mpi_job.hpp.
#include "tests/simulation/mpi_job.hpp"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "tests/simulation/mpi/history.hpp"
#include "tests/simulation/mpi/plan.hpp"
#include "tests/simulation/mpi/processes.hpp"
#include "tests/support/thorough.hpp"

namespace portunus::simulation {
namespace {

constexpr uint32_t kMostRanks = 5;

std::string object_used;
bool tells_acts = false;
const Copies& copies() {
  static const Copies copies(object_used, kMostRanks);
  return copies;
}

// The whole weather of a job; its limit is what MPI's processes are told.
struct Sky {
  Weather weather;
  bool survivors = false;
  std::vector<Misfortune> misfortunes;
  size_t eager = 0, short_limit = 0, buffer = 0;
};

Sky draw_sky(uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 99);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  constexpr size_t kEager[] = {8'192, 16'384, 32'768, 60'000};
  constexpr size_t kPull[] = {0, 4'096, size_t{1} << 20};
  constexpr size_t kCapacity[] = {1, 3, 16, 1'000};
  Sky sky;
  Weather& weather = sky.weather;
  weather.ranks = 2 + draw(kMostRanks - 1);
  weather.eager = kEager[draw(4)];
  weather.pull = kPull[draw(3)];
  weather.capacity = kCapacity[draw(4)];
  weather.draw_moods(draw);
  weather.timeout = 1'000 * kMillisecond;
  sky.survivors = draw(4) == 0;
  constexpr size_t kLimits[] = {64, 256, 8'192};
  sky.eager = draw(2) ? kLimits[draw(3)] : 0;
  sky.short_limit = draw(2) ? kLimits[draw(3)] : 0;
  sky.buffer = draw(6) ? 0 : 128 << 10;
  for (uint32_t more = draw(3); more > 0; --more) {
    Misfortune each{.turns = draw(draw(2) ? 300 : 5'000), .rank = draw(weather.ranks), .duration = weather.timeout / 4 + draw(400'000'000)};
    each.other = (each.rank + 1 + draw(weather.ranks - 1)) % weather.ranks;
    each.at_once = draw(2);
    each.kind = sky.survivors && draw(3) ? Misfortune::Kind::kill : draw(2) ? Misfortune::Kind::stop : Misfortune::Kind::cut;
    sky.misfortunes.push_back(each);
  }
  return sky;
}

void tell(const Sky& sky) {
  const Weather& w = sky.weather;
  std::printf(
      "%u ranks, eager %zu (MPI's %zu, short %zu, buffer %zu), pull %zu, capacity %zu, descriptor %d, losses by poll %d, bundles %d, "
      "in place %d, costly %d, refuses memory %d\n",
      w.ranks, w.eager, sky.eager, sky.short_limit, sky.buffer, w.pull, w.capacity, w.has_fd, w.tells_by_poll, w.bundles, w.in_place,
      w.costly, w.refuses_memory);
  constexpr const char* kNames[] = {"nothing", "death", "stop", "cut"};
  for (const Misfortune& each : sky.misfortunes)
    std::printf("%s of rank %u (and %u) after %lu turns, for %lu ns\n", kNames[static_cast<int>(each.kind)], each.rank, each.other,
                each.turns, each.duration);
}

void set(const char* name, size_t value) { setenv(name, std::to_string(value).c_str(), 1); }

}  // namespace

void MpiJob::use(const std::string& object, bool tells) {
  tells_acts = tells;
  object_used = object;
}

bool MpiJob::has_deaths(uint64_t seed) {
  const Sky sky = draw_sky(seed);
  return std::any_of(sky.misfortunes.begin(), sky.misfortunes.end(),
                     [](const Misfortune& each) { return each.kind == Misfortune::Kind::kill; });
}

void MpiJob::go(Result& result) const {
  const Sky sky = draw_sky(seed_);
  setenv("PTL_PROGRESS", "caller", 1);
  set("PTL_PEER_TIMEOUT", 1);
  if (sky.eager) set("MPIADI_EAGER_LIMIT", sky.eager);
  if (sky.short_limit) setenv("PTL_DEBUG", ("very-short=" + std::to_string(sky.short_limit)).c_str(), 1);
  if (sky.buffer) set("MPIADI_UNEXPECTED_LIMIT", 4 * sky.buffer);
  const Plan plan = draw_plan(seed_, static_cast<int>(sky.weather.ranks), sky.survivors);
  History history;
  Processes& processes = *new Processes(sky.weather, seed_, mutant_, sky.misfortunes);  // what is on its fibers is never destroyed
  processes.tells = tells_acts;
  if (tells_acts) tell(sky);
  processes.run(copies(), plan, history);
  std::string violation = processes.net.violation;
  if (violation.empty() && !sky.survivors) violation = differs(history);
  if (violation.empty() && sky.survivors) {
    std::vector<bool> alive;
    for (uint32_t r = 0; r < sky.weather.ranks; ++r) alive.push_back(processes.alive(r));
    violation = differ_survivors(history, plan, alive);
  }
  result.acts = processes.acts();
  result.struck = processes.net.struck;
  result.trace = processes.trace();
  result.turns = processes.turns();
  std::snprintf(result.violation, sizeof result.violation, "%s", violation.c_str());
  result.ended = true;
}

std::string MpiJob::run() {
  copies();
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no memory for a result");
  Result& told = *static_cast<Result*>(shared);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child can be made");
  if (child == 0) {
    constexpr rlim_t kSeconds = test::kSanitized ? 600 : 60;
    const rlimit limit{kSeconds, kSeconds + 5};
    setrlimit(RLIMIT_CPU, &limit);
    signal(SIGXCPU, [](int) {
      void* frames[30];
      backtrace_symbols_fd(frames, backtrace(frames, 30), 2);
      _exit(99);
    });
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    go(told);
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result_ = told;
  munmap(shared, sizeof(Result));
  if (result_.ended) return result_.violation;
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "a process runs on and on"
                                                                      : "a process ends by signal " + std::to_string(WTERMSIG(status));
  return "a process ends with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace portunus::simulation
