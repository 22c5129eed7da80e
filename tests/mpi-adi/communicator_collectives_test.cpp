// Collectives on communicators that come and go, of all ranks and of parts, from the first call on. Source: MPI-5.0, 6, 7.4.2.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

#include "ranks.hpp"

namespace communicator_collectives_test {
namespace {

// A communicator with what a rank needs to know for checking.
struct Member {
  explicit Member(MPI_Comm made) : comm(made) {
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
  }
  void free() {
    if (comm == MPI_COMM_SELF) return;
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
  MPI_Comm comm;
  int me = 0, size = 0;
};

int sum_of(int n, int seed) { return n * (n - 1) / 2 + n * seed; }

// One collective, alike on all ranks by `choice`; each with a result that no other call's data can give.
void call(const Member& in, unsigned choice, int seed) {
  const bool starts = choice / 5 % 2 == 1;
  const size_t count = choice / 10 % 2 == 0 ? 1 : 700;
  const int root = static_cast<int>(choice / 20) % in.size;
  std::vector<int> mine(count, in.me + seed), all(count * static_cast<size_t>(in.size), -1);
  const int length = static_cast<int>(count);
  MPI_Request request = MPI_REQUEST_NULL;
  switch (choice % 5) {
    case 0:
      if (starts) MPI_Iallreduce(mine.data(), all.data(), length, MPI_INT, MPI_SUM, in.comm, &request);
      else MPI_Allreduce(mine.data(), all.data(), length, MPI_INT, MPI_SUM, in.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(all[i], sum_of(in.size, seed));
      break;
    case 1:
      if (starts) MPI_Ibcast(mine.data(), length, MPI_INT, root, in.comm, &request);
      else MPI_Bcast(mine.data(), length, MPI_INT, root, in.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (const int one : mine) EXPECT_EQ(one, root + seed);
      break;
    case 2:
      if (starts) MPI_Iallgather(mine.data(), length, MPI_INT, all.data(), length, MPI_INT, in.comm, &request);
      else MPI_Allgather(mine.data(), length, MPI_INT, all.data(), length, MPI_INT, in.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int>(i / count) + seed);
      break;
    case 3:
      if (starts) MPI_Igather(mine.data(), length, MPI_INT, all.data(), length, MPI_INT, root, in.comm, &request);
      else MPI_Gather(mine.data(), length, MPI_INT, all.data(), length, MPI_INT, root, in.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (size_t i = 0; in.me == root && i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int>(i / count) + seed);
      break;
    default:
      if (starts) MPI_Ibarrier(in.comm, &request);
      else MPI_Barrier(in.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

MPI_Comm made(unsigned choice, MPI_Comm parent) {
  int me, size;
  MPI_Comm_rank(parent, &me);
  MPI_Comm_size(parent, &size);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request;
  switch (choice % 5) {
    case 0: EXPECT_EQ(MPI_Comm_dup(parent, &comm), MPI_SUCCESS); break;
    case 1: EXPECT_EQ(MPI_Comm_split(parent, me % 2, -me, &comm), MPI_SUCCESS); break;
    case 2:
      EXPECT_EQ(MPI_Comm_idup(parent, &comm, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      break;
    case 3: {
      const int periodic = 1;
      EXPECT_EQ(MPI_Cart_create(parent, 1, &size, &periodic, 0, &comm), MPI_SUCCESS);
      break;
    }
    default: {
      MPI_Group all, some;
      const int last = size - 1, range[1][3] = {{std::min(1, last), last, 1}};
      MPI_Comm_group(parent, &all);
      MPI_Group_range_incl(all, 1, const_cast<int(*)[3]>(range), &some);
      if (me >= range[0][0]) {
        EXPECT_EQ(MPI_Comm_create_group(parent, some, 3, &comm), MPI_SUCCESS);
      }
      MPI_Group_free(&some);
      MPI_Group_free(&all);
    }
  }
  return comm;
}

// More at a time than have memory, and more one behind the other than there are numbers in a window.
TEST(CollectivesOfCommunicators, AreRightOnThoseThatComeAndGo) {
  std::mt19937 random(11);  // alike on all ranks
  std::vector<Member> here;
  for (int turn = 0; turn < 400; ++turn) {
    const unsigned choice = random(), calls = random() % 4;
    if (const MPI_Comm comm = made(choice, MPI_COMM_WORLD); comm != MPI_COMM_NULL) here.emplace_back(comm);
    else here.emplace_back(MPI_COMM_SELF);  // so that all ranks count alike
    for (unsigned i = 0; i < calls; ++i) {
      const size_t which = random() % here.size();
      const unsigned kind = random();
      call(here[which], kind, turn * 8 + static_cast<int>(i));
    }
    const size_t gone = random() % here.size();
    if (random() % 8 != 0 || here.size() > 30) {
      here[gone].free();
      here.erase(here.begin() + static_cast<ptrdiff_t>(gone));
    }
  }
  for (Member& one : here) one.free();
}

// Several levels of parts, each made of the one before, while calls of all of them are under way.
TEST(CollectivesOfCommunicators, OfPartsOfPartsGoOnTogether) {
  std::vector<Member> levels{Member(MPI_COMM_WORLD)};
  for (unsigned level = 0; level < 3; ++level) {
    MPI_Comm next;
    ASSERT_EQ(MPI_Comm_split(levels.back().comm, levels.back().me / 2, levels.back().me, &next), MPI_SUCCESS);
    levels.emplace_back(next);
  }
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<MPI_Request> requests(levels.size());
    std::vector<int> mine(levels.size()), sums(levels.size(), -1);
    for (size_t i = 0; i < levels.size(); ++i) {
      mine[i] = levels[i].me + turn;
      EXPECT_EQ(MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, levels[i].comm, &requests[i]), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (size_t i = 0; i < levels.size(); ++i) EXPECT_EQ(sums[i], sum_of(levels[i].size, turn));
  }
  for (size_t i = 1; i < levels.size(); ++i) levels[i].free();
}

// Each rank gives `count` ints to each, and as many more as its number.
void exchange_unevenly(const Member& in, size_t count, int seed) {
  std::vector<int> given, taken, starts_of_given, starts_of_taken;
  for (size_t i = 0, in_all = 0, out_all = 0; i < static_cast<size_t>(in.size); ++i) {
    given.push_back(static_cast<int>(count) + in.me);
    taken.push_back(static_cast<int>(count + i));
    starts_of_given.push_back(static_cast<int>(std::exchange(in_all, in_all + count + static_cast<size_t>(in.me))));
    starts_of_taken.push_back(static_cast<int>(std::exchange(out_all, out_all + count + i)));
  }
  std::vector<int> out(static_cast<size_t>(starts_of_given.back() + given.back())),
      got(static_cast<size_t>(starts_of_taken.back() + taken.back()), -1);
  for (size_t i = 0; i < out.size(); ++i) out[i] = seed + in.me * 1000000 + static_cast<int>(i);
  EXPECT_EQ(MPI_Alltoallv(out.data(), given.data(), starts_of_given.data(), MPI_INT, got.data(), taken.data(), starts_of_taken.data(),
                          MPI_INT, in.comm),
            MPI_SUCCESS);
  for (int from = 0; from < in.size; ++from)
    for (int i = 0; i < taken[static_cast<size_t>(from)]; ++i)
      ASSERT_EQ(got[static_cast<size_t>(starts_of_taken[static_cast<size_t>(from)] + i)],
                seed + from * 1000000 + in.me * (static_cast<int>(count) + from) + i)
          << "from " << from << " of " << count;
}

// Memory for what is uneven comes before that for other long data.
TEST(CollectivesOfCommunicators, TakeUnevenPartsOfAnyLengthBeforeAndAfterEvenOnes) {
  constexpr std::array<size_t, 4> kCounts{1, 300, 5000, 40000};
  for (unsigned turn = 0; turn < 24; ++turn) {
    MPI_Comm comm;
    ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, turn % 2 == 0 ? 0 : rank() / 2, rank(), &comm), MPI_SUCCESS);
    Member here(comm);
    for (unsigned step = 0; step < 6; ++step) {
      exchange_unevenly(here, kCounts[(turn / 2 + step) % kCounts.size()], static_cast<int>(step));
      if (step == turn % 7) call(here, 12, static_cast<int>(turn));  // an MPI_Allgather
    }
    here.free();
  }
}

// A root may be through with its last call, and free the communicator, long before the others take what it gave.
TEST(CollectivesOfCommunicators, MayBeTakenAfterTheRootHasFreedItsOwn) {
  for (int turn = 0; turn < 60; ++turn) {
    MPI_Comm comm;
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    const int root = turn % ranks();
    int value = rank() == root ? turn : -1;
    MPI_Request request;
    if (rank() == root) {
      MPI_Ibcast(&value, 1, MPI_INT, root, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Comm_free(&comm);
    }
    int token = 0;  // the root is through when the others begin
    MPI_Bcast(&token, 1, MPI_INT, root, MPI_COMM_WORLD);
    if (rank() == root) continue;
    MPI_Ibcast(&value, 1, MPI_INT, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(value, turn);
    MPI_Comm_free(&comm);
  }
}

}  // namespace
}  // namespace communicator_collectives_test
