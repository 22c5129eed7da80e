// plan_test.cpp: redistribution on several PEs: every way, all kinds of layouts, twice at once, often, and wrong arguments.
#include <ccc.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "random_layout.hpp"
#include "tests/shmem/pe.hpp"

namespace {

constexpr unsigned char kGuard = 0xa5;

// The value of byte `i` of the element with running number `id` in run `run`.
unsigned char content(int64_t id, size_t i, int run) {
  return static_cast<unsigned char>(static_cast<size_t>(id) * 31 + i * 7 + static_cast<size_t>(run) * 13 + 1);
}

// The local arrays of one layout: in symmetric or in private memory, with guards around.
class Local {
 public:
  Local(const ccc_layout& layout, size_t size, bool symmetric)
      : layout_(layout), size_(size), bytes_(static_cast<size_t>(whole_room(layout)) * size) {
    if (symmetric) shared_ = std::make_unique<Symmetric<unsigned char>>(bytes_ + 2 * kEdge);
    else own_.resize(bytes_ + 2 * kEdge);
    base_ = symmetric ? shared_->get() : own_.data();
  }
  void* data() { return base_ + kEdge; }
  void clear() { std::fill(base_, base_ + bytes_ + 2 * kEdge, kGuard); }

  // Elements by their index in the order of `axes` of a whole array with these extents.
  void fill(const int* order, int run) {
    clear();
    visit(order, [&](int64_t id, unsigned char* element) {
      for (size_t i = 0; i < size_; ++i) element[i] = content(id, i, run);
    });
  }
  // Own elements right, everything else untouched.
  bool holds(const int* order, int run) {
    std::vector<unsigned char> wanted(bytes_ + 2 * kEdge, kGuard);
    visit(order, [&](int64_t id, unsigned char* element) {
      for (size_t i = 0; i < size_; ++i) wanted[static_cast<size_t>(element - base_) + i] = content(id, i, run);
    });
    return std::equal(wanted.begin(), wanted.end(), base_);
  }

 private:
  static constexpr size_t kEdge = 16;
  template <class F>
  void visit(const int* order, F f) {
    each_index(layout_, [&](const Index& index, int64_t) {
      int64_t offset = 0, id = 0;
      if (ccc_pe(&layout_, index.data(), &offset) != me()) return;
      for (int d = 0; d < layout_.axes; ++d) id = id * 997 + index[static_cast<size_t>(order ? order[d] : d)];
      f(id, base_ + kEdge + static_cast<size_t>(offset) * size_);
    });
  }

  ccc_layout layout_;
  size_t size_, bytes_;
  std::unique_ptr<Symmetric<unsigned char>> shared_;
  std::vector<unsigned char> own_;
  unsigned char* base_ = nullptr;
};

struct Plan {
  Plan(const ccc_layout& from, const ccc_layout& to, const int* order, size_t size) {
    EXPECT_EQ(ccc_plan_create(&from, &to, order, size, &plan), CCC_SUCCESS) << ccc_explain();
  }
  ~Plan() { EXPECT_EQ(ccc_plan_free(&plan), CCC_SUCCESS) << ccc_explain(); }
  ccc_plan plan = nullptr;
};

enum class How { kRun, kStartWait, kStartTest };
void move(ccc_plan plan, How how, const void* from, void* to) {
  if (how == How::kRun) {
    EXPECT_EQ(ccc_plan_run(plan, from, to), CCC_SUCCESS) << ccc_explain();
    return;
  }
  EXPECT_EQ(ccc_plan_start(plan, from, to), CCC_SUCCESS) << ccc_explain();
  int done = 0;
  while (how == How::kStartTest && !done) {
    if (ccc_plan_test(plan, &done) != CCC_SUCCESS) {
      ADD_FAILURE() << ccc_explain();
      break;
    }
  }
  EXPECT_EQ(ccc_plan_wait(plan), CCC_SUCCESS) << ccc_explain();
}

ccc_layout line(const ccc_axis& axis, int first_pe = 0) {
  ccc_layout layout{};
  layout.axes = 1;
  layout.axis[0] = axis;
  layout.first_pe = first_pe;
  return layout;
}
template <class... A>
ccc_axis axis(int (*make)(ccc_axis*, A...), std::type_identity_t<A>... arguments) {
  ccc_axis made{};
  EXPECT_EQ(make(&made, arguments...), CCC_SUCCESS) << ccc_explain();
  return made;
}

}  // namespace

