// network.cpp: opens on top of GOAL, which has the job's map already.
#include "shmem/distribution/plan/network.hpp"

#include <shmem.h>

#include "engine/goal/goal.h"
#include "portals/portals4_ext.h"
#include "shmem/distribution/ccc.h"
#include "shmem/distribution/explain.hpp"

namespace portunus::distribution {

Network& Network::instance() {
  static Network& network = *new Network;  // also for a process that ends without freeing its plans
  return network;
}

int Network::open() {
  if (users_++ > 0) return CCC_SUCCESS;
  if (GOAL_Init(nullptr, nullptr) != GOAL_SUCCESS) {
    --users_;
    return refuse(CCC_ERR_NO_SPACE, "GOAL cannot be used: %s", GOAL_Explain());
  }
  // The same interface that GOAL has opened and given the job's map.
  int code = PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni_);
  if (code == PTL_OK) code = PtlPTAlloc(ni_, 0, PTL_EQ_NONE, kIndex, &index_);
  // Messages that come before their receives. What they occupy has a bound, behind which sources wait in their runs.
  constexpr ptl_size_t kHeadersOnlyFrom = 64 << 20, kMostHeld = 256 << 20;
  if (code == PTL_OK) code = PtlxPTLimitHeld(ni_, index_, kHeadersOnlyFrom, kMostHeld);
  if (code == PTL_OK) code = keeper_.append(ni_, index_, client::entry_for_all(PTL_ME_OP_PUT | PTLX_ME_HOLD), PTL_OVERFLOW_LIST);
  bases_.assign(static_cast<size_t>(shmem_n_pes()), {});
  shmem_barrier_all();  // a message that came before its portal table entry would be lost
  if (code == PTL_OK) return CCC_SUCCESS;
  close(false);
  return refuse(CCC_ERR_NO_SPACE,
                "the network interface has no portal table entry %u, or no entry of a list, left (Portals return code %d)", kIndex, code);
}

void Network::close(bool lost) {
  if (lost || --users_ > 0) return;
  shmem_barrier_all();
  if (keeper_.is_open()) {
    keeper_.close();
    PtlPTFree(ni_, index_);
  }
  if (ni_ != PTL_INVALID_HANDLE) PtlNIFini(ni_);
  ni_ = PTL_INVALID_HANDLE;
  bases_.clear();
  GOAL_Finalize();
}

int Network::take_context() {
  for (unsigned i = 0; i < kMostPlans; ++i)
    if (!contexts_[i]) return contexts_.set(i), static_cast<int>(client::kFirstPlanContext + i);
  return -1;
}

bool Network::find(const void* memory, uint64_t bytes, NodePlace* place) const {
  for (unsigned block = 0; block < kBlocks; ++block) {
    void* base = nullptr;
    ptl_size_t size = 0;
    if (PtlxNodeMap(ni_, process(shmem_my_pe()), block, &base, &size) != PTL_OK) break;
    const uint64_t offset = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(base);
    if (offset >= size || bytes > size - offset) continue;
    *place = {block, offset};
    return true;
  }
  return false;
}

const std::byte* Network::reach(int pe, const NodePlace& place) {
  if (place.block >= kBlocks) return nullptr;
  std::byte*& base = bases_[static_cast<size_t>(pe)][place.block];
  if (!base) {
    void* found = nullptr;
    ptl_size_t size = 0;
    if (PtlxNodeMap(ni_, process(pe), place.block, &found, &size) != PTL_OK) return nullptr;
    base = static_cast<std::byte*>(found);
  }
  return base + place.offset;
}

}  // namespace portunus::distribution
