// Calls of vdc.h beyond the paper: limits of time, ahead, streams, circles, and every wrong call with its code and a
// sentence.
#include <thread>
#include <vdc.hpp>

#include "process.hpp"

namespace {

#define EXPECT_REFUSED(code, call, words)                                                    \
  do {                                                                                       \
    EXPECT_EQ(call, code);                                                                   \
    EXPECT_NE(std::string(Vdcx_explain()).find(words), std::string::npos) << Vdcx_explain(); \
  } while (false)

TEST(Wrong, EachCallHasACodeAndASentence) {
  auto* data = shared<char>(4096);
  const int a = fresh_view(), b = fresh_view(), c = fresh_view(), d = fresh_view();
  int owner = 0, done = 0;
  Vdcx_request none = nullptr;
  const Vdcx_piece piece{data, 64, 1, 0}, same{data + 32, 64, 1, 0}, outside{&owner, 4, 1, 0}, tight{data, 64, 2, 32};
  if (me() == 0) {
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_acquire(-1, VDCX_WRITE, 0), "no view -1");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_acquire(VDC_NVIEWS, VDCX_READ, 0), "no view 16384");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_acquire(a, static_cast<Vdcx_mode>(9), 0), "no mode");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_release(a), "not held");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_destroy(a), "holds it for writing");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_begin(a, VDCX_WRITE, &none), "not declared");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_test(&none, &done), "NULL");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_declare(a, nullptr, 1, VDCX_AUTO), "NULL");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_declare(a, &outside, 1, VDCX_AUTO), "does not lie in the shared pages");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_declare(a, &tight, 1, VDCX_AUTO), "without overlap");
    EXPECT_OK(Vdcx_declare(c, &piece, 1, VDCX_AUTO));
    EXPECT_REFUSED(VDCX_ERR_OVERLAP, Vdcx_declare(d, &same, 1, VDCX_AUTO), "overlaps view");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_declare(c, &piece, 1, VDCX_AUTO), "already");
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_stream(c, 0, nullptr, 0, 0), "depth");
    EXPECT_OK(Vdcx_acquire(a, VDCX_WRITE, -1));
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_acquire(b, VDCX_WRITE, 0), "writers do not nest");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_acquire(c, VDCX_WRITE, 0), "detected");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_acquire(a, VDCX_WRITE, 0), "held for writing by this process already");
    EXPECT_OK(Vdcx_release(a));
    EXPECT_OK(Vdcx_acquire(a, VDCX_READ, -1));
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_acquire(a, VDCX_WRITE, 0), "held for reading");
    EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_wrote(a, data, 1), "not held for writing");
    EXPECT_OK(Vdcx_release(a));
    EXPECT_EQ(Vdcx_malloc(size_t{1} << 40), nullptr);
    EXPECT_NE(std::string(Vdcx_explain()).find("VDC_PAGES"), std::string::npos);
  }
  together();
}

TEST(Wrong, DeclarationsThatDifferAreFoundAtTheHandOver) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  auto* data = shared<char>(4096);
  const int view = fresh_view();
  if (me() < 2) declare(view, data, me() == 0 ? 64 : 128);
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    data[0] = 1;
    EXPECT_OK(Vdcx_release(view));
  }
  together();
  if (me() == 1) {
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_acquire(view, VDCX_READ, -1), "declare it differently");
  }
  together();
}

TEST(Beyond, AnAcquireMayGiveUpAndGoOn) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  auto* data = shared<long>(1);
  const int view = fresh_view();
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    *data = 41;
  }
  together();
  if (me() == 1) {
    EXPECT_REFUSED(VDCX_ERR_TIMEOUT, Vdcx_acquire(view, VDCX_WRITE, 0.001), "stays in the queue");
  }
  together();
  if (me() == 0) {
    EXPECT_OK(Vdcx_release(view));
  }
  if (me() == 1) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    EXPECT_EQ(*data, 41);
    EXPECT_OK(Vdcx_release(view));
  }
  together();
}

