// lost.cpp: the last PE is killed in the middle of its runs; the others must hear of it, and end. MODE: run or start.
#include <ccc.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vector>

int main(int argc, char** argv) {
  const bool starts = argc > 1 && strcmp(argv[1], "start") == 0;
  const int64_t n = argc > 2 ? atoll(argv[2]) : 10000;
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  ccc_layout rows{}, dealt{};
  rows.axes = dealt.axes = 1;
  ccc_plan plan = nullptr;
  if (ccc_block(&rows.axis[0], n, pes) || ccc_cyclic(&dealt.axis[0], n, pes) || ccc_plan_create(&rows, &dealt, nullptr, 8, &plan)) {
    fprintf(stderr, "%s\n", ccc_explain());
    return 1;
  }
  const size_t room = static_cast<size_t>(ccc_room(&rows.axis[0]) + ccc_room(&dealt.axis[0])) * 8;
  auto* const arrays = static_cast<char*>(shmem_malloc(room));
  char* const to = arrays + static_cast<size_t>(ccc_room(&rows.axis[0])) * 8;
  int code = CCC_SUCCESS;
  for (int run = 0; code == CCC_SUCCESS && run < 100000; ++run) {
    if (me == pes - 1 && run == 20) raise(SIGKILL);
    code = starts ? ccc_plan_start(plan, arrays, to) : ccc_plan_run(plan, arrays, to);
    if (starts && code == CCC_SUCCESS) code = ccc_plan_wait(plan);
  }
  const int again = ccc_plan_run(plan, arrays, to);
  if (code != CCC_ERR_FAILED || again != CCC_ERR_STATE || ccc_plan_free(&plan) != CCC_SUCCESS || plan) {
    printf("PE %d: codes %d and %d: %s\n", me, code, again, ccc_explain());
    fflush(stdout);
    _exit(1);
  }
  printf("PE %d was told\n", me);
  fflush(stdout);
  _exit(0);  // those who are left cannot finalize together
}
