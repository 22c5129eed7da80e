// budget_pair.cpp: what Portals takes beside what it stands on, measured in turns in one run of two ranks:
// on the node a put of 1 MiB beside the kernel's cross-memory attach and memcpy; across a fabric a put of 8 bytes beside libfabric alone;
// on both, the processor time of an engine that has nothing to do.
//
// The turns are short and many, so that whatever disturbs the machine disturbs all ways; of each the best turn is compared.
#include <portals4.h>
#include <portals4_ext.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/pairs/fabric_pingpong.hpp"
#include "bench/pairs/report.hpp"
#include "engine/host/clock.hpp"

namespace {

using namespace portunus;
using namespace portunus::bench;

void check(int status, const char* call) {
  if (status != PTL_OK) PtlxJobAbort(1, (std::string(call) + " failed with code " + std::to_string(status)).c_str());
}
#define CHECK(call) check((call), #call)

constexpr size_t kBulk = 1 << 20;
constexpr size_t kPlaces = 16;  // where the blocks of a turn go, one behind the other
constexpr int kTrips = 100;     // of small messages in a turn
constexpr int kTurns = 300;

// One entry over `memory`, counted, and a descriptor of everything.
struct Ends {
  ptl_handle_ct_t arrived = PTL_CT_NONE, answered = PTL_CT_NONE;
  ptl_handle_md_t all = PTL_INVALID_HANDLE;
  ptl_pt_index_t portal = 0;
  ptl_process_t peer{};
  uint64_t expected = 0, acknowledged = 0;

  Ends(ptl_handle_ni_t ni, int other, std::vector<char>& memory) {
    peer.rank = static_cast<ptl_rank_t>(other);
    CHECK(PtlCTAlloc(ni, &arrived));
    CHECK(PtlCTAlloc(ni, &answered));
    CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &portal));
    ptl_me_t me{};
    me.start = memory.data();
    me.length = memory.size();
    me.ct_handle = arrived;
    me.uid = PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM;
    me.match_id.rank = PTL_RANK_ANY;
    ptl_handle_me_t entry;
    CHECK(PtlMEAppend(ni, portal, &me, PTL_PRIORITY_LIST, nullptr, &entry));
    const ptl_md_t md{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, answered};
    CHECK(PtlMDBind(ni, &md, &all));
  }
  void put(const void* from, size_t bytes, size_t to, ptl_ack_req_t ack = PTL_NO_ACK_REQ) {
    CHECK(PtlPut(all, reinterpret_cast<ptl_size_t>(from), bytes, ack, peer, portal, 0, to, nullptr, 0));
    acknowledged += ack != PTL_NO_ACK_REQ;
  }
  static void wait(ptl_handle_ct_t ct, uint64_t count) {
    ptl_ct_event_t value;
    CHECK(PtlCTWait(ct, count, &value));
  }
};

// Nanoseconds of each turn of each way.
std::vector<std::vector<double>> in_turns(const std::vector<std::function<void()>>& ways, bool measures) {
  std::vector<std::vector<double>> took(ways.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t way = 0; way < ways.size(); ++way) {
      if (!measures) {
        ways[way]();
        continue;
      }
      const uint64_t begin = now_ns();
      ways[way]();
      took[way].push_back(static_cast<double>(now_ns() - begin));
    }
  }
  return took;
}

double best(const std::vector<double>& took) { return *std::min_element(took.begin(), took.end()); }

void add(Report& report, const char* bench, size_t size, const char* metric, std::vector<double> samples, double value) {
  report.add({bench, size, metric, std::move(samples), value});
}

