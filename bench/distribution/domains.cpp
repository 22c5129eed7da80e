// domains.cpp: steps of a domain, timed: domains SECONDS VIRTUAL. Each virtual processor reads the value of the one before it, writes into
// the one behind it, and all add up. The neighbour is named by a closed form, and by a function (rows that end in -function).
#include <ccc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct State {
  double value, other;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Prints the median of what `step` takes, in microseconds; all PEs do it equally often.
template <class F>
void timed(const char* what, double seconds, bool right, F step) {
  static long here, times;
  step();
  const double begin = now();
  step();
  here = std::clamp(static_cast<long>(seconds / (now() - begin)), 3l, 2000l);
  shmem_long_min_reduce(SHMEM_TEAM_WORLD, &times, &here, 1);
  std::vector<double> taken;
  for (long i = 0; i < times; ++i) {
    shmem_barrier_all();
    const double from = now();
    step();
    taken.push_back((now() - from) * 1e6);
  }
  std::sort(taken.begin(), taken.end());
  if (shmem_my_pe() == 0)
    printf("domains who=ours step=%s p50=%.3f least=%.3f wrong=%d\n", what, taken[taken.size() / 2], taken[0], right ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  const double seconds = argc > 1 ? atof(argv[1]) : 0.2;
  const ccc::index_t n = argc > 2 ? atoll(argv[2]) : 1000000;
  {
    ccc::Domain<State> domain({n});
    domain.each([](State& mine, auto vp) { mine = {static_cast<double>(vp.number % 1000), -1.0}; });
    const auto before = [n](const auto& vp) { return vp.number == 0 ? n - 1 : vp.number - 1; };
    const auto behind = [n](const auto& vp) { return vp.number + 1 == n ? 0 : vp.number + 1; };
    const auto tripled = [](const State& mine, auto) { return mine.value * 3; };
    const auto add = [](double a, double b) { return a + b; };
    bool right = true;
    const auto check = [&](const auto& got) {
      domain.each([&](State&, auto vp) { right &= got[vp] == static_cast<double>((vp.number + n - 1) % n % 1000); });
    };
    check(domain.get(&State::value, ccc::circular_shift(-1)));
    timed("get", seconds, right, [&] { domain.get(&State::value, ccc::circular_shift(-1)); });
    check(domain.get(&State::value, before));
    timed("get-function", seconds, right, [&] { domain.get(&State::value, before); });
    const auto check_put = [&] {
      domain.each([&](State& mine, auto vp) {
        right &= mine.other == static_cast<double>((vp.number + n - 1) % n % 1000 * 3);
        mine.other = -1.0;
      });
    };
    domain.put(&State::other, ccc::circular_shift(1), tripled);
    check_put();
    timed("put", seconds, right, [&] { domain.put(&State::other, ccc::circular_shift(1), tripled); });
    check_put();
    domain.put(&State::other, behind, tripled);
    check_put();
    timed("put-function", seconds, right, [&] { domain.put(&State::other, behind, tripled); });
    double sum = 0;
    for (ccc::index_t i = 0; i < n; ++i) sum += static_cast<double>(i % 1000);
    right = domain.reduce(&State::value, add) == sum;  // whole numbers: exact in any order
    timed("reduce", seconds, right, [&] { domain.reduce(&State::value, add); });
  }
  if (shmem_my_pe() == 0) puts("domains done");
  shmem_finalize();
  return 0;
}