TEST(Beyond, WhatIsBegunArrivesWhileTheProgramComputes) {
  auto* data = shared<long>(2000);
  const int view = fresh_view();
  declare(view, data, 2000 * sizeof(long));
  for (int round = 0; round < 20; ++round) {
    const bool reads = round % 4 == me() % 4;
    Vdcx_request request = nullptr;
    EXPECT_OK(Vdcx_begin(view, reads ? VDCX_READ : VDCX_WRITE, &request));
    EXPECT_NE(request, nullptr);
    int done = 0;
    for (int i = 0; i < 3 && !done; ++i) EXPECT_OK(Vdcx_test(&request, &done));
    if (!done) {
      EXPECT_OK(Vdcx_wait(&request, -1));
    }
    EXPECT_EQ(std::count(data, data + 2000, data[0]), 2000);
    if (!reads)
      for (int i = 0; i < 2000; ++i) ++data[i];
    EXPECT_OK(Vdcx_release(view));
  }
  together();
  EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
  long writes = 0;
  for (int p = 0; p < count(); ++p)
    for (int round = 0; round < 20; ++round) writes += round % 4 != p % 4;
  EXPECT_EQ(data[1999], writes);
  EXPECT_OK(Vdcx_release(view));
  together();
}

TEST(Beyond, ACircleIsFoundAndTheRequestStaysQueued) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  auto* data = shared<long>(1024);
  const int a = fresh_view(), b = fresh_view();
  declare(a, data, 8);
  declare(b, data + 512, 8);
  if (me() < 2) {
    EXPECT_OK(Vdcx_acquire(me() == 0 ? a : b, VDCX_WRITE, -1));
  }
  together();
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(b, VDCX_WRITE, -1));
  }
  if (me() == 1) {
    EXPECT_REFUSED(VDCX_ERR_DEADLOCK, Vdcx_acquire(a, VDCX_WRITE, -1), "in a circle");
    EXPECT_OK(Vdcx_release(b));
    EXPECT_OK(Vdcx_acquire(a, VDCX_WRITE, -1));
    EXPECT_OK(Vdcx_release(a));
  }
  if (me() == 0) {
    EXPECT_OK(Vdcx_release(a));
    EXPECT_OK(Vdcx_release(b));
  }
  together();
}

TEST(Beyond, ManyAtOnceInAnyOrder) {
  auto* data = shared<long>(1536);
  int ids[3];
  for (int i = 0; i < 3; ++i) {
    ids[i] = fresh_view();
    declare(ids[i], data + 512 * i, 8);
  }
  const int mine[3] = {ids[me() % 3], ids[(me() + 1) % 3], ids[(me() + 2) % 3]};
  const Vdcx_mode modes[3] = {VDCX_WRITE, VDCX_WRITE, VDCX_WRITE};
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(Vdcx_acquire_all(mine, modes, 3, -1));
    for (int k = 0; k < 3; ++k) ++data[512 * k];
    for (const int id : ids) EXPECT_OK(Vdcx_release(id));
  }
  together();
  for (int k = 0; k < 3; ++k) {
    EXPECT_OK(Vdcx_acquire(ids[k], VDCX_READ, -1));
    EXPECT_EQ(data[512 * k], 20L * count());
    EXPECT_OK(Vdcx_release(ids[k]));
  }
  together();
}

// Short, and long enough to stay in the view: in several messages, and in one.
constexpr size_t kStreamLengths[] = {700, 12000, 18000};

int stream_of(long* data, size_t length, unsigned depth) {
  const int view = fresh_view();
  declare(view, data, length * sizeof(long));
  std::vector<int> readers;
  for (int p = 1; p < count(); ++p) readers.push_back(p);
  EXPECT_OK(Vdcx_stream(view, 0, readers.data(), static_cast<unsigned>(readers.size()), depth));
  return view;
}
void next_version(int view, long* data, size_t length, long k) {
  EXPECT_OK(Vdcx_acquire(view, me() == 0 ? VDCX_WRITE : VDCX_READ, -1));
  if (me() == 0) {
    std::fill_n(data, length, k);
  } else {
    EXPECT_EQ(std::count(data, data + length, k), static_cast<long>(length)) << "version " << k;
  }
  EXPECT_OK(Vdcx_release(view));
}

