// Baton: in all interleavings of a few threads, one of which holds the bias, at most one holds the baton, and no command is left
// behind. With the heavy fence of who takes the bias back taken out, both go wrong.
#include <gtest/gtest.h>

#include <iostream>

#include "engine/progress/baton.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"
#include "tests/support/views.hpp"

namespace portunus {
namespace {

using interleave::Cell;
using interleave::kFinished;

// The words of a baton come first, in the order of its members; it is the bias of the first thread.
struct Shared {
  interleave::Program program;
  BasicBaton<interleave::Memory> baton;
  Cell data{"data"}, queue{"queue"};
  Cell done[3] = {Cell{"done by the first"}, Cell{"done by the second"}, Cell{"done by the third"}};

  Shared() {
    for (auto [at, name] : {std::pair{0, "word"}, {1, "granted"}, {2, "blocked"}, {3, "inside"}}) program.names[at] = name;
    program.initial[1] = 1;
    for (Cell& cell : done) program.alone[cell.where()] = true;
  }
  // What only the holder may do.
  void use(int thread) {
    data.store(data.load_relaxed() + 1);
    done[thread].store(done[thread].load_relaxed() + 1);
  }
};

template <class Model>
struct Scenarios {
  using Ending = interleave::Ending<Model>;

  static bool wrong(Shared& shared, typename interleave::Explorer<Model>::Right right) {
    const interleave::Found found = interleave::Explorer<Model>(shared.program, std::move(right)).run();
    std::cout << found.states << " states\n" << found.interleaving;
    return found.lost;
  }

  // The thread with the bias uses the baton twice; others want it once.
  static bool exclusion(bool heavy, int others, bool grants_again) {
    Shared s;
    s.program.thread("owner", [&s, grants_again](uint32_t) -> uint32_t {
      bool biased = true;
      for (int i = 0; i < 2; ++i) {
        if (!s.baton.try_take(biased)) continue;
        s.use(0);
        if (!biased && grants_again) s.baton.release_biased(biased);
        else s.baton.release(biased);
      }
      return kFinished;
    });
    for (int i = 1; i <= others; ++i)
      s.program
          .thread("other",
                  [&s, i](uint32_t) -> uint32_t {
                    bool biased = false;
                    if (!s.baton.try_take(biased)) return kFinished;
                    s.use(i);
                    return s.baton.release(biased), kFinished;
                  })
          .heavy = heavy;
    return wrong(
        s, [&s](const Ending& end) { return end.value(s.data) == end.value(s.done[0]) + end.value(s.done[1]) + end.value(s.done[2]); });
  }

  // The thread with the bias looks at a condition under the baton, and that steps the engine if nobody else does: it asks for what it
  // holds.
  static bool entered_again(bool biased_at_first) {
    Shared s;
    s.program.initial[1] = biased_at_first;
    s.program.thread("owner", [&s, biased_at_first](uint32_t) -> uint32_t {
      bool biased = biased_at_first;
      if (!s.baton.try_take(biased)) return kFinished;
      if (s.baton.try_take(biased)) {
        s.use(1);
        s.baton.release(biased);
      }
      s.use(0);
      return s.baton.release(biased), kFinished;
    });
    s.program.thread("other", [&s](uint32_t) -> uint32_t {
      bool biased = false;
      if (!s.baton.try_take(biased)) return kFinished;
      s.use(2);
      return s.baton.release(biased), kFinished;
    });
    return wrong(s, [&s](const Ending& end) {
      return end.value(s.data) == end.value(s.done[0]) + end.value(s.done[1]) + end.value(s.done[2]) && end.value(s.done[1]) == 0;
    });
  }

  // Another thread pushes a command while the owner may be inside.
  static bool push(bool heavy) {
    Shared s;
    auto leave = [&s](int thread, bool& biased) {
      for (;;) {
        s.baton.release(biased);
        if (s.queue.load() == 0 || !s.baton.try_take(biased)) return;
        if (s.data.load_relaxed() == 0) s.use(thread);
        else return s.baton.release(biased);
      }
    };
    s.program.thread("owner", [&s, leave](uint32_t) -> uint32_t {
      bool biased = true;
      if (s.baton.try_take(biased)) leave(0, biased);
      return kFinished;
    });
    s.program
        .thread("pusher",
                [&s, leave](uint32_t) -> uint32_t {
                  bool biased = false;
                  s.queue.store_release(1);
                  interleave::Memory::fence();
                  while (!s.baton.held()) {
                    if (!s.baton.try_take(biased)) continue;
                    if (s.data.load_relaxed() == 0) s.use(1);
                    return leave(1, biased), kFinished;
                  }
                  return kFinished;
                })
        .heavy = heavy;
    return wrong(s, [&s](const Ending& end) { return end.value(s.data) == 1; });
  }
};

using X86 = Scenarios<interleave::StoreBuffers>;
using Cpp = Scenarios<interleave::Views>;

TEST(BatonInterleaving, AtMostOneHoldsItAlsoWhileTheBiasIsTakenBack) {
  EXPECT_FALSE(X86::exclusion(true, 1, false));
  EXPECT_FALSE(Cpp::exclusion(true, 1, false));
}
TEST(BatonInterleaving, AtMostOneHoldsItWhenTwoTakeTheBiasBackAtOnce) { EXPECT_FALSE(X86::exclusion(true, 2, false)); }
TEST(BatonInterleaving, AtMostOneHoldsItWhenTheBiasIsGivenAgain) {
  EXPECT_FALSE(X86::exclusion(true, 1, true));
  EXPECT_FALSE(Cpp::exclusion(true, 1, true));
}
TEST(BatonInterleaving, WhoHoldsItIsRefusedAndKeepsItWithTheBiasAndWithout) {
  for (bool biased : {false, true}) {
    EXPECT_FALSE(X86::entered_again(biased));
    EXPECT_FALSE(Cpp::entered_again(biased));
  }
}
TEST(BatonInterleaving, NoCommandIsLeftBehind) {
  EXPECT_FALSE(X86::push(true));
  EXPECT_FALSE(Cpp::push(true));
}
TEST(BatonInterleaving, AFenceThatDoesNotReachTheOwnerOfTheBiasLetsTwoHoldIt) {
  EXPECT_TRUE(X86::exclusion(false, 1, false));
  EXPECT_TRUE(Cpp::exclusion(false, 1, false));
}
TEST(BatonInterleaving, AFenceThatDoesNotReachTheOwnerOfTheBiasLeavesACommandBehind) {
  EXPECT_TRUE(X86::push(false));
  EXPECT_TRUE(Cpp::push(false));
}

}  // namespace
}  // namespace portunus
