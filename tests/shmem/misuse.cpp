// misuse.cpp: breaks one rule, named by its argument. misuse_test.py looks at how the job ends.
#include <shmemx.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/allocation_probe.hpp"

static int word;
static uint64_t words[2];
static int numbers[16];

int main(int argc, char** argv) {
  const auto is = [&](const char* rule) { return argc == 2 && strcmp(argv[1], rule) == 0; };
  if (is("before-init")) shmem_int_p(&word, 1, 0);
  if (is("init-thread")) {
    int provided;
    return shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) == 0 ? 0 : 42;
  }
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n;
  int on_stack = 0;
  if (is("exit-status")) {
    if (me == n - 1) shmem_global_exit(99);
    shmem_int_wait_until(&word, SHMEM_CMP_EQ, 1);  // never: the exit of one PE ends all
  }
  if (is("malloc-differs")) shmem_malloc(static_cast<size_t>(100 + me));
  if (is("free-differs")) {
    void* const blocks[] = {shmem_malloc(10), shmem_malloc(20)};
    shmem_free(blocks[me % 2]);
  }
  if (is("out-of-heap") || is("out-of-heap-said")) {  // null, and the program goes on
    if (shmem_malloc(size_t{1} << 40) || shmem_calloc(SIZE_MAX / 2, 4)) return 4;
    if (!shmem_malloc(64)) return 5;
    return shmem_finalize(), 0;
  }
  if (is("memory-start")) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 4, 3);  // makes the links, whose memory is not refused
  portunus::allocation_probe::refuse = argc == 2 && strncmp(argv[1], "memory-", 7) == 0;
  if (is("memory-malloc")) shmem_malloc(100);
  if (is("memory-split")) {
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &team);
  }
  if (is("memory-collect")) shmem_int_collect(SHMEM_TEAM_WORLD, numbers, numbers + 8, static_cast<size_t>(1 + me));
  if (is("memory-active-set") && me == 0) shmem_barrier(0, 0, 1, reinterpret_cast<long*>(words));
  if (is("memory-start")) {
    shmemx_req_t request;
    while (shmemx_int_sum_reduce_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, 3, &request) == 0) shmemx_req_wait(&request);
    portunus::allocation_probe::refuse = false;
    // Nothing was started, so the call may be made again.
    numbers[4] = me + 1;
    if (shmemx_int_sum_reduce_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, 1, &request) != 0 || shmemx_req_wait(&request) != 0) return 6;
    return numbers[0] == n * (n + 1) / 2 ? (shmem_finalize(), 0) : 7;
  }
  portunus::allocation_probe::refuse = false;
  if (is("reduce-differs")) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 4, static_cast<size_t>(1 + me));
  if (is("root-differs")) shmem_broadcastmem(SHMEM_TEAM_WORLD, numbers, numbers + 4, 4, me);
  if (is("dest-differs")) shmem_int_fcollect(SHMEM_TEAM_WORLD, numbers + me, numbers + 4, 1);
  if (is("calls-differ")) {
    if (me == 0) shmem_int_max_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 4, 2);
    else shmem_int_min_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 4, 2);
  }
  if (argc == 2 && strncmp(argv[1], "nb-", 3) == 0) {
    shmemx_req_t request = SHMEMX_REQ_INVALID;
    if (is("nb-reduce-differs")) shmemx_int_sum_reduce_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, static_cast<size_t>(1 + me), &request);
    if (is("nb-root-differs")) shmemx_broadcastmem_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, 4, me, &request);
    if (is("nb-collect-differs")) {
      if (me == 0) shmemx_collectmem_nb(SHMEM_TEAM_WORLD, numbers, numbers + 8, 8, &request);
      else shmemx_fcollectmem_nb(SHMEM_TEAM_WORLD, numbers, numbers + 8, 8, &request);
    }
    if (is("nb-calls-differ") || is("nb-freed-differ")) {
      for (int i = 0; i < 6; ++i) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 4, 1);  // until there is memory for them
      if (me == 0) shmemx_int_max_reduce_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, 2, &request);
      else shmemx_int_min_reduce_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, 2, &request);
    }
    if (is("nb-freed-differ")) shmemx_req_free(&request), shmem_finalize();
    if (is("nb-root")) shmemx_broadcastmem_nb(SHMEM_TEAM_WORLD, numbers, numbers + 4, 4, n, &request);
    if (is("nb-stack")) shmemx_int_sum_reduce_nb(SHMEM_TEAM_WORLD, &on_stack, numbers, 1, &request);
    if (is("nb-length")) shmemx_int_fcollect_nb(SHMEM_TEAM_WORLD, numbers, numbers, static_cast<size_t>(-1), &request);
    if (is("nb-negative")) shmemx_collectmem_nb(SHMEM_TEAM_WORLD, numbers, numbers, static_cast<size_t>(-1), &request);
    if (is("nb-strides")) shmemx_int_alltoalls_nb(SHMEM_TEAM_WORLD, numbers, numbers + 8, 0, 1, 1, &request);
    if (is("nb-said")) {
      if (shmemx_sync_nb(SHMEM_TEAM_INVALID, &request) != SHMEMX_ERR_ARG || shmemx_sync_nb(SHMEM_TEAM_WORLD, nullptr) != SHMEMX_ERR_ARG)
        return 8;
      request = reinterpret_cast<shmemx_req_t>(words);
      if (shmemx_req_wait(&request) != SHMEMX_ERR_ARG) return 9;
      return shmem_finalize(), 0;
    }
    for (int complete = 0; !complete;) shmemx_req_test(&request, &complete);
  }
  if (is("team-destroyed")) {
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &team);
    shmem_team_sync(team);
    shmem_team_destroy(team);
    shmem_team_sync(team);
  }
  if (me == 0) {
    if (is("put-to-stack")) shmem_int_put(&on_stack, &on_stack, 1, right);
    if (is("get-from-stack")) shmem_getmem(&on_stack, &on_stack, 4, right);
    if (is("past-the-end")) {
      const auto* heap = static_cast<char*>(shmem_ptr(&word, me));
      shmem_putmem(&word, heap, size_t{1} << 40, right);
    }
    if (is("pe-too-large")) shmem_long_g(reinterpret_cast<long*>(words), n);
    if (is("pe-negative")) shmem_int_atomic_inc(&word, -1);
    if (is("context")) shmem_ctx_int_p(SHMEM_CTX_INVALID, &word, 1, right);
    if (is("alignment")) shmem_uint64_atomic_inc(reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(words) + 4), right);
    if (is("put-alignment"))
      shmem_long_put(reinterpret_cast<long*>(reinterpret_cast<char*>(words) + 1), reinterpret_cast<long*>(words), 1, right);
    if (is("iget-alignment")) shmem_iget32(&word, reinterpret_cast<char*>(words) + 2, 1, 1, 1, right);
    if (is("comparison")) shmem_int_wait_until(&word, 77, 1);
    if (is("wait-on-stack")) shmem_int_wait_until(&on_stack, SHMEM_CMP_EQ, 1);
    if (is("length")) shmem_put128(words, words, SIZE_MAX / 2, right);
    if (is("free-inside")) shmem_free(&word);
  }
  shmem_barrier_all();
  shmem_finalize();
  if (is("finalize-twice")) return shmem_finalize(), 0;
  if (is("after-finalize")) shmem_barrier_all();
  return is("none") ? 0 : 3;
}