TEST(Beyond, EachReaderOfAStreamReadsEveryVersionInTurn) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  for (const size_t length : kStreamLengths)
    for (const unsigned depth : {1u, 3u}) {
      auto* data = shared<long>(length);
      const int view = stream_of(data, length, depth);
      for (long k = 1; k <= 50; ++k) next_version(view, data, length, k);
      if (me() == 1) {
        EXPECT_REFUSED(VDCX_ERR_TIMEOUT, Vdcx_acquire(view, VDCX_READ, 0.001), "did not come");
      }
      if (me() == 1) {
        EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_acquire(view, VDCX_WRITE, 0), "alone writes");
      }
      together();
      if (me() == 0) {
        EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
        EXPECT_REFUSED(VDCX_ERR_STATE, Vdcx_destroy(view), "a stream");
        EXPECT_OK(Vdcx_release(view));
      }
    }
}

TEST(Beyond, AStreamIsDeclaredAlikeByAll) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  auto* data = shared<long>(1024);
  const int view = fresh_view();
  declare(view, me() == 1 ? data + 512 : data, 512 * sizeof(long));
  const int reader = 1;
  if (me() == 0) {
    EXPECT_OK(Vdcx_stream(view, 0, &reader, 1, 1));
  }
  if (me() == 1) {
    EXPECT_REFUSED(VDCX_ERR_ARG, Vdcx_stream(view, 0, &reader, 1, 1), "differently");
  }
  together();
}

TEST(Beyond, AWriterMayBeAsManyVersionsAheadAsTheStreamIsDeep) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr long kDepth = 3;
  for (const size_t length : kStreamLengths) {
    auto* data = shared<long>(length);
    const int view = stream_of(data, length, kDepth);
    for (long first = 1; first < 40; first += kDepth) {
      // Readers come after all of them, or one by one.
      for (long k = first; me() == 0 && k < first + kDepth; ++k) next_version(view, data, length, k);
      if (first % 2) together();
      for (long k = first; me() != 0 && k < first + kDepth; ++k) next_version(view, data, length, k);
    }
    if (me() == 0) {
      for (long k = 0; k < 3; ++k) next_version(view, data, length, k);
      EXPECT_REFUSED(VDCX_ERR_TIMEOUT, Vdcx_acquire(view, VDCX_WRITE, 0.001), "unread");
    }
    together();
  }
}

// A version that arrives in a reader's view was not written by a session that finds its bytes by comparing, on the same page.
TEST(Beyond, AnArrivingVersionIsNotTakenForWhatAnotherViewWrote) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr size_t kLength = 18000;
  auto* all = shared<long>(kLength + 512);
  long *const data = all, *const beside = all + kLength;  // 18000 longs end within a page
  const int view = stream_of(data, kLength, 2), detected = fresh_view();
  next_version(view, data, kLength, 1);
  for (long k = 2; k <= 20; ++k) {
    if (me() == 1) Vdc_acquire_view(detected);
    together();
    if (me() == 0) next_version(view, data, kLength, k);
    if (me() == 1) {
      beside[0] = k;
      // Off the node it comes now.
      const char* const node = std::getenv("PTL_NODE");
      while (node && *node == '0' && std::atomic_ref(data[kLength - 1]).load() != k) PtlxProgress(), std::this_thread::yield();
      Vdc_release_view(detected);
    }
    if (me() != 0) next_version(view, data, kLength, k);
    together();
    // The writer has newer ones already when he gets what was found.
    if (me() == 0) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
      std::fill_n(data, kLength, ++k);
      Vdc_acquire_Rview(detected);
      EXPECT_EQ(beside[0], k - 1);
      Vdc_release_Rview(detected);
      EXPECT_EQ(std::count(data, data + kLength, k), static_cast<long>(kLength));
      EXPECT_OK(Vdcx_release(view));
    } else {
      next_version(view, data, kLength, ++k);
    }
    together();
  }
}