TEST(Plan, MovesBetweenRandomLayoutsThereAndBackAndTouchesNothingElse) {
  std::mt19937_64 random(29);  // the same at all PEs
  for (int round = 0; round < rounds(60); ++round) {
    const auto [from, to, order] = random_pair(random, count(), round % 3 + 1, round % 3 == 0 ? 300 : 24, false);
    const size_t size = std::array<size_t, 5>{1, 4, 8, 24, 520}[static_cast<size_t>(below(random, 5))];
    std::array<int, CCC_MOST_AXES> inverse{};
    for (int d = 0; d < from.axes; ++d) inverse[static_cast<size_t>(order[static_cast<size_t>(d)])] = d;
    const bool symmetric = round % 4 != 1, symmetric_there = round % 4 != 2;
    Local source(from, size, symmetric), target(to, size, symmetric_there), back(from, size, symmetric);
    const Plan there(from, to, order.data(), size), home(to, from, inverse.data(), size);
    for (const How how : {How::kRun, How::kStartWait, How::kStartTest, How::kRun}) {
      const int run = round * 4 + static_cast<int>(how);
      source.fill(nullptr, run);
      target.clear();
      back.clear();
      move(there.plan, how, source.data(), target.data());
      // `inverse` says which index of `from` runs along an axis of `to`; ids are numbered in the order of `from`.
      EXPECT_TRUE(target.holds(order.data(), run))
          << written(from) << " -> " << written(to) << " size " << size << " how " << static_cast<int>(how);
      move(home.plan, how, target.data(), back.data());
      EXPECT_TRUE(back.holds(nullptr, run)) << "and back: " << written(from) << " -> " << written(to);
    }
    if (HasFailure()) break;
  }
}

TEST(Plan, MovesLargePiecesAsASchedule) {
  const int n = 3000 * count();
  const Plan plan(line(axis(ccc_block, n, count())), line(axis(ccc_block_cyclic, n, 500, count())), nullptr, 8);
  Local source(line(axis(ccc_block, n, count())), 8, false), target(line(axis(ccc_block_cyclic, n, 500, count())), 8, false),
      other(line(axis(ccc_block_cyclic, n, 500, count())), 8, false);
  for (int run = 0; run < 6; ++run) {
    Local& to = run % 3 == 2 ? other : target;  // new arrays, and then the old ones
    source.fill(nullptr, run);
    to.clear();
    move(plan.plan, How::kStartWait, source.data(), to.data());
    EXPECT_TRUE(to.holds(nullptr, run)) << "run " << run;
  }
}

TEST(Plan, OfDifferentPEsMovesFromTheFirstHalfToTheSecond) {
  const int half = std::max(1, count() / 2), n = 777;
  const ccc_layout from = line(axis(ccc_cyclic, n, half)),
                   to = line(axis(ccc_balanced, n, count() - half > 0 ? count() - half : 1), count() > 1 ? half : 0);
  const Plan plan(from, to, nullptr, 16);
  Local source(from, 16, true), target(to, 16, true);
  for (int run = 0; run < 300; ++run) {  // senders may be far ahead
    source.fill(nullptr, run);
    if (run % 50 == 0) target.clear();
    move(plan.plan, run % 3 == 0 ? How::kRun : How::kStartWait, source.data(), target.data());
    if (run % 50 == 0) {
      EXPECT_TRUE(target.holds(nullptr, run)) << "run " << run;
    }
  }
}

TEST(Plan, StartsAThousandTimesAndTwoAtOnce) {
  const int n = 64 * count();
  const ccc_layout rows = line(axis(ccc_block, n, count())), dealt = line(axis(ccc_cyclic, n, count()));
  const Plan forth(rows, dealt, nullptr, 8), back(dealt, rows, nullptr, 8);
  Local a(rows, 8, true), b(dealt, 8, true), c(dealt, 8, false), d(rows, 8, false);
  for (int run = 0; run < rounds(1000); ++run) {
    const bool looks = run % 100 == 0;
    if (looks) a.fill(nullptr, run), c.fill(nullptr, run + 1), b.clear(), d.clear();
    EXPECT_EQ(ccc_plan_start(forth.plan, a.data(), b.data()), CCC_SUCCESS) << ccc_explain();
    EXPECT_EQ(ccc_plan_start(back.plan, c.data(), d.data()), CCC_SUCCESS) << ccc_explain();
    EXPECT_EQ(ccc_plan_wait(back.plan), CCC_SUCCESS) << ccc_explain();
    EXPECT_EQ(ccc_plan_wait(forth.plan), CCC_SUCCESS) << ccc_explain();
    if (looks) {
      EXPECT_TRUE(b.holds(nullptr, run) && d.holds(nullptr, run + 1)) << "run " << run;
    }
    if (HasFailure()) break;
  }
}

TEST(Plan, OfNothingAndOfOneElementWorks) {
  for (const int64_t n : {0, 1}) {
    const ccc_layout from = line(axis(ccc_block, n, count())), to = line(axis(ccc_cyclic, n, count()));
    const Plan plan(from, to, nullptr, 8);
    Local source(from, 8, true), target(to, 8, true);
    source.fill(nullptr, 1);
    target.clear();
    for (const How how : {How::kRun, How::kStartWait}) move(plan.plan, how, n ? source.data() : nullptr, n ? target.data() : nullptr);
    EXPECT_TRUE(target.holds(nullptr, 1));
  }
}

