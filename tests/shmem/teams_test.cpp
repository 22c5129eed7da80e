// teams_test.cpp: OpenSHMEM 1.6, "Team Management Routines", "Communication Management Routines".
#include "pe.hpp"

namespace teams_test {
namespace {

shmem_team_t split(shmem_team_t parent, int start, int stride, int size) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  EXPECT_EQ(shmem_team_split_strided(parent, start, stride, size, nullptr, 0, &team), 0);
  return team;
}

// The sum of the world numbers of a team's PEs, by a collective on it: shows that all its members and nobody else meet.
int sum_of(shmem_team_t team) {
  static int mine, sum;
  mine = me();
  EXPECT_EQ(shmem_int_sum_reduce(team, &sum, &mine, 1), 0);
  return sum;
}

TEST(Team, TheWorldHasAllAndSharedTheOnesReachedByLoads) {
  static int word;
  EXPECT_EQ(shmem_team_my_pe(SHMEM_TEAM_WORLD), me());
  EXPECT_EQ(shmem_team_n_pes(SHMEM_TEAM_WORLD), count());
  int reached = 0;
  for (int pe = 0; pe < count(); ++pe) {
    const bool loads = shmem_ptr(&word, pe) != nullptr;
    const int there = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
    EXPECT_EQ(there, loads ? reached : -1);
    if (loads) {
      EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_SHARED, reached, SHMEM_TEAM_WORLD), pe);
      EXPECT_EQ(shmem_team_ptr(SHMEM_TEAM_SHARED, &word, reached), shmem_ptr(&word, pe));
    }
    reached += loads;
  }
  EXPECT_EQ(shmem_team_n_pes(SHMEM_TEAM_SHARED), reached);
  EXPECT_EQ(shmem_team_sync(SHMEM_TEAM_SHARED), 0);
}

TEST(Team, SplitsGiveTheirMembersNumbersInOrderAndOthersNoTeam) {
  for (int stride = 1; stride <= 2; ++stride) {
    const int size = (count() + stride - 1) / stride;
    const shmem_team_t team = split(SHMEM_TEAM_WORLD, 0, stride, size);
    if (me() % stride != 0) {
      EXPECT_EQ(team, SHMEM_TEAM_INVALID);
      continue;
    }
    EXPECT_EQ(shmem_team_my_pe(team), me() / stride);
    EXPECT_EQ(shmem_team_n_pes(team), size);
    int sum = 0;
    for (int i = 0; i < size; ++i) {
      EXPECT_EQ(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD), i * stride);
      sum += i * stride;
    }
    EXPECT_EQ(sum_of(team), sum);
    shmem_team_destroy(team);
  }
  shmem_barrier_all();
}

TEST(Team, StridesMayBeNegativeAndForOnePeZero) {
  const shmem_team_t back = split(SHMEM_TEAM_WORLD, count() - 1, -1, count());
  EXPECT_EQ(shmem_team_my_pe(back), count() - 1 - me());
  EXPECT_EQ(shmem_team_translate_pe(back, 0, SHMEM_TEAM_WORLD), count() - 1);
  const shmem_team_t half = split(back, 0, 2, (count() + 1) / 2);  // a split of a split
  EXPECT_EQ(half != SHMEM_TEAM_INVALID, (count() - 1 - me()) % 2 == 0);
  if (half != SHMEM_TEAM_INVALID) {
    EXPECT_EQ(shmem_team_translate_pe(half, 0, SHMEM_TEAM_WORLD), count() - 1);
  }
  const shmem_team_t alone = split(SHMEM_TEAM_WORLD, 0, 0, 1);
  EXPECT_EQ(alone != SHMEM_TEAM_INVALID, me() == 0);
  if (me() == 0) {
    EXPECT_EQ(sum_of(alone), 0);
  }
  for (shmem_team_t team : {alone, half, back}) shmem_team_destroy(team);
  shmem_barrier_all();
}