// Nor are the words by which readers say that they have read: those lie at the writer.
TEST(Beyond, WordsOfAStreamAreNotTakenForWhatAnotherViewWrote) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr size_t kLength = 64;
  auto* data = shared<long>(kLength);
  const int view = stream_of(data, kLength, 1), detected = fresh_view();
  auto* const beside = shared<long>(1);  // got from process 0's pages behind the stream
  for (long k = 1; k <= 9; k += 2) {
    if (me() == 0) {
      next_version(view, data, kLength, k);
      Vdc_acquire_view(detected);
      ++*beside;
    }
    together();
    if (me() != 0) next_version(view, data, kLength, k);  // the word changes while the view is held
    together();
    if (me() == 0) Vdc_release_view(detected);
    together();
    if (me() == 1) {
      Vdc_acquire_view(detected);
      ++*beside;
      Vdc_release_view(detected);
    }
    next_version(view, data, kLength, k + 1);  // and again, before the view comes back
    together();
  }
  Vdc_acquire_Rview(detected);
  EXPECT_EQ(*beside, 10);
  Vdc_release_Rview(detected);
  together();
}

TEST(Beyond, ADestroyedViewsNumberServesANewOne) {
  auto* data = shared<long>(4);
  const int view = fresh_view();
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    data[0] = 5;
    EXPECT_OK(Vdcx_release(view));
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    EXPECT_OK(Vdcx_destroy(view));
  }
  together();
  EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
  uint64_t version = 99;
  EXPECT_OK(Vdcx_version(view, &version));
  EXPECT_LT(version, static_cast<uint64_t>(count()));
  data[1] += 1;
  EXPECT_OK(Vdcx_release(view));
  together();
  EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
  EXPECT_EQ(data[1], count());
  EXPECT_OK(Vdcx_release(view));
  together();
}

TEST(Counted, BytesOfAnAcquireDoNotGrowWithSessions) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  for (const bool declared : {false, true}) {
    auto* data = shared<char>(16384);
    const int view = fresh_view();
    if (declared) declare(view, data, 16384);
    uint64_t moved[2];
    for (int turn = 0; turn < 3; ++turn) {
      if (me() == 0)
        for (int i = 0; i < (turn == 2 ? 100 : 1); ++i) {
          EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
          for (int at = 300; at < 500; ++at) ++data[at];
          EXPECT_OK(Vdcx_release(view));
        }
      together();
      if (me() == 1) {
        const uint64_t before = counted("vdc_copied_bytes");
        EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
        EXPECT_OK(Vdcx_release(view));
        if (turn) moved[turn - 1] = counted("vdc_copied_bytes") - before;
      }
      together();
    }
    if (me() == 1) {
      EXPECT_EQ(moved[0], moved[1]);
      EXPECT_EQ(moved[0], declared ? 256u : 200u);
    }
  }
}

TEST(Counted, AnOwnerThatGoesAgainAndABarrierSendNoData) {
  auto* data = shared<long>(8);
  const int view = fresh_view();
  declare(view, data, 64);
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    EXPECT_OK(Vdcx_release(view));
    const uint64_t messages = counted("vdc_messages"), again = counted("vdc_again");
    for (int i = 0; i < 1000; ++i) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
      EXPECT_OK(Vdcx_release(view));
    }
    EXPECT_EQ(counted("vdc_messages"), messages);
    EXPECT_EQ(counted("vdc_again"), again + 1000);
  }
  together();
  const uint64_t bytes = counted("vdc_copied_bytes") + counted("vdc_brought_bytes");
  together();
  EXPECT_EQ(counted("vdc_copied_bytes") + counted("vdc_brought_bytes"), bytes);
}

// A page's last written byte is not its last one: what lies between the spans of neighbours comes along, in the same message.
TEST(Counted, PagesThatLieTogetherTravelTogether) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr size_t kPages = 40, kInts = kPages * 4096 / sizeof(int);
  auto* data = shared<int>(kInts);
  const int view = fresh_view();
  for (int round = 1; round <= 3; ++round) {
    if (me() == 0) {
      Vdc_acquire_view(view);
      for (size_t i = 0; i < kInts; ++i) ++data[i];
      Vdc_release_view(view);
    }
    together();
    if (me() == 1) {
      const uint64_t messages = counted("vdc_messages"), copied = counted("vdc_copied_bytes");
      Vdc_acquire_Rview(view);
      EXPECT_EQ(std::count(data, data + kInts, round), static_cast<std::ptrdiff_t>(kInts));
      Vdc_release_Rview(view);
      EXPECT_EQ(counted("vdc_copied_bytes") - copied, kInts);  // one byte of each number
      EXPECT_LT(counted("vdc_messages") - messages, kPages);
    }
    together();
  }
}

