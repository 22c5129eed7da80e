// dead_pe.cpp: PE 2 of three is killed, and the others do what the argument names. dead_pe_test.py looks at how the job ends.
#include <shmemx.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int word, numbers[64], results[256];
static uint64_t signal_word;
static long lock;

static int teammates(shmem_team_t team, shmem_ctx_t context, int me) {
  for (int round = 1; round <= 300; ++round) {
    shmem_int_put(results, numbers, 16, 1 - me);
    shmem_ctx_int_atomic_inc(context, &word, 1 - me);
    shmem_ctx_quiet(context);
    if (shmem_team_sync(team) != 0 || shmem_int_g(&word, 1 - me) != round) return 3;
    numbers[0] = me + 1;
    if (shmem_int_sum_reduce(team, results + 16, numbers, 1) != 0 || results[16] != 3) return 4;
    shmem_team_sync(team);
    shmemx_req_t sum;
    if (shmemx_int_sum_reduce_nb(team, results + 16, numbers, 1, &sum) != 0 || shmemx_req_wait(&sum) != 0 || results[16] != 3) return 5;
    shmem_team_sync(team);
  }
  return 0;
}

int main(int argc, char** argv) {
  const auto is = [&](const char* what) { return argc == 2 && strcmp(argv[1], what) == 0; };
  constexpr int kDead = 2;
  shmem_init();
  const int me = shmem_my_pe();
  shmem_team_t team;
  shmem_ctx_t context = SHMEM_CTX_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, nullptr, 0, &team);
  if (me != kDead) shmem_team_create_ctx(team, 0, &context);
  shmem_barrier_all();
  if (me == kDead) raise(SIGKILL);
  if (is("others")) {
    const int result = teammates(team, context, me);
    if (result == 0) printf("PE %d went on\n", me);
    fflush(stdout);
    _Exit(result);
  }
  // Those that wait for nobody are called until they end.
  while (is("accessible") && shmem_pe_accessible(kDead)) shmem_int_p(&word, 77, me);
  if (is("accessible")) printf("PE %d knows\n", me), fflush(stdout), _Exit(0);
  while (is("put")) shmem_int_p(&word, 1, kDead);
  while (is("long-put")) shmem_int_put(numbers, results, 64, kDead), shmem_quiet();
  while (is("get")) shmem_int_g(&word, kDead);
  while (is("atomic")) shmem_int_atomic_inc(&word, kDead);
  while (is("fetch")) shmem_int_atomic_fetch_inc(&word, kDead);
  while (is("nbi")) shmem_int_get_nbi(results, numbers, 4, kDead), shmem_quiet();
  while (is("signal")) shmem_int_put_signal(numbers, results, 4, &signal_word, 1, SHMEM_SIGNAL_ADD, kDead);
  if (is("barrier")) shmem_barrier_all();
  if (is("sync")) shmem_team_sync(SHMEM_TEAM_WORLD);
  while (is("reduce")) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, results, numbers, 4);
  while (is("broadcast")) shmem_broadcastmem(SHMEM_TEAM_WORLD, results, numbers, 16, kDead);
  while (is("collect")) shmem_int_collect(SHMEM_TEAM_WORLD, results, numbers, 4);
  while (is("alltoall")) shmem_int_alltoall(SHMEM_TEAM_WORLD, results, numbers, 4);
  if (strncmp(argc == 2 ? argv[1] : "", "started-", 8) == 0) {
    shmemx_req_t request = SHMEMX_REQ_INVALID;
    for (int complete = 0; is("started-test"); complete = 0)
      for (shmemx_int_sum_reduce_nb(SHMEM_TEAM_WORLD, results, numbers, 4, &request); !complete;) shmemx_req_test(&request, &complete);
    while (is("started-long")) shmemx_int_alltoall_nb(SHMEM_TEAM_WORLD, results, numbers, 20, &request), shmemx_req_wait(&request);
    while (is("started-collect")) shmemx_int_collect_nb(SHMEM_TEAM_WORLD, results, numbers, 4, &request), shmemx_req_wait(&request);
    if (is("started-barrier")) shmemx_barrier_nb(SHMEM_TEAM_WORLD, &request), shmemx_req_wait(&request);
    if (is("started-freed")) shmemx_sync_nb(SHMEM_TEAM_WORLD, &request), shmemx_req_free(&request), shmem_finalize();
  }
  if (is("wait")) shmem_int_wait_until(&word, SHMEM_CMP_EQ, 5);
  if (is("signal-wait")) shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 5);
  if (is("lock")) {
    shmem_set_lock(&lock);
    shmem_int_wait_until(&word, SHMEM_CMP_EQ, 5);
  }
  if (is("malloc")) shmem_malloc(64);
  while (is("split")) {
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 3, nullptr, 0, &team);
    shmem_team_sync(team);
  }
  if (is("finalize")) shmem_finalize();
  _Exit(7);
}
