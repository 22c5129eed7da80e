// shmem_pair.cpp: puts and gets between two PEs by the OpenSHMEM calls: latency, rate, bandwidth.
//
// A put of 8 bytes is the flag that the other PE waits for; larger ones are followed by a fence and the flag.
#include <portals4.h>
#include <shmem.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "bench/pairs/measure.hpp"

namespace {

using namespace portunus::bench;

class ShmemLink : public Link {
 public:
  explicit ShmemLink(int peer)
      : peer_(peer),
        flag_(static_cast<long*>(shmem_calloc(1, sizeof(long)))),
        target_(static_cast<char*>(shmem_malloc(kMaxBytes))),
        local_(kMaxBytes) {
    if (!flag_ || !target_) {
      std::fprintf(stderr, "shmem_pair needs %zu MiB of symmetric heap; set SHMEM_SYMMETRIC_SIZE\n", (kMaxBytes >> 20) + 1);
      shmem_global_exit(1);
    }
    std::memset(target_, 1, kMaxBytes);
    shmem_barrier_all();
  }
  ~ShmemLink() {
    shmem_free(target_);
    shmem_free(flag_);
  }

  void send(size_t bytes, bool last) override {
    if (bytes > sizeof(long)) {
      shmem_putmem(target_, local_.data(), bytes, peer_);
      shmem_fence();
    }
    raise_flag(last);
  }
  bool receive(size_t) override {
    shmem_long_wait_until(flag_, SHMEM_CMP_NE, seen_);
    seen_ = *static_cast<volatile long*>(flag_);
    return seen_ < 0;
  }
  void send_window(size_t bytes, size_t count, bool last) override {
    for (size_t i = 0; i < count; ++i) {
      if (bytes == sizeof(long)) shmem_long_p(reinterpret_cast<long*>(target_) + i, 1, peer_);
      else shmem_putmem_nbi(target_ + i * bytes, local_.data(), bytes, peer_);
    }
    shmem_fence();
    raise_flag(last);
  }
  bool receive_window(size_t bytes, size_t) override { return receive(bytes); }

  void get(size_t bytes) { shmem_getmem(local_.data(), target_, bytes, peer_); }
  void get_window(size_t bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) shmem_getmem_nbi(local_.data() + i * bytes, target_ + i * bytes, bytes, peer_);
    shmem_quiet();
  }

 private:
  // Counts up, so that every flag differs from the one before; negative for the last one.
  void raise_flag(bool last) {
    ++sent_;
    shmem_long_p(flag_, last ? -sent_ : sent_, peer_);
  }

  int peer_;
  long sent_ = 0, seen_ = 0;
  long* flag_;
  char* target_;
  std::vector<char> local_;
};

void measure_gets(ShmemLink& link, Report& report) {
  for (const size_t bytes : {size_t{8}, size_t{1024}, size_t{65536}, size_t{1} << 20})
    measure_latency([&] { link.get(bytes); }, bytes, report, "shmem_get");
  measure_throughput([&] { link.get_window(8, kMaxWindow); }, 8, kMaxWindow, report, "shmem_get", "rate");
  for (const size_t bytes : {size_t{65536}, size_t{1} << 20})
    measure_throughput([&] { link.get_window(bytes, 8); }, bytes, 8, report, "shmem_get", "bandwidth");
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv, "Puts and gets between two PEs by the OpenSHMEM calls: latency, rate, bandwidth.");
  shmem_init();
  const int me = shmem_my_pe();
  require_two_ranks(shmem_n_pes(), "shmem_pair");
  bool written;
  {
    ShmemLink link(1 - me);
    Report report(options, me == 0, transport_to(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, 1));
    measure_link(link, me, report, "shmem_put");
    if (me == 0) measure_gets(link, report);
    written = report.write();
    shmem_barrier_all();
  }
  shmem_finalize();
  return written ? 0 : 1;
}
