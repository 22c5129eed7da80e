// peers.cpp: one counter per watched process; its failure sends this process a signal, whose event is the news.
#include "mpi-adi/ipc/peers.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "mpi-adi/ipc/explain.hpp"

namespace portunus::peace {

struct Peer : Listener {
  uint64_t process = 0;
  Mutex mutex;
  ptl_handle_ct_t ct = PTL_CT_NONE;
  bool dead = false;
  std::vector<WaitingForPeer> waiting;
};

namespace {

Mutex mutex;  // guards the map; taken before a peer's own
std::unordered_map<uint64_t, std::unique_ptr<Peer>>& peers() {
  static auto& all = *new std::unordered_map<uint64_t, std::unique_ptr<Peer>>;
  return all;
}

// The addresses that peace_watch was asked for, by number.
std::vector<peace_address_t>& watches() {
  static auto& all = *new std::vector<peace_address_t>;
  return all;
}

void ended(Listener& listener, const ptl_event_t&) {
  auto& peer = static_cast<Peer&>(listener);
  const std::lock_guard lock(peer.mutex);
  peer.dead = true;
  for (const WaitingForPeer& each : peer.waiting) each.lost(*each.request);
}

Peer& find(uint64_t process) {
  const std::lock_guard lock(mutex);
  std::unique_ptr<Peer>& found = peers()[process];
  if (!found) {
    found = std::make_unique<Peer>();
    found->heard = ended;
    found->process = process;
  }
  return *found;
}

// Also where it was dead: another process may have its address by now, and if not, the new watch says so.
int watch(Peer& peer) {
  if (peer.ct != PTL_CT_NONE && !peer.dead) return PTL_OK;
  if (peer.ct != PTL_CT_NONE) PtlCTFree(peer.ct);
  peer.ct = PTL_CT_NONE;
  peer.dead = false;
  int code = PtlCTAlloc(interface.ni, &peer.ct);
  if (code == PTL_OK)
    code = PtlTriggeredPut(interface.md_copied, 0, 0, PTL_NO_ACK_REQ, interface.self, kSignals, 0, 0, nullptr,
                           reinterpret_cast<uint64_t>(static_cast<Listener*>(&peer)), peer.ct, 1);
  if (code == PTL_OK) code = PtlxCTWatch(peer.ct, process_of(peer.process));
  return code;
}

}  // namespace

int add_waiting(uint64_t process, const WaitingForPeer& waiting, Peer*& out) {
  Peer& peer = find(process);
  const std::lock_guard lock(peer.mutex);
  if (const int code = watch(peer); code != PTL_OK) return portals_failed("watch a process", code);
  peer.waiting.push_back(waiting);
  out = &peer;
  return PEACE_OK;
}

void remove_waiting(Peer& peer, const Request& request) {
  const std::lock_guard lock(peer.mutex);
  const auto found =
      std::find_if(peer.waiting.begin(), peer.waiting.end(), [&](const WaitingForPeer& each) { return each.request == &request; });
  if (found == peer.waiting.end()) return;
  *found = peer.waiting.back();
  peer.waiting.pop_back();
}

bool has_ended(uint64_t process) {
  Peer& peer = find(process);
  const std::lock_guard lock(peer.mutex);
  return peer.dead;
}

int tell_of_end(peace_address_t whom, uint64_t bits) {
  uint64_t number;
  {
    const std::lock_guard lock(mutex);
    watches().push_back(whom);
    number = watches().size();
  }
  Peer& peer = find(whom.process);
  const std::lock_guard lock(peer.mutex);
  int code = watch(peer);
  // No port, but a token: no sender's header data look like that.
  if (code == PTL_OK)
    code = PtlTriggeredPut(interface.md_copied, 0, 0, PTL_NO_ACK_REQ, interface.self, kReceives, bits, 0, nullptr,
                           header_data(0, 0, number), peer.ct, 1);
  return code == PTL_OK ? PEACE_OK : portals_failed("watch a process", code);
}

void told_of_end(uint64_t hdr_data, peace_address_t& from) {
  const uint64_t number = token_of(hdr_data);
  if (hdr_data != header_data(0, 0, number) || number == 0) return;
  const std::lock_guard lock(mutex);
  if (number <= watches().size()) from = watches()[number - 1];
}

void forget_peers() {
  const std::lock_guard lock(mutex);
  peers().clear();
  watches().clear();
}

}  // namespace portunus::peace
