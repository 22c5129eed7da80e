// rendezvous.cpp: see rendezvous.hpp.
//
// Connecting is a put of a card to the owner's portal table entry, with the number as match bits. What is held there (PTLX_ME_HOLD) is
// acknowledged when it is accepted, and refused with the number: so the client learns of either.
#include "mpi-adi/dynamic/rendezvous.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string_view>

#include "mpi-adi/core/device.hpp"

namespace portunus::mpi::rendezvous {
namespace {

constexpr ptl_pt_index_t kPortal = client::kMeetingPortal;
constexpr uint64_t kAnswers = uint64_t{1} << 63;  // match bits of answers; numbers are below
constexpr ptl_time_t kSlice = 100;                // ms between two looks whether there is hope

struct ConnectRequest {
  char mark[8] = "knock-1";
  uint64_t answer = 0;  // match bits of the answer
  int source_bits = 0;  // how messages are addressed (pt2pt/match_bits.hpp)
  int unused = 0;
  Card card{};
};
struct Answer {
  int error = MPI_SUCCESS;
  int number = 0;
};

std::mutex mutex;
ptl_handle_ni_t ni = PTL_INVALID_HANDLE;        // under mutex until it is open
std::map<uint64_t, ptl_handle_me_t> published;  // under mutex
uint64_t last_number = 0;                       // under mutex
std::atomic<uint64_t> last_answer{0};
std::atomic<int> last_meeting{0};

ptl_process_t physical(const Identity& identity) {
  ptl_process_t process{};
  process.phys = {static_cast<ptl_nid_t>(identity.address >> 32), static_cast<ptl_pid_t>(identity.address & 0xffffffff)};
  return process;
}

ptl_me_t entry_for(void* start, size_t bytes, uint64_t bits, unsigned options, ptl_handle_ct_t ct) {
  ptl_me_t entry = client::entry_of(start, bytes, PTL_ME_OP_PUT | client::kQuiet | options, bits, ct);
  entry.uid = device::device.uid;
  entry.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
  return entry;
}

// Something that one message is awaited in, and what has counted it.
class Awaited {
 public:
  Awaited(void* start, size_t bytes, uint64_t bits, unsigned options) {
    if (ct.open(ni) != PTL_OK) return;
    const ptl_me_t me = entry_for(start, bytes, bits, PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTLX_ME_COMPLETE_UNEXPECTED | options, ct);
    good = PtlMEAppend(ni, kPortal, &me, PTL_PRIORITY_LIST, nullptr, &entry_) == PTL_OK;
  }
  // Nothing counts there any more, and nothing is written, when this returns.
  ~Awaited() {
    if (good) take_back();
    ct.await_idle();
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  // False: the message is coming, or has come.
  bool take_back() { return PtlMEUnlink(entry_) == PTL_OK; }

  bool good = false;
  client::Counter ct;

 private:
  ptl_handle_me_t entry_ = PTL_INVALID_HANDLE;
};

}  // namespace

int open() {
  const std::lock_guard lock(mutex);
  if (ni != PTL_INVALID_HANDLE) return MPI_SUCCESS;
  ptl_handle_ni_t fresh;
  ptl_pt_index_t portal;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &fresh) != PTL_OK)
    return MPI_ERR_OTHER;
  if (PtlPTAlloc(fresh, 0, PTL_EQ_NONE, kPortal, &portal) != PTL_OK) {
    PtlNIFini(fresh);
    return MPI_ERR_OTHER;
  }
  ni = fresh;
  return MPI_SUCCESS;
}

void close() {
  const std::lock_guard lock(mutex);
  if (ni == PTL_INVALID_HANDLE) return;
  PtlPTFree(ni, kPortal);
  PtlNIFini(ni);
  ni = PTL_INVALID_HANDLE;
}

uint64_t publish() {
  if (open() != MPI_SUCCESS) return 0;
  const std::lock_guard lock(mutex);
  const ptl_me_t entry = entry_for(nullptr, 0, ++last_number, PTLX_ME_HOLD, PTL_CT_NONE);
  const auto place = published.try_emplace(last_number).first;
  if (PtlMEAppend(ni, kPortal, &entry, PTL_OVERFLOW_LIST, nullptr, &place->second) == PTL_OK) return last_number;
  published.erase(place);
  return 0;
}