TEST(Team, A2dSplitMakesRowsAndColumnsTheLastRowMayBeShort) {
  for (int xrange : {1, 2, 3, count() + 5}) {
    const int width = std::min(xrange, count());
    shmem_team_t x, y;
    EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, nullptr, 0, &x, nullptr, 0, &y), 0);
    EXPECT_EQ(shmem_team_my_pe(x), me() % width);
    EXPECT_EQ(shmem_team_my_pe(y), me() / width);
    int row = 0, column = 0;
    for (int pe = 0; pe < count(); ++pe) {
      if (pe / width == me() / width) row += pe;
      if (pe % width == me() % width) column += pe;
    }
    EXPECT_EQ(sum_of(x), row);
    EXPECT_EQ(sum_of(y), column);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
  }
  shmem_barrier_all();
}

TEST(Team, WhatCannotBeSplitIsRefusedByAllAlike) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  const struct { int start, stride, size; } bad[] = {{-1, 1, 1}, {count(), 1, 1}, {0, 1, count() + 1}, {0, 0, 2}, {0, 1, 0}, {0, -1, 2}};
  for (const auto& b : bad) {
    EXPECT_NE(shmem_team_split_strided(SHMEM_TEAM_WORLD, b.start, b.stride, b.size, nullptr, 0, &team), 0);
    EXPECT_EQ(team, SHMEM_TEAM_INVALID);
  }
  EXPECT_NE(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, nullptr, 0, &team), 0);
  EXPECT_NE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, nullptr, SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
}

TEST(Team, AnInvalidTeamAnswersSo) {
  shmem_team_config_t config;
  static int word;
  EXPECT_EQ(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
  EXPECT_EQ(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD), -1);
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
  EXPECT_EQ(shmem_team_translate_pe(SHMEM_TEAM_WORLD, count(), SHMEM_TEAM_WORLD), -1);
  EXPECT_NE(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, 0), nullptr);
  EXPECT_NE(shmem_team_sync(SHMEM_TEAM_INVALID), 0);
  shmem_team_destroy(SHMEM_TEAM_INVALID);
}

TEST(Team, TheConfigIsKept) {
  const shmem_team_config_t wish{3};
  shmem_team_config_t config{0};
  shmem_team_t team;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, count(), &wish, SHMEM_TEAM_NUM_CONTEXTS, &team), 0);
  EXPECT_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(config.num_contexts, 3);
  shmem_team_destroy(team);
}

// More at once than the node has places for, rows and columns among them, each with collectives of its own from the first on.
TEST(Team, CollectivesAreRightOnTeamsThatComeAndGo) {
  std::vector<shmem_team_t> here;
  for (int i = 0; i < rounds(60); ++i) {
    shmem_team_t x, y;
    EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1 + i % 3, nullptr, 0, &x, nullptr, 0, &y), 0);
    here.insert(here.end(), {x, y});
    for (size_t k = 0; k < here.size(); k += 3) {
      int sum = 0;
      for (int pe = 0; pe < shmem_team_n_pes(here[k]); ++pe) sum += shmem_team_translate_pe(here[k], pe, SHMEM_TEAM_WORLD);
      EXPECT_EQ(sum_of(here[k]), sum);
    }
    while (here.size() > (i % 20 == 19 ? 0u : 60u)) {
      shmem_team_destroy(here.front());
      here.erase(here.begin());
    }
  }
  for (shmem_team_t each : here) shmem_team_destroy(each);
  shmem_barrier_all();
}

// More teams than there are numbers, one after the other; then until there are none.
TEST(Team, NumbersAreUsedAgainAndTheirEndIsToldToAll) {
  std::vector<shmem_team_t> teams;
  for (int i = 0; i < rounds(40); ++i) {
    const shmem_team_t team = split(SHMEM_TEAM_WORLD, 0, 1, count());
    EXPECT_EQ(shmem_team_sync(team), 0);
    shmem_team_destroy(team);
  }
  if (count() > 2 || rounds(10) < 10) return;  // it takes long
  shmem_team_t team;
  while (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, count(), nullptr, 0, &team) == 0 && teams.size() < 1000) teams.push_back(team);
  EXPECT_EQ(team, SHMEM_TEAM_INVALID);
  EXPECT_GT(teams.size(), 400u);
  for (shmem_team_t each : teams) shmem_team_destroy(each);
  shmem_team_destroy(split(SHMEM_TEAM_WORLD, 0, 1, 1));
  shmem_barrier_all();
}