// A process that writes in turns what it has read before has all data: they are not asked for before it is known that there are new ones,
// and are then.
TEST(Counted, DataThatAreHereCeaseToBeAskedFor) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr size_t kBytes = 16384;
  auto* data = shared<char>(kBytes);
  const int view = fresh_view();
  const auto adds = [&](int process, int times = 1) {
    uint64_t sent = 0;
    for (int i = 0; i < times && me() == process; ++i) {
      const uint64_t before = counted("vdc_messages");
      Vdc_acquire_view(view);
      sent = counted("vdc_messages") - before;
      for (size_t at = 0; at < kBytes; ++at) ++data[at];
      Vdc_release_view(view);
    }
    together();
    return sent;
  };
  const auto all_read = [&](char expected) {
    Vdc_acquire_Rview(view);
    EXPECT_EQ(std::count(data, data + kBytes, expected), static_cast<std::ptrdiff_t>(kBytes));
    Vdc_release_Rview(view);
    together();
  };
  constexpr int kTurns = 10;
  uint64_t sent[kTurns] = {};
  for (int turn = 0; turn < kTurns; ++turn) {
    sent[turn] = adds(turn % 2);
    all_read(static_cast<char>(turn + 1));
  }
  // The second time it is known where the data lie; some times later, that those had been here each time.
  if (me() < 2 && sent[2 + me()] > 2) {
    EXPECT_LT(sent[kTurns - 2 + me()], sent[2 + me()]);
  }
  adds(0, 2);
  adds(1);
  all_read(kTurns + 3);
}

// The one who waits does nothing for it: neither asks for a byte nor copies one.
TEST(Counted, WhatIsBegunIsBroughtByWhoReleases) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  auto* data = shared<char>(65536);
  const int view = fresh_view();
  declare(view, data, 65536);
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
    memset(data, 7, 65536);
  }
  together();
  Vdcx_request request = nullptr;
  uint64_t messages = 0, copied = 0;
  if (me() == 1) {
    EXPECT_OK(Vdcx_begin(view, VDCX_WRITE, &request));
    messages = counted("vdc_messages"), copied = counted("vdc_copied_bytes");
  }
  together();
  if (me() == 0) {
    const uint64_t brought = counted("vdc_brought_bytes");
    EXPECT_OK(Vdcx_release(view));
    EXPECT_EQ(counted("vdc_brought_bytes") - brought, 65536u);
  }
  if (me() == 1) {
    const uint64_t between = counted("vdc_messages") - messages;
    int done = 0;
    while (!done) EXPECT_OK(Vdcx_test(&request, &done));
    EXPECT_EQ(counted("vdc_messages") - messages, between);
    EXPECT_EQ(counted("vdc_copied_bytes"), copied);
    EXPECT_EQ(std::count(data, data + 65536, 7), 65536);
    EXPECT_OK(Vdcx_release(view));
  }
  together();
}

TEST(Cpp, GuardsReleaseAndErrorsAreThrown) {
  auto* data = shared<double>(100);
  vdc::View<double> view(fresh_view(), std::span(data, 100));
  for (int i = 0; i < 10; ++i) {
    auto write = view.write();
    write[7] += 1;
  }
  together();
  {
    auto ahead = view.read_ahead();
    auto read = ahead.get();
    EXPECT_EQ(read[7], 10.0 * count());
    EXPECT_EQ(read.version(), 10u * static_cast<unsigned>(count()));
  }
  EXPECT_THROW(vdc::View<double>(view.id(), std::span(data, 100)), vdc::Error);
  together();
}

}  // namespace
