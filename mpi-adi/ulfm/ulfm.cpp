// ulfm.cpp: revoking, and hearing of it.
#include "mpi-adi/ulfm/ulfm.hpp"

#include <algorithm>
#include <bitset>
#include <mutex>
#include <utility>

#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/graph/graph.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/ulfm/revocation.hpp"

namespace portunus::mpi::ulfm {
namespace {

// Contexts whose revocation came before their communicators.
std::mutex early_mutex;
std::bitset<1 << 16> early;  // under that

void tell(const Communicator& comm, int job_rank) {
  if (job_rank == own_job_rank) return;
  PtlPut(device::device.md_copied, 0, 0, PTL_NO_ACK_REQ, device::process(job_rank), device::kRevocationPortal, comm.context, 0, nullptr, 0);
}

// The event of each revocation that arrives.
class Listener final : public Attachment {
 public:
  Listener() {
    event.receives = event.special = true;
    event.attached = this;
  }
  void completed(Request& request) override {
    const auto context = static_cast<uint16_t>(request.match_bits);
    Communicator* found = nullptr;
    const auto look = [&found, context](Communicator& comm) {
      if (comm.context == context && comm.group != nullptr && (found == nullptr || comm.inter)) found = &comm;
    };
    communicators.for_each(look);
    if (found != nullptr) return take(*found, false);
    const std::lock_guard lock(early_mutex);
    early.set(context);
  }
  void released() override {}

  Request event;
};

Listener& listener() {
  static auto& one = *new Listener;
  return one;
}

}  // namespace

int open() {
  ptl_pt_index_t portal;
  const int result = PtlPTAlloc(device::device.ni, 0, device::device.eq, device::kRevocationPortal, &portal);
  if (result != PTL_OK) return result;
  ptl_me_t entry{};
  entry.ct_handle = PTL_CT_NONE;
  entry.uid = device::device.uid;
  entry.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
  entry.match_id.rank = PTL_RANK_ANY;
  entry.ignore_bits = ~ptl_match_bits_t{0};
  ptl_handle_me_t handle;
  return PtlMEAppend(device::device.ni, device::kRevocationPortal, &entry, PTL_PRIORITY_LIST, &listener().event, &handle);
}

State& state_of(Communicator& comm) {
  if (!comm.ulfm) comm.ulfm = std::make_shared<State>();
  return *comm.ulfm;
}

void drop_messages(const Communicator& comm) {
  for (const Traffic traffic : {Traffic::messages, Traffic::partitions}) device::drop_messages(comm.context_of(traffic));
}

void take(Communicator& comm, bool by_user) {
  // All that takes memory comes first: without it the communicator stays as it is.
  const std::vector<int> members = members_of(comm);
  const GOAL_Domain domain = by_user ? collectives::state_of(comm).domain() : nullptr;
  if (comm.attention.fetch_or(Communicator::kRevoked, std::memory_order_acq_rel) & Communicator::kRevoked) return;
  const size_t n = members.size(), me = static_cast<size_t>(std::find(members.begin(), members.end(), own_job_rank) - members.begin());
  for (size_t i = 0; i < n; ++i) {
    const size_t up = (i + n - me) % n, distance = std::min(up, n - up);
    if (by_user || (distance & (distance - 1)) == 0) tell(comm, members[i]);
  }
  tool::emit(tool::Event::communicator_revoked, comm.context);
  if (domain) GOAL_Domain_revoke(domain);
  if (by_user) graph::revoke(comm);
  device::failures.count.fetch_add(1, std::memory_order_acq_rel);  // from now on whoever posts a receive looks again
  device::fail_pending(comm);
  drop_messages(comm);
}

void born(Communicator& comm) {
  const std::lock_guard lock(early_mutex);
  if (!early.test(comm.context)) return;
  early.reset(comm.context);
  comm.attention.fetch_or(Communicator::kRevoked, std::memory_order_release);
  device::failures.count.fetch_add(1, std::memory_order_acq_rel);
}

bool know_of_death(const Communicator& comm) {
  for (const Group* side : {comm.group, comm.inter ? comm.remote_group : nullptr})
    for (int i = 0; side != nullptr && i < side->size; ++i)
      if (device::failures.peers[side->job_rank(i)].load(std::memory_order_relaxed) == device::Peer::lost) return true;
  return false;
}

bool is_acknowledged(const Communicator& comm, int peer) {
  if (!comm.ulfm || comm.ulfm->acknowledged.empty()) return false;
  const std::vector<int> members = members_of(comm);
  const auto found = std::find(members.begin(), members.end(), comm.job_rank(peer));
  return comm.ulfm->acknowledged[static_cast<size_t>(found - members.begin())];
}

bool is_tainted(const Communicator& comm) {
  if (comm.is_revoked()) return true;
  if (comm.collectives != nullptr && comm.collectives->domain() != nullptr && GOAL_Domain_failed(comm.collectives->domain())) return true;
  return device::failures.count.load(std::memory_order_relaxed) != 0 && know_of_death(comm);
}

int cause_of_failure(Communicator& comm, bool (*differ)(Communicator&), GOAL_Domain own) {
  for (const int member : members_of(comm)) device::meet(member);
  constexpr int kLooks = 200;
  for (int look = 0; look < kLooks; ++look) {
    device::poll_until([] { return false; });
    if (own != nullptr && GOAL_Domain_revoked(own)) return MPIX_ERR_REVOKED;
    const GOAL_Domain domain = comm.collectives != nullptr ? comm.collectives->domain() : nullptr;
    if (domain != nullptr && GOAL_Domain_revoked(domain)) take(comm, false);
    if (comm.attention.load(std::memory_order_acquire) & Communicator::kRevoked) return MPIX_ERR_REVOKED;
    if (know_of_death(comm)) break;
    if (differ(comm)) return 0;
    ptl_ct_event_t count;
    unsigned which;
    const ptl_size_t never = PTL_SIZE_MAX;
    PtlCTPoll(&device::device.arrived_early, &never, 1, 10, &count, &which);  // sleeps, while the engine goes on
  }
  return MPI_ERR_PROC_ABORTED;
}

}  // namespace portunus::mpi::ulfm
