// portals_pair.cpp: puts between two ranks by the Portals calls: latency, rate, bandwidth.
//
// Every put is matched by one persistent entry, whose counting event the receiver waits for.
#include <portals4.h>
#include <portals4_ext.h>

#include <cstring>
#include <string>
#include <vector>

#include "bench/pairs/measure.hpp"

namespace {

using namespace portunus::bench;

void check(int status, const char* call) {
  if (status != PTL_OK) PtlxJobAbort(1, (std::string(call) + " failed with code " + std::to_string(status)).c_str());
}
#define CHECK(call) check((call), #call)

class PortalsLink : public Link {
 public:
  PortalsLink(ptl_handle_ni_t ni, int peer) : out_(kMaxMessage), in_(kMaxBytes) {
    peer_.rank = static_cast<ptl_rank_t>(peer);
    CHECK(PtlCTAlloc(ni, &arrived_));
    CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &portal_));
    ptl_me_t me{};
    me.start = in_.data();
    me.length = in_.size();
    me.ct_handle = arrived_;
    me.uid = PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM;
    me.match_id.rank = PTL_RANK_ANY;
    me.match_bits = kBits;
    CHECK(PtlMEAppend(ni, portal_, &me, PTL_PRIORITY_LIST, nullptr, &entry_));
    const ptl_md_t md = {out_.data(), out_.size(), 0, PTL_EQ_NONE, PTL_CT_NONE};
    CHECK(PtlMDBind(ni, &md, &source_));
  }

  void send(size_t bytes, bool last) override { send_window(bytes, 1, last); }
  bool receive(size_t bytes) override { return receive_window(bytes, 1); }
  void send_window(size_t bytes, size_t count, bool last) override {
    out_[0] = last;
    for (size_t i = 0; i < count; ++i) CHECK(PtlPut(source_, 0, bytes, PTL_NO_ACK_REQ, peer_, portal_, kBits, i * bytes, nullptr, 0));
  }
  bool receive_window(size_t bytes, size_t count) override {
    expected_ += count;
    ptl_ct_event_t value;
    CHECK(PtlCTWait(arrived_, expected_, &value));
    return in_[(count - 1) * bytes] != 0;
  }

 private:
  static constexpr ptl_match_bits_t kBits = 7;

  std::vector<char> out_, in_;
  ptl_process_t peer_{};
  ptl_handle_ct_t arrived_ = PTL_CT_NONE;
  ptl_handle_me_t entry_ = PTL_INVALID_HANDLE;
  ptl_handle_md_t source_ = PTL_INVALID_HANDLE;
  ptl_pt_index_t portal_ = 0;  // the same on both ranks
  uint64_t expected_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv, "Puts between two ranks by the Portals calls: latency, rate, bandwidth.");
  ptlx_job_t job;
  ptl_handle_ni_t ni;
  if (PtlxJobInit(&job) != PTL_OK) return 1;
  require_two_ranks(job.size, "portals_pair");
  CHECK(PtlInit());
  CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni));
  CHECK(PtlxJobMap(ni));
  bool written;
  {
    PortalsLink link(ni, 1 - job.rank);
    CHECK(PtlxJobFence());  // both entries stand
    Report report(options, job.rank == 0, transport_to(PTL_NI_MATCHING | PTL_NI_LOGICAL, 1));
    measure_link(link, job.rank, report, "portals_put");
    written = report.write();
    CHECK(PtlxJobFence());  // nobody leaves while the last answer is under way
    PtlNIFini(ni);
  }
  PtlFini();
  PtlxJobFini();
  return written ? 0 : 1;
}
