// deaths.cpp: a program whose processes hand views round without end, until the test kills one; the others must each end
// with LOST or with all they wanted, never hang, and recover what was released.
//
//   deaths STEPS VICTIM STEP: process VICTIM kills itself (SIGKILL) somewhere in its step STEP.
//   deaths copied MICROSECONDS: process 1 has a version of 16 MiB and asks process 0 for the next; that one dies so much later. What
//   process 1 had is not lost by half a copy. "told": of 8 MiB; process 1 waits for it,
//   and process 0 dies so much later than it began to release.
//   deaths named VICTIM READS: process VICTIM dies, which holds a view that all others wait for, and manages another that they have not
//   touched. What they are told names it, also who waits behind one that waits for it, and who asks once more.
//   deaths stream VICTIM MICROSECONDS: process 0 streams versions to all others; VICTIM dies meanwhile. Readers get whole versions in turn,
//   to the end if the writer lives, else until LOST.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <vdc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kView = 1;
constexpr int kWords = 600;

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "process %d: %s: %s\n", Vdc_proc_id, what, Vdcx_explain());
  _exit(1);
}

[[noreturn]] void end_well() {
  printf("survived %d\n", Vdc_proc_id);
  fflush(stdout);
  Vdc_exit(0);
  _exit(0);
}

// Data are brought by whoever releases, who may die then.
int acquire_ahead(Vdcx_mode mode) {
  Vdcx_request request;
  const int code = Vdcx_begin(kView, mode, &request);
  return code == VDCX_SUCCESS ? Vdcx_wait(&request, 20) : code;
}

void* kill_after(void* microseconds) {
  usleep(static_cast<useconds_t>(reinterpret_cast<uintptr_t>(microseconds)));
  kill(getpid(), SIGKILL);
  return nullptr;
}

uint64_t* declared(size_t words) {
  static uint64_t* data;
  if (Vdc_proc_id == 0) data = static_cast<uint64_t*>(Vdcx_malloc(words * sizeof *data));
  if (Vdcx_distribute(&data, sizeof data) != VDCX_SUCCESS) wrong("distribute");
  const Vdcx_piece piece{data, words * sizeof *data, 1, 0};
  if (Vdcx_declare(kView, &piece, 1, VDCX_WHOLE) != VDCX_SUCCESS) wrong("declare");
  Vdc_barrier(1);
  return data;
}

