// The probe of a wire, on as many ranks as there are "nodes": each sends to the next. All come back from it, and where a message takes
// milliseconds (PTL_DEBUG=wire=...) all call the wire slow.
//
// wire_probe_test [slow]
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/goal/wire_probe.hpp"
#include "portals/portals4_ext.h"

int main(int argc, char** argv) {
  using portunus::goal::WireProbe;
  const bool must_be_slow = argc > 1 && std::strcmp(argv[1], "slow") == 0;
  alarm(60);  // a hang
  ptlx_job_t job{};
  ptl_handle_ni_t ni;
  if (PtlxJobInit(&job) != PTL_OK || PtlInit() != PTL_OK) return 1;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni) != PTL_OK) return 1;
  if (PtlxJobMap(ni) != PTL_OK) return 1;
  bool good = true;
  {
    WireProbe probe;
    good = probe.open(ni) == PTL_OK;
    if (PtlxJobFence() != PTL_OK) return 1;
    const bool slow = probe.is_slow(static_cast<ptl_rank_t>((job.rank + 1) % job.size));
    if (must_be_slow && !slow) {
      std::fprintf(stderr, "rank %d takes the wire for a fast one\n", job.rank);
      good = false;
    }
    if (PtlxJobFence() != PTL_OK) return 1;
  }
  // The portal table entry is free again; where it is somebody else's, the wire counts as a fast one, and it stays his.
  ptl_pt_index_t portal;
  good = PtlPTAlloc(ni, 0, PTL_EQ_NONE, 49, &portal) == PTL_OK && good;
  {
    WireProbe probe;
    good = probe.open(ni) == PTL_PT_IN_USE && !probe.is_slow(static_cast<ptl_rank_t>((job.rank + 1) % job.size)) && good;
  }
  good = PtlPTFree(ni, portal) == PTL_OK && good;
  if (PtlxJobFence() != PTL_OK) return 1;
  PtlNIFini(ni);
  PtlFini();
  PtlxJobFini();
  return good ? 0 : 1;
}
