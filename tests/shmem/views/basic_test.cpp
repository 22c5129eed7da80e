// The paper's calls, and what an acquire promises: all earlier writes to the view are visible, one writer at a time.
#include <algorithm>

#include "process.hpp"

namespace {

TEST(Views, WritersOfOneViewTakeTurns) {
  const int view = fresh_view();
  auto* counter = shared<long>(1);
  for (int i = 0; i < 200; ++i) {
    Vdc_acquire_view(view);
    ++*counter;
    Vdc_release_view(view);
  }
  together();
  Vdc_acquire_Rview(view);
  EXPECT_EQ(*counter, 200L * count());
  Vdc_release_Rview(view);
  together();
}

TEST(Views, DeclaredOnesToo) {
  for (const Vdcx_finding how : {VDCX_AUTO, VDCX_FAULT, VDCX_TWIN, VDCX_WHOLE, VDCX_TOLD}) {
    const int view = fresh_view();
    auto* counter = shared<long>(3);
    declare(view, counter, 3 * sizeof(long), how);
    for (int i = 0; i < 100; ++i) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
      EXPECT_EQ(counter[0], counter[2]);
      EXPECT_OK(Vdcx_wrote(view, counter, 3 * sizeof(long)));
      ++counter[0];
      ++counter[2];
      EXPECT_OK(Vdcx_release(view));
      if (i % 10 == me() % 10) {
        EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
        EXPECT_EQ(counter[0], counter[2]);
        EXPECT_OK(Vdcx_release(view));
      }
    }
    together();
    EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
    EXPECT_EQ(counter[0], 100L * count()) << "found by " << how;
    EXPECT_OK(Vdcx_release(view));
    together();
  }
}

// The first program that the paper prints, with its mistakes mended: the pointer is distributed, and element 0 is summed,
// too.
TEST(Paper, ParallelSum) {
  const int size = 1000 * count();
  static int* shared_array;
  if (me() == 0) shared_array = reinterpret_cast<int*>(Vdc_malloc(sizeof(int) * static_cast<size_t>(size)));
  EXPECT_OK(Vdcx_distribute(&shared_array, sizeof shared_array));
  std::vector<int> local(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) local[static_cast<size_t>(i)] = i * (me() + 1);
  const int first = fresh_view();
  for (int i = 1; i < count(); ++i) fresh_view();
  for (int i = 0; i < count(); ++i) {
    const int slice = (i + me()) % count(), begin = slice * 1000, end = begin + 1000;
    Vdc_acquire_view(first + slice);
    for (int j = begin; j < end; ++j) shared_array[j] += local[static_cast<size_t>(j)];
    Vdc_release_view(first + slice);
  }
  Vdc_barrier(0);
  if (me() == 0) {
    for (int j = 0; j < count(); ++j) Vdc_acquire_Rview(first + j);
    long sum = 0;
    for (int i = size - 1; i >= 0; --i) sum += shared_array[i];
    for (int j = 0; j < count(); ++j) Vdc_release_Rview(first + j);
    EXPECT_EQ(sum, static_cast<long>(size) * (size - 1) / 2 * count() * (count() + 1) / 2);
  }
  together();
}

// The second: a queue of tasks, each a view of its own.
TEST(Paper, TaskQueue) {
  struct Task {
    int view;
    int* data;
  };
  struct Queue {
    int head, tail;
    Task tasks[256];
  };
  auto* queue = shared<Queue>(1);
  auto* done = shared<int>(static_cast<size_t>(64 * count()));
  const int lock = fresh_view(), result = fresh_view();
  for (int i = 0; i < 20; ++i) {
    int view = -1;
    EXPECT_OK(Vdcx_unique_view(&view));
    Vdc_acquire_view(view);
    int* data = reinterpret_cast<int*>(Vdc_malloc(sizeof(int)));
    *data = me() * 20 + i;
    Vdc_release_view(view);
    Vdc_acquire_view(lock);
    queue->tasks[queue->tail++ % 256] = {view, data};
    Vdc_release_view(lock);
  }
  for (;;) {
    Vdc_acquire_view(lock);
    const bool any = queue->head != queue->tail;
    const Task task = any ? queue->tasks[queue->head++ % 256] : Task{};
    Vdc_release_view(lock);
    if (!any) break;
    Vdc_acquire_view(task.view);
    const int number = *task.data;
    Vdc_release_view(task.view);
    Vdc_acquire_view(result);
    ++done[number];
    Vdc_release_view(result);
  }
  together();
  Vdc_acquire_Rview(result);
  for (int i = 0; i < 20 * count(); ++i) EXPECT_EQ(done[i], 1) << "task " << i;
  Vdc_release_Rview(result);
  together();
}

TEST(Views, ASnapshotOutlivesForeignSessions) {
  const int view = fresh_view();
  auto* data = shared<long>(512);
  if (me() == 0) {
    Vdc_acquire_view(view);
    std::fill_n(data, 512, 7L);
    Vdc_release_view(view);
  }
  together();
  if (me() == count() - 1) {
    Vdc_acquire_Rview(view);
    together();
    together();
    EXPECT_EQ(std::count(data, data + 512, 7L), 512);
    Vdc_release_Rview(view);
  } else {
    together();
    for (int i = 0; i < 50; ++i) {
      Vdc_acquire_view(view);
      std::fill_n(data, 512, 1000L * me() + i);
      Vdc_release_view(view);
    }
    together();
  }
  together();
}

TEST(Views, AnOwnerGoesAgainWithoutAMessage) {
  const int view = fresh_view();
  auto* data = shared<long>(1);
  declare(view, data, sizeof *data);
  if (me() == 0)
    for (int i = 0; i < 1000; ++i) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, 0));
      *data = i;
      EXPECT_OK(Vdcx_release(view));
    }
  uint64_t version = 0;
  if (me() == 0) {
    EXPECT_OK(Vdcx_acquire(view, VDCX_READ, 0));
    EXPECT_OK(Vdcx_version(view, &version));
    EXPECT_EQ(version, 1000u);
    EXPECT_OK(Vdcx_release(view));
  }
  together();
}

// One reader after the other follows a writer: each read is whole and no older than the last.
TEST(Views, ReadersSeeWholeVersions) {
  const int view = fresh_view();
  auto* data = shared<long>(1200);
  declare(view, data, 1200 * sizeof(long));
  long last = 0;
  for (int i = 0; i < 200; ++i) {
    if (me() == 0) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
      std::fill_n(data, 1200, i + 1L);
      EXPECT_OK(Vdcx_release(view));
    } else {
      EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
      EXPECT_GE(data[0], last);
      last = data[0];
      EXPECT_EQ(std::count(data, data + 1200, last), 1200);
      EXPECT_OK(Vdcx_release(view));
    }
  }
  together();
}

}  // namespace
