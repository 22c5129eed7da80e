// any_launcher.cpp: a program that finds its peers by itself needs nothing but libportals. Started by mpiexec.hydra (`pmi`), by a
// shell script (`files FOLDER RANK SIZE`), or as a job; first physical addresses, then ranks by a map of its own.
#include <cstdint>
#include <numeric>

#include "tests/portals/peers.hpp"

using namespace portals_test;

namespace {

int failures = 0;
void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "any_launcher.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(holds) expect((holds), #holds, __LINE__)

constexpr size_t kBulk = 1 << 20;

// Everybody puts its number, and a large block, to everybody, adds to a sum at rank 0 and reads from everybody.
void talk(ptl_handle_ni_t ni, bool matching, const std::vector<ptl_process_t>& peers, int rank, Peers& meeting, const std::string& name) {
  const int size = static_cast<int>(peers.size());
  struct Memory {
    uint64_t number, sum;
    uint64_t heard[64];
  } memory{};
  memory.number = static_cast<uint64_t>(rank) + 100;
  std::vector<uint8_t> block(kBulk, static_cast<uint8_t>(rank)), blocks(kBulk * static_cast<size_t>(size), 0xff);
  ptl_pt_index_t pt, block_pt;
  EXPECT(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_OK && pt == 0);
  EXPECT(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &block_pt) == PTL_OK);
  ptl_handle_ct_t arrived, done;
  PtlCTAlloc(ni, &arrived);
  PtlCTAlloc(ni, &done);
  const auto offer = [&](ptl_pt_index_t where, void* start, size_t length) {
    ptl_handle_me_t handle;
    ptl_me_t me{};
    me.start = start;
    me.length = length;
    me.ct_handle = arrived;
    me.uid = PTL_UID_ANY;
    PtlGetUid(ni, &me.uid);
    me.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM;
    if (matching) {
      me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
      me.ignore_bits = ~ptl_match_bits_t{0};
      EXPECT(PtlMEAppend(ni, where, &me, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
    } else {
      ptl_le_t le{me.start, me.length, me.ct_handle, me.uid, me.options};
      EXPECT(PtlLEAppend(ni, where, &le, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
    }
  };
  offer(pt, &memory, sizeof memory);
  offer(block_pt, blocks.data(), blocks.size());
  meeting.meet(name + "-offered");
  ptl_md_t md{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, done};
  ptl_handle_md_t all;
  EXPECT(PtlMDBind(ni, &md, &all) == PTL_OK);
  const auto at = [](const void* place) { return reinterpret_cast<ptl_size_t>(place); };
  const auto self = static_cast<size_t>(rank);
  uint64_t one = 1, numbers[64] = {};
  for (size_t peer = 0; peer < peers.size(); ++peer) {
    EXPECT(PtlPut(all, at(&memory.number), 8, PTL_CT_ACK_REQ, peers[peer], pt, 0, offsetof(Memory, heard) + 8 * self, nullptr, 0) ==
           PTL_OK);
    EXPECT(PtlPut(all, at(block.data()), kBulk, PTL_CT_ACK_REQ, peers[peer], block_pt, 0, kBulk * self, nullptr, 0) == PTL_OK);
    EXPECT(PtlGet(all, at(&numbers[peer]), 8, peers[peer], pt, 0, 0, nullptr) == PTL_OK);
  }
  EXPECT(PtlAtomic(all, at(&one), 8, PTL_CT_ACK_REQ, peers[0], pt, 0, offsetof(Memory, sum), nullptr, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
  const auto count = static_cast<uint64_t>(size);
  ptl_ct_event_t value{};
  EXPECT(PtlCTWait(done, 3 * count + 1, &value) == PTL_OK && value.failure == 0);
  EXPECT(PtlCTWait(arrived, 3 * count + (rank == 0 ? count : 0), &value) == PTL_OK && value.failure == 0);
  for (uint64_t peer = 0; peer < count; ++peer) {
    EXPECT(memory.heard[peer] == peer + 100);
    EXPECT(numbers[peer] == peer + 100);
    const auto mark = static_cast<uint8_t>(peer);
    EXPECT(blocks[kBulk * peer] == mark && blocks[kBulk * peer + kBulk / 2] == mark && blocks[kBulk * (peer + 1) - 1] == mark);
  }
  if (rank == 0) EXPECT(memory.sum == count);
  // Nobody waits for the others here: who leaves first has heard all that was meant for it.
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<Peers> peers = find_peers(argc, argv, 1);
  EXPECT(peers->size <= 64);
  EXPECT(PtlInit() == PTL_OK);
  ptl_handle_ni_t physical, logical;
  EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &physical) == PTL_OK);
  const std::vector<ptl_process_t> all = addresses(*peers, physical, "physical");
  talk(physical, true, all, peers->rank, *peers, "physical");

  EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &logical) == PTL_OK);
  std::vector<ptl_process_t> map = addresses(*peers, logical, "logical");  // the address is known before the map
  const auto same = [&](int rank) {
    return map[static_cast<size_t>(rank)].phys.nid == all[static_cast<size_t>(rank)].phys.nid &&
           map[static_cast<size_t>(rank)].phys.pid == all[static_cast<size_t>(rank)].phys.pid;
  };
  for (int rank = 0; rank < peers->size; ++rank) EXPECT(same(rank));
  EXPECT(PtlSetMap(logical, map.size(), map.data()) == PTL_OK);
  ptl_process_t self;
  EXPECT(PtlGetId(logical, &self) == PTL_OK && self.rank == static_cast<ptl_rank_t>(peers->rank));
  std::vector<ptl_process_t> ranks(map.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].rank = static_cast<ptl_rank_t>(rank);
  talk(logical, false, ranks, peers->rank, *peers, "logical");
  EXPECT(PtlNIFini(logical) == PTL_OK);
  EXPECT(PtlNIFini(physical) == PTL_OK);
  PtlFini();
  return failures != 0;
}