bool is_published(uint64_t number) {
  const std::lock_guard lock(mutex);
  return published.contains(number);
}

namespace {
void refuse(uint64_t number, ptl_handle_me_t entry) {
  PtlMEUnlink(entry);
  const ptl_me_t all = entry_for(nullptr, 0, number, 0, PTL_CT_NONE);
  PtlxMERefuse(ni, kPortal, &all);
}
}  // namespace

bool unpublish(uint64_t number) {
  const std::lock_guard lock(mutex);
  const auto found = published.find(number);
  if (found == published.end()) return false;
  refuse(found->first, found->second);
  published.erase(found);
  return true;
}

void unpublish_all() {
  const std::lock_guard lock(mutex);
  for (const auto& [number, entry] : published) refuse(number, entry);
  published.clear();
}

Meeting connect(const Card& owner, uint64_t number, ptl_time_t patience) {
  std::vector<int> ranks;
  if (open() != MPI_SUCCESS) return {MPI_ERR_OTHER};
  if (meet_processes({&owner, 1}, ranks) != MPI_SUCCESS) return {MPI_ERR_PORT};
  const uint64_t bits = kAnswers | ++last_answer;
  ConnectRequest request;
  request.answer = bits;
  request.source_bits = envelope.source_bits;
  request.card = own_card();
  Answer answer;
  const Awaited heard(&answer, sizeof answer, bits, 0);
  client::Descriptor md;
  if (!heard.good || md.bind_all(ni, PTL_MD_VOLATILE | PTL_MD_EVENT_CT_ACK, heard.ct) != PTL_OK) return {MPI_ERR_OTHER};
  int code = PtlxCTWatch(heard.ct, physical(owner.identity));
  if (code == PTL_OK)
    code =
        PtlPut(md, device::offset_of(&request), sizeof request, PTL_CT_ACK_REQ, physical(owner.identity), kPortal, number, 0, &request, 0);
  ptl_ct_event_t seen{};
  // Accepted, and answered; or one failure: refused, or the owner has ended.
  if (code == PTL_OK) code = device::wait_for_count(heard.ct, 2, patience, seen);
  if (code == PTL_CT_NONE_REACHED) {  // it is taken back, and that is a failure; or else it is being answered
    code = PtlxPutWithdraw(md, &request);
    if (code == PTL_OK) code = device::wait_for_count(heard.ct, 2, PTL_TIME_FOREVER, seen);
  }
  heard.ct.await_idle();
  if (code != PTL_OK || seen.failure != 0) return {MPI_ERR_PORT};
  return {answer.error, ranks[0], answer.number};
}

Meeting accept(uint64_t number, const std::function<bool()>& should_abort) {
  for (;;) {
    ConnectRequest request;
    Awaited visit(&request, sizeof request, number, 0);
    if (!visit.good) return {MPI_ERR_OTHER};
    ptl_ct_event_t seen{};
    for (int code; (code = device::wait_for_count(visit.ct, 1, kSlice, seen)) != PTL_OK;) {
      if (code != PTL_CT_NONE_REACHED) return {MPI_ERR_OTHER};
      if (should_abort() && visit.take_back()) return {MPI_ERR_PORT};
    }
    if (std::string_view(request.mark, sizeof request.mark) != std::string_view(ConnectRequest{}.mark, sizeof request.mark)) continue;
    std::vector<int> ranks;
    Answer answer{request.source_bits == envelope.source_bits ? meet_processes({&request.card, 1}, ranks) : MPI_ERR_OTHER, ++last_meeting};
    client::Descriptor md;
    if (md.bind_all(ni, PTL_MD_VOLATILE) != PTL_OK) return {MPI_ERR_OTHER};
    const int code = PtlPut(md, device::offset_of(&answer), sizeof answer, PTL_NO_ACK_REQ, physical(request.card.identity), kPortal,
                            request.answer, 0, nullptr, 0);
    if (code != PTL_OK || answer.error != MPI_SUCCESS) return {MPI_ERR_OTHER};
    return {MPI_SUCCESS, ranks[0], answer.number};
  }
}

}  // namespace portunus::mpi::rendezvous