// Rank 0 moves blocks: by puts into rank 1's memory, by reading as many from there itself, by copying its own.
void bulk(Ends& ends, std::vector<char>& memory, int me, Report& report) {
  std::vector<char> source(kBulk, 'x');
  struct Place {
    pid_t process;
    char* address;
  } place{getpid(), source.data()}, theirs{};
  size_t size = sizeof theirs;
  CHECK(PtlxJobPut("bench.place", &place, sizeof place));
  CHECK(PtlxJobFence());
  CHECK(PtlxJobGet(1 - me, "bench.place", &theirs, &size));
  const auto by_put = [&] {
    if (me == 0) {
      for (size_t i = 0; i < kPlaces; ++i) ends.put(source.data(), kBulk, i * kBulk, PTL_CT_ACK_REQ);
      Ends::wait(ends.answered, ends.acknowledged);
    } else {
      Ends::wait(ends.arrived, ends.expected += kPlaces);
    }
  };
  bool attached = true;
  const auto by_attach = [&] {
    for (size_t i = 0; me == 0 && attached && i < kPlaces; ++i) {
      const iovec local{memory.data() + i * kBulk, kBulk}, remote{theirs.address, kBulk};
      attached = process_vm_readv(theirs.process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(kBulk);
    }
  };
  const auto by_copy = [&] {
    for (size_t i = 0; me == 0 && i < kPlaces; ++i) {
      std::memcpy(memory.data() + i * kBulk, source.data(), kBulk);
      asm volatile("" ::"r"(memory.data()) : "memory");  // the copy is made each time
    }
  };
  by_put();
  report.begin();
  const auto took = in_turns({by_put, by_attach, by_copy}, me == 0);
  CHECK(PtlxJobFence());  // the source has been read
  if (me != 0) return;
  const auto speed = [](const std::vector<double>& all) { return static_cast<double>(kPlaces * kBulk) / best(all); };
  const double put = speed(took[0]), attach = attached ? speed(took[1]) : 0, copy = speed(took[2]);
  const auto speeds = [](std::vector<double> all) {
    for (double& one : all) one = static_cast<double>(kPlaces * kBulk) / one;
    return all;
  };
  add(report, "portals_put", kBulk, "bandwidth", speeds(took[0]), put);
  if (attached) add(report, "limit_attach", kBulk, "bandwidth", speeds(took[1]), attach);
  add(report, "limit_memcpy", kBulk, "bandwidth", speeds(took[2]), copy);
  add(report, "put_of_faster", kBulk, "share", {100 * put / std::max(attach, copy)}, 100 * put / std::max(attach, copy));
}

// Round trips of 8 bytes by puts, and by libfabric's messages.
void small(Ends& ends, FabricPingPong& raw, std::vector<char>& memory, int me, Report& report) {
  const auto by_put = [&] {
    for (int i = 0; i < kTrips; ++i) {
      if (me == 0) ends.put(memory.data(), 8, 0);
      Ends::wait(ends.arrived, ++ends.expected);
      if (me != 0) ends.put(memory.data(), 8, 0);
    }
  };
  const auto by_fabric = [&] { raw.run(me, kTrips); };
  by_put();
  by_fabric();
  report.begin();
  auto took = in_turns({by_put, by_fabric}, me == 0);
  if (me != 0) return;
  for (auto& way : took)
    for (double& one : way) one *= 1e-3 / (2 * kTrips);
  const double put = best(took[0]), fabric = best(took[1]);
  add(report, "portals_put", 8, "latency", took[0], put);
  add(report, "fabric_alone", 8, "latency", took[1], fabric);
  add(report, "put_to_fabric", 8, "ratio", {put / fabric}, put / fabric);
}

// Nobody calls, nothing arrives: what the engine's thread takes of a processor meanwhile.
void idle(Report& report) {
  ptlx_engine_info_t before{}, after{};
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // whatever went before has been forgotten
  report.begin();
  CHECK(PtlxEngineInfo(&before));
  const uint64_t begin = now_ns();
  std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.5, report.options().seconds)));
  CHECK(PtlxEngineInfo(&after));
  const double busy = 100.0 * static_cast<double>(after.engine_cpu_ns - before.engine_cpu_ns) / static_cast<double>(now_ns() - begin);
  add(report, "idle_engine", 0, "busy", {busy}, busy);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      read_options(argc, argv, "What Portals takes beside what it stands on: libfabric alone, cross-memory attach, memcpy.");
  ptlx_job_t job;
  ptl_handle_ni_t ni;
  if (PtlxJobInit(&job) != PTL_OK) return 1;
  require_two_ranks(job.size, "budget_pair");
  CHECK(PtlInit());
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni));
  CHECK(PtlxJobMap(ni));
  std::vector<char> memory(kPlaces * kBulk);
  Ends ends(ni, 1 - job.rank, memory);
  CHECK(PtlxJobFence());  // both entries stand
  const std::string transport = transport_to(PTL_NI_MATCHING | PTL_NI_LOGICAL, 1 - job.rank);
  Report report(options, job.rank == 0, transport);
  if (transport.starts_with("fabric(")) {
    ptl_process_t self;
    CHECK(PtlGetPhysId(ni, &self));
    if (auto raw = FabricPingPong::open(transport.substr(7, transport.size() - 8), self.phys.nid, job.rank))
      small(ends, *raw, memory, job.rank, report);
  } else {
    bulk(ends, memory, job.rank, report);
  }
  CHECK(PtlxJobFence());
  idle(report);
  const bool written = report.write();
  CHECK(PtlxJobFence());
  PtlNIFini(ni);
  PtlFini();
  PtlxJobFini();
  return written ? 0 : 1;
}
