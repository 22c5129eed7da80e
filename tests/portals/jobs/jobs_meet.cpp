// jobs_meet.cpp: processes of different jobs, of one process each here, become members of one another's maps. Started by a script
// (`files FOLDER RANK SIZE`).
#include <cstring>

#include "tests/portals/peers.hpp"

using namespace portals_test;

namespace {

int failures = 0;
void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "jobs_meet.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(holds) expect((holds), #holds, __LINE__)

std::string text_of(const ptlx_contact_t& contact) {
  std::string text;
  for (const uint64_t word : contact.words) text += (text.empty() ? "" : ":") + std::to_string(word);
  return text;
}
ptlx_contact_t contact_of(const std::string& text) {
  ptlx_contact_t contact{};
  size_t at = 0;
  for (uint64_t& word : contact.words) {
    size_t used = 0;
    word = std::stoull(text.substr(at), &used);
    at += used + 1;
  }
  return contact;
}

// Everybody puts its number, and a large block, to everybody: by the ranks in its own map, which differ from process to process.
void talk(ptl_handle_ni_t ni, Peers& peers, const std::vector<ptl_rank_t>& ranks) {
  constexpr size_t kBulk = 1 << 20;
  const auto size = static_cast<size_t>(peers.size), self = static_cast<size_t>(peers.rank);
  std::vector<uint64_t> numbers(size, 0);
  std::vector<uint8_t> block(kBulk, static_cast<uint8_t>(self + 1)), blocks(kBulk * size, 0);
  ptl_pt_index_t pt;
  EXPECT(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 5, &pt) == PTL_OK);
  ptl_handle_ct_t arrived, done;
  PtlCTAlloc(ni, &arrived);
  PtlCTAlloc(ni, &done);
  for (size_t peer = 0; peer < size; ++peer) {
    ptl_me_t me{};
    me.ct_handle = arrived;
    me.uid = PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_USE_ONCE;
    me.match_id.rank = ranks[peer];  // from this process alone
    ptl_handle_me_t handle;
    me.start = &numbers[peer], me.length = 8, me.match_bits = 1;
    EXPECT(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
    me.start = &blocks[kBulk * peer], me.length = kBulk, me.match_bits = 2;
    EXPECT(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
  }
  peers.meet("offered");
  ptl_md_t md{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, done};
  ptl_handle_md_t all;
  EXPECT(PtlMDBind(ni, &md, &all) == PTL_OK);
  const uint64_t number = self + 100;
  for (const ptl_rank_t rank : ranks) {
    ptl_process_t target{};
    target.rank = rank;
    EXPECT(PtlPut(all, reinterpret_cast<ptl_size_t>(&number), 8, PTL_CT_ACK_REQ, target, pt, 1, 0, nullptr, 0) == PTL_OK);
    EXPECT(PtlPut(all, reinterpret_cast<ptl_size_t>(block.data()), kBulk, PTL_CT_ACK_REQ, target, pt, 2, 0, nullptr, 0) == PTL_OK);
  }
  ptl_ct_event_t value{};
  EXPECT(PtlCTWait(done, 2 * size, &value) == PTL_OK && value.failure == 0);
  EXPECT(PtlCTWait(arrived, 2 * size, &value) == PTL_OK && value.failure == 0);
  for (size_t peer = 0; peer < size; ++peer) {
    EXPECT(numbers[peer] == peer + 100);
    EXPECT(blocks[kBulk * peer] == peer + 1 && blocks[kBulk * (peer + 1) - 1] == peer + 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<Peers> peers = find_peers(argc, argv, 1);
  ptlx_job_t job;
  ptl_handle_ni_t ni, physical;
  ptlx_contact_t own;
  ptl_rank_t rank = 7;
  EXPECT(PtlxContact(PTL_INVALID_HANDLE, &own) == PTL_NO_INIT && PtlxMapExtend(PTL_INVALID_HANDLE, &own, 1, &rank) == PTL_NO_INIT);
  EXPECT(PtlxJobInit(&job) == PTL_OK && job.size == 1 && PtlInit() == PTL_OK);
  EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni) == PTL_OK);
  EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &physical) == PTL_OK);
  EXPECT(PtlxContact(ni, nullptr) == PTL_ARG_INVALID && PtlxContact(ni, &own) == PTL_OK);
  EXPECT(PtlxMapExtend(ni, &own, 1, &rank) == PTL_ARG_INVALID);        // it has no map to extend
  EXPECT(PtlxMapExtend(physical, &own, 1, &rank) == PTL_ARG_INVALID);  // nor will this one ever have
  EXPECT(PtlxJobMap(ni) == PTL_OK);                                    // no name of the segment is left after this
  EXPECT(PtlxMapExtend(ni, nullptr, 1, &rank) == PTL_ARG_INVALID && PtlxMapExtend(ni, &own, 1, nullptr) == PTL_ARG_INVALID);
  EXPECT(PtlxMapExtend(ni, &own, 1, &rank) == PTL_OK && rank == 0);  // a member already
  EXPECT(PtlxMapExtend(ni, nullptr, 0, nullptr) == PTL_OK);

  const std::vector<std::string> texts = peers->exchange("contact", text_of(own));
  std::vector<ptl_rank_t> ranks;
  for (const std::string& text : texts) {
    const ptlx_contact_t contact = contact_of(text);
    EXPECT(PtlxMapExtend(ni, &contact, 1, &rank) == PTL_OK);
    ranks.push_back(rank);
    EXPECT(PtlxMapExtend(ni, &contact, 1, &rank) == PTL_OK && rank == ranks.back());  // once a member, always with this rank
  }
  EXPECT(ranks[static_cast<size_t>(peers->rank)] == 0);
  for (size_t i = 0; i < ranks.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT(ranks[i] != ranks[j] && ranks[i] < static_cast<ptl_rank_t>(peers->size));
  std::vector<ptl_process_t> map(ranks.size());
  ptl_size_t known = 0;
  EXPECT(PtlGetMap(ni, map.size(), map.data(), &known) == PTL_OK && known == ranks.size());
  ptl_process_t self{};
  EXPECT(PtlGetId(ni, &self) == PTL_OK && self.rank == 0);
  peers->meet("members");  // before that, messages would come from strangers
  talk(ni, *peers, ranks);
  for (const ptl_rank_t each : ranks) {  // what is lent for waking goes back
    ptl_process_t peer{};
    peer.rank = each;
    ptlx_watch_t watch{};
    if (PtlxNodeWatch(ni, peer, &watch) == PTL_OK) PtlxNodeUnwatch(&watch);
  }
  const ptlx_watch_t none{};
  PtlxNodeUnwatch(&none), PtlxNodeUnwatch(nullptr);

  // A contact of somebody who never was, or is another by now, reaches nobody.
  ptlx_contact_t wrong = contact_of(texts[static_cast<size_t>((peers->rank + 1) % peers->size)]);
  wrong.words[1] += 2;  // the incarnation
  if (peers->size > 1 &&
      PtlxTransport(ni, ptl_process_t{.rank = ranks[static_cast<size_t>((peers->rank + 1) % peers->size)]}, nullptr) == PTLX_TRANSPORT_NODE)
    EXPECT(PtlxMapExtend(ni, &wrong, 1, &rank) == PTL_FAIL && rank == PTL_RANK_ANY);
  peers->meet("heard");
  PtlNIFini(physical);
  EXPECT(PtlNIFini(ni) == PTL_OK);
  PtlFini();
  PtlxJobFini();
  return failures == 0 ? 0 : 1;
}
