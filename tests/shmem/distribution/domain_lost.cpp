// domain_lost.cpp: the last PE is killed inside a step of a domain, while it computes an index, a value or a sum: MODE CALL, the how
// manieth such call kills. Exchanges give the others an error; the other steps end the job with a sentence, as OpenSHMEM's calls do.
#include <ccc.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct State {
  double value, other;
};
long calls = 0, fatal = 0;

void count_call() {
  if (shmem_my_pe() == shmem_n_pes() - 1 && ++calls == fatal) raise(SIGKILL);
}

void step(ccc::Domain<State>& domain, const std::string& mode) {
  const ccc::index_t n = domain.size();
  const auto next = [n](const auto& vp) { return count_call(), (vp.number + 1) % n; };
  const auto triple = [](const State& mine, auto) { return count_call(), mine.value * 3; };
  if (mode == "get") {
    domain.each([](State&, auto) { count_call(); });
    domain.get(&State::value, ccc::circular_shift(1));
  } else if (mode == "get-function") {
    domain.get(&State::value, next);
  } else if (mode == "put") {
    domain.put(&State::other, ccc::circular_shift(1), triple);
  } else if (mode == "put-function") {
    domain.put(&State::other, next, triple);
  } else {
    domain.reduce(&State::value, [](double a, double b) { return count_call(), a + b; });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "get";
  fatal = argc > 2 ? atol(argv[2]) : 1000;
  shmem_init();
  ccc::Domain<State> domain({3000});
  domain.each([](State& mine, auto vp) { mine = {static_cast<double>(vp.number), 0}; });
  try {
    if (mode == "exchange") {
      auto exchange = domain.exchange(&State::value, ccc::circular_shift(1));
      for (;;) {
        count_call();
        exchange.start();
        exchange.wait();
      }
    }
    for (;;) step(domain, mode);
  } catch (const ccc::Error& error) {
    printf("code %d: %s\n", error.code(), error.what());
    fflush(stdout);
    _Exit(error.code() == CCC_ERR_FAILED ? 3 : 4);  // those who are left cannot finalize together
  }
}
