// goal_builder_test.cpp: goal.hpp as a C++ program uses it, on any number of ranks.
#include "engine/goal/goal.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace {

void expect(bool condition, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d does not hold; %s\n", line, GOAL_Explain());
  std::exit(1);
}
#define EXPECT(condition) expect((condition), __LINE__)

static_assert(goal::type_of<int8_t>() == GOAL_INT8 && goal::type_of<unsigned short>() == GOAL_UINT16 &&
              goal::type_of<const long>() == GOAL_INT64);
static_assert(goal::type_of<float>() == GOAL_FLOAT && goal::type_of<std::complex<double>>() == GOAL_DOUBLE_COMPLEX);

constexpr size_t kCount = 100;
using Vector = std::array<double, kCount>;

// Every rank adds up what all have, passing it around: by memory of its own, and by a block that travels.
void sums_go_around(const goal::Session& session) {
  const int right = (session.rank() + 1) % session.size(), left = (session.rank() + session.size() - 1) % session.size();
  Vector mine{}, passing{}, total{};
  goal::Schedule ring;
  ring.scratch(sizeof passing);
  goal::Op last = ring.local(GOAL_COPY, std::span(total), mine.data());
  goal::Op ready = ring.local(GOAL_COPY, std::span(passing), mine.data());
  for (int step = 1; step < session.size(); ++step) {
    const goal::Op sent = ring.send(std::span(passing), right, 7).after(ready);
    const goal::Op heard = ring.receive(GOAL_Pad(0), sizeof passing, left, 7).after(ready).after(last);
    last =
        ring.local(GOAL_ADD, GOAL_DOUBLE, GOAL_User(total.data()), GOAL_User(total.data()), GOAL_Pad(0), kCount).after(heard).after(last);
    ready = ring.local(GOAL_COPY, GOAL_DOUBLE, GOAL_User(passing.data()), GOAL_Pad(0), GOAL_User(nullptr), kCount).after(heard).after(sent);
  }
  ring.compile();
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::iota(mine.begin(), mine.end(), session.rank() + epoch);
    goal::Run run = ring.run();
    if (epoch % 2) run.wait();
    else
      while (!run.done()) {
      }
    for (size_t i = 0; i < kCount; ++i)
      EXPECT(total[i] == session.size() * (session.size() - 1) / 2 + session.size() * static_cast<double>(i + epoch));
  }
}

void copies_and_blocks_run_like_the_original(const goal::Session& session) {
  const int peer = session.size() - 1 - session.rank();  // perhaps this one
  std::array<int, 2> out{}, in{};
  goal::Schedule original;
  original.bind(0, std::span(out));
  original.bind(1, std::span(in));
  original.send(GOAL_Arg(0, 0), sizeof out, peer);
  original.receive(GOAL_Arg(1, 0), sizeof in, peer);
  original.compile();
  const std::vector<std::byte> block = original.save();
  goal::Schedule copy = original.clone(), loaded(block);
  std::array<int, 2> loaded_in{};
  loaded.bind(0, std::span(out));
  loaded.bind(1, std::span(loaded_in));
  copy.compile();
  loaded.compile();
  out = {session.rank(), 5};
  {
    goal::Run first = copy.run(), second = loaded.run();  // waited for when dropped
  }
  EXPECT(in[0] == peer && in[1] == 5 && loaded_in == in);
}

void either_of_two_is_enough() {
  uint64_t early = 0, late = 0;
  goal::Schedule schedule;
  const goal::Op slow = schedule.delay(2'000'000), fast = schedule.delay(1);
  schedule.timestamp(GOAL_User(&early)).after(slow).after(fast).needs(1);
  schedule.timestamp(GOAL_User(&late)).after(slow);
  schedule.compile();
  schedule.run().wait();
  EXPECT(early < late);
}

void errors_say_what_is_wrong(const goal::Session& session) {
  goal::Schedule schedule;
  try {
    int word = 0;
    schedule.send(std::span(&word, 1), session.size());
    EXPECT(false);
  } catch (const goal::Error& error) {
    EXPECT(error.code() == GOAL_ERR_ARG && *error.what() != '\0');
  }
  const goal::Op a = schedule.delay(1), b = schedule.delay(1).after(a);
  a.after(b);
  try {
    schedule.compile();
    EXPECT(false);
  } catch (const goal::Error& error) {
    EXPECT(error.code() == GOAL_ERR_CYCLE);
  }
}

// The messages of two schedules that exist at once are never taken for one another's, however many were compiled between them.
void a_context_is_not_given_twice() {
  goal::Schedule early;
  early.delay(1);
  early.compile();
  bool refused = false;
  for (int i = 0; i < 0x4000 && !refused; ++i) {
    goal::Schedule next;
    next.delay(1);
    try {
      next.compile();
    } catch (const goal::Error& error) {
      refused = error.code() == GOAL_ERR_NO_SPACE;
    }
  }
  EXPECT(refused);
  early = goal::Schedule();
  goal::Schedule next;
  next.delay(1);
  next.compile();
  next.run().wait();
}

}  // namespace

int main() {
  const goal::Session session;
  sums_go_around(session);
  copies_and_blocks_run_like_the_original(session);
  either_of_two_is_enough();
  errors_say_what_is_wrong(session);
  a_context_is_not_given_twice();
  if (session.rank() == 0) std::puts("goal_builder: ok");
}
