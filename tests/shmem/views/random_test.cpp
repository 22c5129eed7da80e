// Random programs: views that share pages byte by byte, written by all processes at once, nested as is allowed. What session
// k of a view writes follows from k alone, so whoever holds version k knows what every byte must be. Values are few, so
// bytes often get back an old one.
#include "process.hpp"

namespace {

constexpr size_t kBytes = 2 * 4096, kViews = 4;

struct Program {
  int first = 0;
  unsigned char* data = nullptr;
  std::vector<size_t> bytes[kViews];            // of each view
  std::vector<unsigned char> expected[kViews];  // at version known[i]
  uint64_t known[kViews] = {};
  unsigned seed = 0;

  // The bytes that session k -> k+1 of view i writes.
  template <class Write>
  void session(size_t i, uint64_t k, Write&& write) const {
    uint64_t state = seed * 7919 + i * 104729 + k * 15485863;
    const auto random = [&] {  // SplitMix64
      uint64_t z = state += 0x9e3779b97f4a7c15u;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      return z ^ (z >> 31);
    };
    const size_t writes = random() % 12;
    for (size_t w = 0; w < writes; ++w) {
      const size_t at = random() % bytes[i].size();
      write(at, static_cast<unsigned char>(random() % 3));
    }
    if (random() % 16 == 0)
      for (size_t at = 0; at < bytes[i].size(); at += 1 + random() % 2) write(at, static_cast<unsigned char>(k));
  }
  void check(size_t i) {
    uint64_t version = ~uint64_t{0};
    EXPECT_OK(Vdcx_version(first + static_cast<int>(i), &version));
    EXPECT_GE(version, known[i]);
    for (; known[i] < version; ++known[i]) session(i, known[i], [&](size_t at, unsigned char value) { expected[i][at] = value; });
    size_t wrong = 0;
    for (size_t at = 0; at < bytes[i].size(); ++at) wrong += data[bytes[i][at]] != expected[i][at];
    EXPECT_EQ(wrong, 0u) << "of " << bytes[i].size() << " bytes of view " << i << " at version " << version << ", seed " << seed;
  }
  void write(size_t i, bool tell) {
    uint64_t version = 0;
    EXPECT_OK(Vdcx_version(first + static_cast<int>(i), &version));
    session(i, version, [&](size_t at, unsigned char value) {
      if (tell) {
        EXPECT_OK(Vdcx_wrote(first + static_cast<int>(i), data + bytes[i][at], 1));
      }
      data[bytes[i][at]] = value;
    });
  }
};

// how < 0: detected.
void run(int how, bool nested_writers, unsigned seed, int steps) {
  Program program;
  program.seed = seed;
  program.data = shared<unsigned char>(kBytes);
  std::mt19937 layout(seed);
  const bool interleaved = layout() % 2;
  size_t cuts[kViews + 1] = {0, 0, 0, 0, kBytes};
  for (size_t i = 1; i < kViews; ++i) cuts[i] = kBytes * i / kViews - layout() % (kBytes / kViews);
  for (size_t i = 0; i < kViews; ++i) {
    const int view = fresh_view();
    if (i == 0) program.first = view;
    const Vdcx_piece piece = interleaved ? Vdcx_piece{program.data + i, 1, kBytes / (kViews * 8), kViews * 8}
                                         : Vdcx_piece{program.data + cuts[i], cuts[i + 1] - cuts[i], 1, 0};
    if (how >= 0) {
      EXPECT_OK(Vdcx_declare(view, &piece, 1, static_cast<Vdcx_finding>(how)));
    }
    if (interleaved)
      for (size_t at = i; at < kBytes; at += kViews * 8) program.bytes[i].push_back(at);
    else
      for (size_t at = cuts[i]; at < cuts[i + 1]; ++at) program.bytes[i].push_back(at);
    program.expected[i].assign(program.bytes[i].size(), 0);
  }
  together();
  std::mt19937 random(seed * 31 + static_cast<unsigned>(me()));
  for (int step = 0; step < steps; ++step) {
    const size_t i = random() % kViews;
    const int view = program.first + static_cast<int>(i);
    if (random() % 3 == 0) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
      program.check(i);
      if (i + 1 < kViews && random() % 2) {
        EXPECT_OK(Vdcx_acquire(view + 1, VDCX_READ, -1));
        program.check(i + 1);
        EXPECT_OK(Vdcx_release(view + 1));
      }
      EXPECT_OK(Vdcx_release(view));
      continue;
    }
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    program.check(i);
    program.write(i, how == VDCX_TOLD);
    // Views are nested in the order of their numbers: nobody waits in a circle.
    if (i + 1 < kViews && random() % 2) {
      const bool writes = nested_writers && random() % 2;
      EXPECT_OK(Vdcx_acquire(view + 1, writes ? VDCX_WRITE : VDCX_READ, -1));
      program.check(i + 1);
      if (writes) program.write(i + 1, how == VDCX_TOLD);
      EXPECT_OK(Vdcx_release(view + 1));
    }
    EXPECT_OK(Vdcx_release(view));
  }
  together();
  for (size_t i = 0; i < kViews; ++i) {
    EXPECT_OK(Vdcx_acquire(program.first + static_cast<int>(i), VDCX_READ, -1));
    program.check(i);
    EXPECT_OK(Vdcx_release(program.first + static_cast<int>(i)));
  }
  together();
}

bool far() { return getenv("PTL_NODE") && *getenv("PTL_NODE") == '0'; }

class Random : public testing::TestWithParam<int> {};
TEST_P(Random, WhoHoldsAVersionFindsWhatItsSessionsWrote) {
  const int programs = far() ? 2 : 10, steps = far() ? 30 : 4000 / programs / count();
  for (int i = 0; i < programs; ++i) run(GetParam(), GetParam() >= 0, static_cast<unsigned>(i + 1), steps);
}
INSTANTIATE_TEST_SUITE_P(InEachWay, Random, testing::Values(-1, VDCX_AUTO, VDCX_FAULT, VDCX_TWIN, VDCX_WHOLE, VDCX_TOLD));

// The paper's figure 1 with declared views: writers nest, and the page has x = 3 and y = 4 in the end.
TEST(Paper, FigureOneWithDeclaredViews) {
  auto* page = shared<char>(4096);
  const int x = fresh_view(), y = fresh_view();
  declare(x, page, 1);
  declare(y, page + 1, 1);
  const auto set = [](int view, char* at, char value) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    *at = value;
    EXPECT_OK(Vdcx_release(view));
  };
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(x, VDCX_WRITE, -1));
    EXPECT_OK(Vdcx_acquire(y, VDCX_WRITE, -1));
    page[0] = 1, page[1] = 2;
    EXPECT_OK(Vdcx_release(x));
    EXPECT_OK(Vdcx_release(y));
  }
  together();
  if (me() == 1 % count()) set(x, page, 3);
  if (me() == 2 % count()) set(y, page + 1, 4);
  together();
  for (const auto& order : {std::pair{x, y}, std::pair{y, x}}) {
    EXPECT_OK(Vdcx_acquire(order.first, VDCX_READ, -1));
    EXPECT_OK(Vdcx_acquire(order.second, VDCX_READ, -1));
    EXPECT_EQ(page[0], 3);
    EXPECT_EQ(page[1], 4);
    EXPECT_OK(Vdcx_release(order.first));
    EXPECT_OK(Vdcx_release(order.second));
  }
  together();
}

}  // namespace