// Process 1, which is alone now, has this version, and in all words this value.
[[noreturn]] void recover_as(const uint64_t* data, size_t words, uint64_t version, uint64_t value) {
  int owner = -1;
  uint64_t found = 0;
  if (Vdcx_recover(kView, &owner, &found) != VDCX_SUCCESS) wrong("recover");
  if (owner != 1 || found != version) wrong("what the living process had was lost");
  if (Vdcx_acquire(kView, VDCX_READ, 20) != VDCX_SUCCESS) wrong("acquire after recover");
  if (!std::all_of(data, data + words, [&](uint64_t word) { return word == value; })) wrong("a torn version");
  if (Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
  end_well();
}

void die_after(long microseconds, pthread_t& killer) {
  if (pthread_create(&killer, nullptr, kill_after, reinterpret_cast<void*>(microseconds)) != 0) wrong("a thread");
}

[[noreturn]] void die_while_streaming(int victim, long microseconds) {
  constexpr size_t kMany = 32768;
  constexpr uint64_t kVersions = 300;
  uint64_t* const data = declared(kMany);
  std::vector<int> readers;
  for (int p = 1; p < Vdc_nprocs; ++p) readers.push_back(p);
  if (Vdcx_stream(kView, 0, readers.data(), static_cast<unsigned>(readers.size()), 2) != VDCX_SUCCESS) wrong("stream");
  Vdc_barrier(4);
  pthread_t killer;
  if (Vdc_proc_id == victim) die_after(microseconds, killer);
  for (uint64_t version = 1; version <= kVersions; ++version) {
    const int code = Vdcx_acquire(kView, Vdc_proc_id == 0 ? VDCX_OVERWRITE : VDCX_READ, 20);
    if (code == VDCX_ERR_LOST && victim == 0 && Vdc_proc_id != 0) break;
    if (code != VDCX_SUCCESS) wrong("acquire");
    if (Vdc_proc_id == 0) std::fill_n(data, kMany, version);
    else if (!std::all_of(data, data + kMany, [&](uint64_t value) { return value == version; })) wrong("not the next version");
    if (Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
  }
  if (Vdc_proc_id == victim) pthread_join(killer, nullptr);
  end_well();
}

[[noreturn]] void die_while_copied(long microseconds) {
  constexpr size_t kMany = 2u << 20;
  uint64_t* const data = declared(kMany);
  for (uint64_t version = 1; version <= 2; ++version) {
    if (Vdc_proc_id == 0) {
      if (Vdcx_acquire(kView, VDCX_WRITE, 20) != VDCX_SUCCESS) wrong("acquire");
      std::fill_n(data, kMany, version);
      if (Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
    }
    Vdc_barrier(2);
    if (version == 1 && Vdc_proc_id == 1 && (Vdcx_acquire(kView, VDCX_READ, 20) != VDCX_SUCCESS || Vdcx_release(kView) != VDCX_SUCCESS))
      wrong("the first version");
    Vdc_barrier(3);
  }
  if (Vdc_proc_id == 0) {
    pthread_t killer;
    die_after(microseconds, killer);
    pthread_join(killer, nullptr);
  }
  const int code = Vdcx_acquire(kView, VDCX_READ, 20);
  if (code != VDCX_SUCCESS && code != VDCX_ERR_LOST) wrong("acquire");
  if (code == VDCX_SUCCESS && Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
  recover_as(data, kMany, code == VDCX_SUCCESS ? 2 : 1, code == VDCX_SUCCESS ? 2 : 1);
}

// Each survivor asks twice. On a node the queue that the dead managed can be read still.
[[noreturn]] void die_and_be_named(int victim, bool reads) {
  const Vdcx_mode mode = reads ? VDCX_READ : VDCX_WRITE;
  const int held = Vdc_nprocs + (victim + 1) % Vdc_nprocs, managed = 2 * Vdc_nprocs + victim;
  Vdc_barrier(1);
  if (Vdc_proc_id == victim && Vdcx_acquire(held, VDCX_WRITE, 20) != VDCX_SUCCESS) wrong("acquire");
  Vdc_barrier(2);
  for (int p = 0; p < Vdc_nprocs; ++p) {  // a queue in this order
    if (p == Vdc_proc_id && p != victim && Vdcx_acquire(held, mode, 0) != VDCX_ERR_TIMEOUT) wrong("it is held");
    Vdc_barrier(3);
  }
  if (Vdc_proc_id == victim) kill(getpid(), SIGKILL);
  const std::string name = "process " + std::to_string(victim) + ",";
  for (const int view : {held, held, managed, managed}) {
    const int code = Vdcx_acquire(view, mode, 20);
    if (code == VDCX_SUCCESS && view == managed) {
      if (Vdcx_release(view) != VDCX_SUCCESS) wrong("release");
    } else if (code != VDCX_ERR_LOST) {
      wrong("acquire");
    } else if (!strstr(Vdcx_explain(), name.c_str())) {
      wrong("another process is told to be dead");
    }
  }
  end_well();
}

// Three times process 1 waits for process 0, who tells it; the last time he dies around that.
[[noreturn]] void die_after_telling(long microseconds) {
  constexpr size_t kMany = 1u << 20;
  constexpr uint64_t kRounds = 3;
  uint64_t* const data = declared(kMany);
  for (uint64_t round = 1;; ++round) {
    const bool last = round == kRounds;
    if (Vdc_proc_id == 0) {
      if (Vdcx_acquire(kView, VDCX_WRITE, 20) != VDCX_SUCCESS) wrong("acquire");
      std::fill_n(data, kMany, round);
      Vdc_barrier(2);
      Vdc_barrier(3);  // process 1 is in the queue
      pthread_t killer;
      if (last) die_after(microseconds, killer);
      if (Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
      if (last) pthread_join(killer, nullptr);
    } else {
      Vdc_barrier(2);
      if (Vdcx_acquire(kView, VDCX_WRITE, 0) != VDCX_ERR_TIMEOUT) wrong("it is held by process 0");
      Vdc_barrier(3);
      const int code = Vdcx_acquire(kView, VDCX_WRITE, 20);
      if (code != VDCX_SUCCESS && (code != VDCX_ERR_LOST || !last)) wrong("acquire");
      if (code == VDCX_SUCCESS && !std::all_of(data, data + kMany, [&](uint64_t value) { return value == round; })) wrong("a torn version");
      if (code == VDCX_SUCCESS && Vdcx_release(kView) != VDCX_SUCCESS) wrong("release");
      // Both have released in each round before.
      if (last) recover_as(data, kMany, 2 * (kRounds - 1) + (code == VDCX_SUCCESS ? 2 : 0), code == VDCX_SUCCESS ? kRounds : kRounds - 1);
    }
    Vdc_barrier(4);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (argc == 3 && (how == "copied" || how == "told")) {
    const bool told = how == "told";
    const long microseconds = atol(argv[2]);
    Vdc_startup(argc, argv);
    told ? die_after_telling(microseconds) : die_while_copied(microseconds);
  }
  if (argc == 4 && how == "named") {
    const int victim = atoi(argv[2]);
    const bool reads = atoi(argv[3]) != 0;
    Vdc_startup(argc, argv);
    die_and_be_named(victim, reads);
  }
  if (argc == 4 && how == "stream") {
    const int victim = atoi(argv[2]);
    const long microseconds = atol(argv[3]);
    Vdc_startup(argc, argv);
    die_while_streaming(victim, microseconds);
  }
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
    const Vdcx_mode mode = reads ? VDCX_READ : VDCX_WRITE;
    const int code = random() % 3 == 0 ? acquire_ahead(mode) : Vdcx_acquire(kView, mode, 20);
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
  end_well();
}