// Sources share the lines of the target: they are copied side by side, those in private memory come as messages meanwhile.
TEST(Plan, OfManyElementsBetweenOthersIsWhole) {
  const int64_t n = 100000 * count();
  const ccc_layout dealt = line(axis(ccc_cyclic, n, count())), rows = line(axis(ccc_block, n, count()));
  const Plan plan(dealt, rows, nullptr, 8);
  Local target(rows, 8, true), shared(dealt, 8, true), own(dealt, 8, false);
  for (int run = 0; run < 3; ++run) {
    Local& source = run == 1 || (run == 2 && me() % 2 != 0) ? own : shared;
    source.fill(nullptr, run);
    target.clear();
    move(plan.plan, How::kRun, source.data(), target.data());
    EXPECT_TRUE(target.holds(nullptr, run)) << "run " << run;
  }
}

TEST(Plan, RelabelledMovesLess) {
  std::vector<int> turned(static_cast<size_t>(count())), found(turned.size());
  for (int pe = 0; pe < count(); ++pe) turned[static_cast<size_t>(pe)] = (pe + 1) % count();
  ccc_layout from = line(axis(ccc_block, 100, count())), to = from;
  from.pes = turned.data();
  EXPECT_EQ(ccc_relabel(&from, &to, nullptr, found.data()), CCC_SUCCESS) << ccc_explain();
  EXPECT_EQ(found, turned);
  to.pes = found.data();
  const Plan plan(from, to, nullptr, 8);
  ccc_cost cost{};
  EXPECT_EQ(ccc_plan_cost(plan.plan, &cost), CCC_SUCCESS);
  EXPECT_EQ(cost.messages, 0);
  EXPECT_GT(ccc_plan_memory(plan.plan), 0u);
  Local source(from, 8, true), target(to, 8, true);
  source.fill(nullptr, 5);
  target.clear();
  move(plan.plan, How::kRun, source.data(), target.data());
  EXPECT_TRUE(target.holds(nullptr, 5));
}

TEST(Plan, RefusesWhatIsWrongWithASentenceAndGoesOn) {
  const int64_t n = 60;
  const ccc_layout rows = line(axis(ccc_block, n, count())), dealt = line(axis(ccc_cyclic, n, count()));
  const auto refused = [](int got, int code, const char* part) {
    EXPECT_EQ(got, code);
    EXPECT_NE(std::string(ccc_explain()).find(part), std::string::npos) << ccc_explain();
  };
  ccc_plan none = nullptr;
  ccc_layout many = line(axis(ccc_block, n, count() + 1)), shifted = line(axis(ccc_block, n, count()), 1), by_hand = rows;
  by_hand.axis[0].step[0].block = 7;
  refused(ccc_plan_create(&rows, &many, nullptr, 8, &none), CCC_ERR_ARG, "targets, and there are");
  refused(ccc_plan_create(&rows, &shifted, nullptr, 8, &none), CCC_ERR_ARG, "the job has");
  refused(ccc_plan_create(&rows, &by_hand, nullptr, 8, &none), CCC_ERR_ARG, "was not made");
  refused(ccc_plan_create(&rows, &dealt, nullptr, 0, &none), CCC_ERR_ARG, "0 bytes");
  refused(ccc_plan_create(&rows, &dealt, nullptr, 8, nullptr), CCC_ERR_ARG, "NULL");
  EXPECT_EQ(none, nullptr);
  refused(ccc_plan_free(&none), CCC_ERR_ARG, "NULL");
  refused(ccc_plan_run(none, nullptr, nullptr), CCC_ERR_ARG, "NULL");
  const Plan plan(rows, dealt, nullptr, 8);
  Local source(rows, 8, true), target(dealt, 8, true);
  source.fill(nullptr, 3);
  target.clear();
  refused(ccc_plan_run(plan.plan, nullptr, target.data()), CCC_ERR_ARG, "`from` is NULL");
  refused(ccc_plan_run(plan.plan, source.data(), nullptr), CCC_ERR_ARG, "`to` is NULL");
  refused(ccc_plan_run(plan.plan, source.data(), static_cast<char*>(source.data()) + 1), CCC_ERR_ARG, "overlap");
  refused(ccc_plan_test(plan.plan, nullptr), CCC_ERR_ARG, "NULL");
  int done = 0;
  EXPECT_EQ(ccc_plan_test(plan.plan, &done), CCC_SUCCESS) << "none was started";
  EXPECT_EQ(done, 1);
  EXPECT_EQ(ccc_plan_start(plan.plan, source.data(), target.data()), CCC_SUCCESS);
  refused(ccc_plan_start(plan.plan, source.data(), target.data()), CCC_ERR_STATE, "runs already");
  refused(ccc_plan_run(plan.plan, source.data(), target.data()), CCC_ERR_STATE, "runs already");
  ccc_plan same = plan.plan;
  refused(ccc_plan_free(&same), CCC_ERR_STATE, "wait for it");
  EXPECT_EQ(ccc_plan_wait(plan.plan), CCC_SUCCESS);
  EXPECT_TRUE(target.holds(nullptr, 3));
}
