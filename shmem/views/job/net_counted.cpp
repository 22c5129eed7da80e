// net_counted.cpp: puts that their target counts, at once or triggered.
#include <algorithm>

#include "shmem/views/job/net.hpp"
#include "shmem/views/refusal.hpp"

namespace portunus::views {
namespace {

using client::address;
ptl_process_t process(int pe) { return client::process(static_cast<ptl_rank_t>(pe)); }
void check(int code, const char* call) {
  if (code != PTL_OK) end_job("the network failed (error %d of %s)", code, call);
}

}  // namespace

ptl_handle_ct_t Net::count_puts(ptl_match_bits_t bits, size_t offset, size_t bytes) {
  ptl_handle_ct_t count;
  check(PtlCTAlloc(ni_, &count), "PtlCTAlloc");
  constexpr unsigned kOptions = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_SUCCESS_DISABLE | client::kQuiet;
  ptl_me_t me = client::entry_of(block_ + offset, bytes, kOptions, bits, count);
  check(PtlGetUid(ni_, &me.uid), "PtlGetUid");
  ptl_handle_me_t entry;
  check(PtlMEAppend(ni_, stream_index_, &me, PTL_PRIORITY_LIST, nullptr, &entry), "PtlMEAppend");
  return count;
}

uint64_t Net::counted(ptl_handle_ct_t count) const {
  ptl_ct_event_t now{};
  check(PtlCTGet(count, &now), "PtlCTGet");
  return now.success;
}

void Net::count_one(ptl_handle_ct_t count) { check(PtlCTInc(count, {1, 0}), "PtlCTInc"); }

bool Net::have_left(const Leaving& leaving) const {
  if (leaving.puts == 0) return true;
  ptl_ct_event_t now{};
  check(PtlCTGet(leaving.count, &now), "PtlCTGet");
  return now.success + now.failure >= leaving.puts;
}

void Net::put_counted(int pe, ptl_match_bits_t bits, size_t from, size_t bytes, Leaving* leaving) {
  if (leaving && leaving->count == PTL_CT_NONE) {
    check(PtlCTAlloc(ni_, &leaving->count), "PtlCTAlloc");
    bind(leaving->md, PTL_MD_EVENT_CT_SEND, leaving->count);
  }
  size_t done = 0;
  do {
    const size_t part = std::min(bytes - done, counted_part_of(bytes));
    if (leaving) ++leaving->puts;
    check(PtlPut(leaving ? leaving->md : memory_md_, address(block_ + from) + done, part, PTL_NO_ACK_REQ, process(pe), stream_index_, bits,
                 done, nullptr, 0),
          "PtlPut");
    count_message();
    done += part;
  } while (done < bytes);
}

void Net::add(int pe, size_t offset, uint64_t value) {
  count_message();
  check(PtlAtomic(operand_md_, address(&value), 8, PTL_NO_ACK_REQ, process(pe), index_, 0, offset, nullptr, 0, PTL_SUM, PTL_UINT64_T),
        "PtlAtomic");
}

void Net::repeat(ptl_handle_ct_t count, uint64_t stride) { check(PtlxCTRepeat(count, stride, 0), "PtlxCTRepeat"); }

void Net::put_when(ptl_handle_ct_t count, uint64_t threshold, int pe, ptl_match_bits_t bits, size_t from, size_t bytes) {
  size_t done = 0;
  do {
    const size_t part = std::min(bytes - done, counted_part_of(bytes));
    check(PtlTriggeredPut(memory_md_, address(block_ + from) + done, part, PTL_NO_ACK_REQ, process(pe), stream_index_, bits, done, nullptr,
                          0, count, threshold),
          "PtlTriggeredPut");
    done += part;
  } while (done < bytes);
}

void Net::add_when(ptl_handle_ct_t count, uint64_t threshold, int pe, size_t offset) {
  check(PtlTriggeredAtomic(memory_md_, address(&one_), 8, PTL_NO_ACK_REQ, process(pe), index_, 0, offset, nullptr, 0, PTL_SUM, PTL_UINT64_T,
                           count, threshold),
        "PtlTriggeredAtomic");
}

}  // namespace portunus::views
