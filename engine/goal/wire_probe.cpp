// Timing a message to the next node: see wire_probe.hpp.
//
// Thread: as wire_probe.hpp says. Everything goes through the Portals API.
#include "engine/goal/wire_probe.hpp"

#include <chrono>

#include "engine/client/numbers.hpp"

namespace portunus::goal {

namespace {

constexpr ptl_pt_index_t kPortal = client::kWireProbePortal;
constexpr ptl_time_t kPatienceMs = 10'000;
constexpr int kTries = 3;  // a busy processor makes a wire seem slow, nothing makes it seem fast

}  // namespace

int WireProbe::open(ptl_handle_ni_t ni) {
  ni_ = ni;
  memory_.resize(2 * kBytes);
  ptl_pt_index_t portal;
  int code = PtlPTAlloc(ni, 0, PTL_EQ_NONE, kPortal, &portal);
  has_portal_ = code == PTL_OK;
  if (code == PTL_OK) code = ended_.open(ni);
  if (code == PTL_OK) code = acknowledged_.open(ni);
  if (code == PTL_OK) code = source_.bind(ni, {memory_.data(), kBytes, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acknowledged_});
  if (code == PTL_OK) code = entries_[data].append(ni, kPortal, client::entry_of(memory_.data() + kBytes, kBytes, PTL_ME_OP_PUT, data));
  if (code == PTL_OK)
    code = entries_[end].append(ni, kPortal, client::entry_of(nullptr, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, end, ended_));
  return code;
}

// Not for ever: whoever it is waited for may have ended.
bool WireProbe::wait(ptl_handle_ct_t counter, ptl_size_t count) {
  ptl_ct_event_t event{};
  unsigned which;
  return counter != PTL_CT_NONE && PtlCTPoll(&counter, &count, 1, kPatienceMs, &event, &which) == PTL_OK && event.failure == 0;
}

bool WireProbe::is_slow(ptl_rank_t next) {
  const ptl_process_t to = client::process(next);
  ptl_size_t sent = 0;
  bool answered = source_.is_open();
  const auto send = [&](size_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    answered =
        answered && PtlPut(source_, 0, bytes, PTL_CT_ACK_REQ, to, kPortal, data, 0, nullptr, 0) == PTL_OK && wait(acknowledged_, ++sent);
    return std::chrono::steady_clock::now() - begin;
  };
  send(0);  // opens the way
  bool slow = true;
  for (int i = 0; i < kTries && answered && slow; ++i) slow = send(kBytes) > std::chrono::nanoseconds(kSlowNs);
  // The peer before us may not be through, and needs somebody here who answers.
  if (source_.is_open()) PtlPut(source_, 0, 0, PTL_NO_ACK_REQ, to, kPortal, end, 0, nullptr, 0);
  wait(ended_, 1);
  return slow && answered;
}

void WireProbe::close() {
  if (ni_ == PTL_INVALID_HANDLE) return;
  for (client::MatchEntry& entry : entries_) entry.close();
  source_.close();
  ended_.close();
  acknowledged_.close();
  if (has_portal_) PtlPTFree(ni_, kPortal);
  ni_ = PTL_INVALID_HANDLE;
}

}  // namespace portunus::goal
