// floods.cpp: a stream's writer that is far ahead of a reader that computes: what its versions occupy at both has a bound that does not
// depend on how many there are, and the reader gets each of them whole and in turn.
//
// The reader makes no call until the writer has begun no version for many looks: it waits inside one. Exit status 0 when all is well.
// Source: vdc.h, Vdcx_stream.
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <vdc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/support/flood.hpp"

namespace {

constexpr int kPids = 0, kStream = 1, kWriter = 0, kReader = 1;
constexpr unsigned kDepth = 8;
constexpr size_t kWords = 8192;
constexpr uint64_t kVersions = 1500;  // 94 MiB
// The versions that may be unread, at each end once in the view and once on their way; and rings, buffers and stacks.
constexpr long long kBound = 2 * kDepth * static_cast<long long>(kWords * sizeof(uint64_t)) + (20 << 20);

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "process %d: %s: %s\n", Vdc_proc_id, what, Vdcx_explain());
  _exit(1);
}
void must(int code, const char* what) {
  if (code != VDCX_SUCCESS) wrong(what);
}

volatile sig_atomic_t goes_on = 0;

struct Data {
  pid_t* reader;
  uint64_t* version;
};

Data share() {
  static Data data;
  if (Vdc_proc_id == kWriter)
    data = {static_cast<pid_t*>(Vdcx_malloc(sizeof(pid_t))), static_cast<uint64_t*>(Vdcx_malloc(kWords * sizeof(uint64_t)))};
  must(Vdcx_distribute(&data, sizeof data), "distribute");
  const Vdcx_piece pids{data.reader, sizeof(pid_t), 1, 0}, versions{data.version, kWords * sizeof(uint64_t), 1, 0};
  must(Vdcx_declare(kPids, &pids, 1, VDCX_WHOLE), "declare");
  must(Vdcx_declare(kStream, &versions, 1, VDCX_WHOLE), "declare");
  must(Vdcx_stream(kStream, kWriter, &kReader, 1, kDepth), "stream");
  if (Vdc_proc_id == kReader) {
    must(Vdcx_acquire(kPids, VDCX_OVERWRITE, 60), "acquire");
    *data.reader = getpid();
    must(Vdcx_release(kPids), "release");
  }
  Vdc_barrier(1);
  return data;
}

void write_all(const Data& data) {
  must(Vdcx_acquire(kPids, VDCX_READ, 60), "acquire");
  const pid_t reader = *data.reader;
  must(Vdcx_release(kPids), "release");
  Vdc_barrier(2);
  std::atomic<uint64_t> begun{0};
  std::atomic<long long> most{0};
  std::thread watcher([&] { portunus::test::let_go_on(reader, begun, most); });
  const long long before = portunus::test::resident_bytes();
  for (uint64_t version = 1; version <= kVersions; ++version) {
    begun = version;
    must(Vdcx_acquire(kStream, VDCX_OVERWRITE, 120), "acquire");
    std::fill_n(data.version, kWords, version);
    must(Vdcx_release(kStream), "release");
  }
  watcher.join();
  if (most - before > kBound) wrong("the writer's memory grows with the versions that are unread");
}

void read_all(const Data& data) {
  const long long before = portunus::test::resident_bytes();
  Vdc_barrier(2);
  long long most = 0;
  while (!goes_on) sched_yield(), most = std::max(most, portunus::test::resident_bytes());
  if (most - before > kBound) wrong("the reader's memory grows with the versions that are unread");
  for (uint64_t version = 1; version <= kVersions; ++version) {
    must(Vdcx_acquire(kStream, VDCX_READ, 120), "acquire");
    if (!std::all_of(data.version, data.version + kWords, [&](uint64_t value) { return value == version; })) wrong("not the next version");
    must(Vdcx_release(kStream), "release");
  }
}

}  // namespace

int main(int argc, char** argv) {
  portunus::test::use_one_arena();
  struct sigaction go_on {};
  go_on.sa_handler = [](int) { goes_on = 1; };
  sigaction(SIGUSR1, &go_on, nullptr);
  Vdc_startup(argc, argv);
  const Data data = share();
  if (Vdc_proc_id == kWriter) write_all(data);
  if (Vdc_proc_id == kReader) read_all(data);
  Vdc_barrier(3);
  Vdc_exit(0);
  return 0;
}
