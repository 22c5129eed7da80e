// Measuring hops and local operations: see costs.hpp.
//
// Thread: one.
#include "engine/tools/goalc/costs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/triggered/atomic_ops.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::goalc {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kUsualHopNs = 10;  // where nothing can be measured

double ns_since(Clock::time_point begin) { return std::chrono::duration<double, std::nano>(Clock::now() - begin).count(); }

// The least of some runs over a chain of counters, each of which increments the next.
double measure_hop(ptl_handle_ni_t ni) {
  constexpr int kHops = 1000, kRuns = 20;
  std::vector<ptl_handle_ct_t> counters(kHops + 1, PTL_CT_NONE);
  for (ptl_handle_ct_t& ct : counters) {
    if (PtlCTAlloc(ni, &ct) != PTL_OK) return kUsualHopNs;
  }
  double least = std::numeric_limits<double>::infinity();
  for (ptl_size_t run = 1; run <= kRuns; ++run) {
    for (int i = 0; i < kHops; ++i) {
      if (PtlTriggeredCTInc(counters[i + 1], {1, 0}, counters[i], run) != PTL_OK) return kUsualHopNs;
    }
    const Clock::time_point begin = Clock::now();
    ptl_ct_event_t value;
    if (PtlCTInc(counters[0], {1, 0}) != PTL_OK || PtlCTWait(counters[kHops], run, &value) != PTL_OK) return kUsualHopNs;
    least = std::min(least, ns_since(begin) / kHops);
  }
  for (const ptl_handle_ct_t ct : counters) PtlCTFree(ct);
  return least;
}

double measure_byte(ptlx_local_op_t op, ptl_datatype_t type) {
  constexpr size_t kBytes = 32 * 1024;
  constexpr int kRuns = 20;
  std::vector<std::byte> a(kBytes, std::byte{1}), b(kBytes, std::byte{1}), dst(kBytes);
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const Clock::time_point begin = Clock::now();
    apply_local(op, type, dst.data(), a.data(), b.data(), kBytes / goal::width_of(type));
    least = std::min(least, ns_since(begin) / kBytes);
  }
  return least;
}

}  // namespace

double Costs::hop_ns() {
  if (hop_ns_) return *hop_ns_;
  hop_ns_ = kUsualHopNs;
  const char* const keys = std::getenv("PTL_DEBUG");
  setenv("PTL_DEBUG", ((keys && *keys ? keys + std::string(",") : "") + "no-fabric").c_str(), 1);  // nothing leaves this process
  ptl_handle_ni_t ni;
  if (PtlInit() != PTL_OK) return *hop_ns_;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni) == PTL_OK) {
    hop_ns_ = measure_hop(ni);
    PtlNIFini(ni);
  }
  PtlFini();
  return *hop_ns_;
}

double Costs::work_ns(const goal::Plan& plan, goal::VertexId v) {
  const goal::Vertex& vertex = plan.graph[v];
  if (vertex.kind == goal::Kind::calc) return static_cast<double>(vertex.size);
  const goal::Work& work = plan.works[v];
  if (vertex.kind != goal::Kind::local || work.op == PTLX_TIMESTAMP) return 0;
  const auto [found, fresh] = byte_ns_.try_emplace({work.op, work.type});
  if (fresh) found->second = measure_byte(work.op, work.type);
  return found->second * static_cast<double>(plan.bytes(v));
}

}  // namespace portunus::goalc