TEST(Context, NumbersPesInItsTeam) {
  const shmem_team_t back = split(SHMEM_TEAM_WORLD, count() - 1, -1, count());
  static long word, counter;
  word = -1;
  counter = 0;
  shmem_barrier_all();
  for (const long options : {0L, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE | SHMEM_CTX_PRIVATE}) {
    shmem_ctx_t context;
    ASSERT_EQ(shmem_team_create_ctx(back, options, &context), 0);
    shmem_team_t team;
    EXPECT_EQ(shmem_ctx_get_team(context, &team), 0);
    EXPECT_EQ(team, back);
    const shmem_ctx_session_config_t config{8};
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    const int next = (shmem_team_my_pe(back) + 1) % count();  // my left neighbour in the world
    const long mine = me() + options * 100;
    shmem_ctx_long_put_nbi(context, &word, &mine, 1, next);
    shmem_ctx_long_atomic_inc(context, &counter, 0);
    shmem_ctx_session_stop(context);
    shmem_ctx_quiet(context);
    EXPECT_EQ(shmem_ctx_long_g(context, &word, next), mine);
    shmem_ctx_fence(context);
    shmem_ctx_destroy(context);
    shmem_barrier_all();
    EXPECT_EQ(word, right() + options * 100);
    shmem_barrier_all();
  }
  if (me() == count() - 1) {
    EXPECT_EQ(counter, 4 * count());
  }
  shmem_team_destroy(back);
}

TEST(Context, ThatCannotBeMadeIsInvalidAndNoError) {
  shmem_ctx_t context = SHMEM_CTX_DEFAULT;
  EXPECT_NE(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context), 0);
  EXPECT_EQ(context, SHMEM_CTX_INVALID);
  shmem_team_t team;
  EXPECT_NE(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team), 0);
  EXPECT_EQ(team, SHMEM_TEAM_INVALID);
  EXPECT_EQ(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team), 0);
  EXPECT_EQ(team, SHMEM_TEAM_WORLD);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, nullptr, 0);
  shmem_pe_quiet(nullptr, 0);
}

TEST(Context, CompletesWhatItIssuedWhenItIsDestroyed) {
  Symmetric<long> box(2000), flag(1);
  const std::vector<long> source(2000, 10 + me());
  shmem_ctx_t context;
  EXPECT_EQ(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &context), 0);
  long old = -1;
  shmem_ctx_long_put_nbi(context, box, source.data(), 2000, right());
  shmem_ctx_long_atomic_fetch_add_nbi(context, &old, flag, 1, right());
  shmem_ctx_destroy(context);
  EXPECT_EQ(old, 0);
  shmem_long_p(flag, 5, right());
  shmem_long_wait_until(flag, SHMEM_CMP_EQ, 5);
  EXPECT_EQ(box[1999], 10 + left());
  shmem_barrier_all();
}

TEST(Context, LeftBehindIsDestroyedWithItsTeamUnlessItIsPrivate) {
  const shmem_team_t team = split(SHMEM_TEAM_WORLD, 0, 1, count());
  shmem_ctx_t shared, own;
  EXPECT_EQ(shmem_team_create_ctx(team, 0, &shared), 0);
  EXPECT_EQ(shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE, &own), 0);
  shmem_team_destroy(team);
  shmem_ctx_destroy(own);
  shmem_ctx_t forgotten;
  EXPECT_EQ(shmem_ctx_create(0, &forgotten), 0);  // finalize takes it
}

TEST(Order, PeQuietCompletesWhatWentToThosePes) {
  static long word;
  word = 0;
  shmem_barrier_all();
  static long value;
  value = me() + 1;
  shmem_long_put_nbi(&word, &value, 1, right());
  const int to = right();
  shmem_pe_quiet(&to, 1);
  EXPECT_EQ(shmem_long_g(&word, right()), me() + 1);
  shmem_barrier_all();
}

}  // namespace
}  // namespace teams_test
