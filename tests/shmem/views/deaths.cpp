// deaths.cpp: a program whose processes hand views round without end, until the test kills one; the others must each end
// with LOST or with all they wanted, never hang, and recover what was released.
//
//   deaths STEPS VICTIM STEP: process VICTIM kills itself (SIGKILL) somewhere in its step STEP.
#include <signal.h>
#include <unistd.h>
#include <vdc.h>

#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

constexpr int kView = 1;
constexpr int kWords = 600;

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "process %d: %s: %s\n", Vdc_proc_id, what, Vdcx_explain());
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int steps = atoi(argv[1]), victim = atoi(argv[2]), fatal = atoi(argv[3]);
  Vdc_startup(argc, argv);
  static long* data;
  if (Vdc_proc_id == 0) data = static_cast<long*>(Vdcx_malloc(kWords * sizeof(long)));
  if (Vdcx_distribute(&data, sizeof data) != VDCX_SUCCESS) wrong("distribute");
  const Vdcx_piece piece{data, kWords * sizeof(long), 1, 0};
  if (Vdcx_declare(kView, &piece, 1, VDCX_AUTO) != VDCX_SUCCESS) wrong("declare");
  Vdc_barrier(1);
  std::mt19937 random(static_cast<unsigned>(Vdc_proc_id * 1000 + fatal));
  long seen = 0;
  bool lost = false;
  for (int step = 0; step < steps && !lost; ++step) {
    const bool dies = Vdc_proc_id == victim && step == fatal;
    // At a random moment: before, while it holds, or while others wait for what it is about to give.
    const int when = dies ? static_cast<int>(random() % 4) : -1;
    if (when == 0) kill(getpid(), SIGKILL);
    const bool reads = random() % 3 == 0;
    if (when == 1) {
      if (Vdcx_acquire(kView, VDCX_WRITE, 0) == VDCX_SUCCESS) data[0]++;
      kill(getpid(), SIGKILL);
    }
    const int code = Vdcx_acquire(kView, reads ? VDCX_READ : VDCX_WRITE, 20);
    if (code == VDCX_ERR_LOST) {
      lost = true;
      break;
    }
    if (code != VDCX_SUCCESS) wrong("acquire");
    for (int i = 1; i < kWords; ++i)
      if (data[i] != data[0]) wrong("a torn version");
    if (data[0] < seen) wrong("an old version");
    seen = data[0];
    if (when == 2) kill(getpid(), SIGKILL);
    if (!reads) {
      for (int i = 0; i < kWords; ++i) ++data[i];
      ++seen;
    }
    if (Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
    if (when == 3) kill(getpid(), SIGKILL);
  }
  int owner = -1;
  uint64_t version = 0;
  if (Vdcx_recover(kView, &owner, &version) != VDCX_SUCCESS) wrong("recover");
  if (owner == victim) wrong("the dead owns it");
  if (Vdcx_acquire(kView, VDCX_READ, 20) != VDCX_SUCCESS) wrong("acquire after recover");
  for (int i = 1; i < kWords; ++i)
    if (data[i] != data[0]) wrong("a torn version after recover");
  if (static_cast<uint64_t>(data[0]) < version) wrong("another version than recover told");
  if (data[0] < seen) wrong("what was released and is held by the living was lost");
  if (Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
  if (Vdcx_acquire(kView, VDCX_WRITE, 20) != VDCX_SUCCESS || Vdcx_release(kView) != VDCX_SUCCESS) wrong("write after recover");
  printf("survived %d\n", Vdc_proc_id);
  fflush(stdout);
  Vdc_exit(0);
}
