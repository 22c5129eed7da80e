// disconnect.cpp: see disconnect.hpp.
#include "mpi-adi/comm/disconnect.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "mpi-adi/comm/context.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/device.hpp"

namespace portunus::mpi {
namespace {

constexpr int kPartingTag = kMaxTag;

// Those of other jobs among the peers of `via`, which is the communicator, or its local side.
void part_from_peers(Communicator& comm, Communicator& via) {
  const uint16_t context = via.context_of(Traffic::groups);
  for (int peer = 0; peer < via.peers; ++peer) {
    const int rank = via.job_rank(peer);
    if (is_of_job(rank)) continue;
    if (Request* request = pool.claim(&via, true)) {
      comm.partings.push_back(request);
      if (device::irecv_control(*request, nullptr, 0, static_cast<ptl_rank_t>(rank), pattern(context, peer, kPartingTag)) != PTL_OK)
        request->state.store(State::done, std::memory_order_relaxed);
      else if (device::failures.count.load(std::memory_order_relaxed) != 0) device::look_again(*request);
    }
    device::send_control(nullptr, 0, rank, match_bits(context, via.rank, kPartingTag));
  }
}

}  // namespace

void begin_disconnect(Communicator& comm) {
  if (std::exchange(comm.parts, true)) return;
  part_from_peers(comm, comm);
  if (comm.local != nullptr) part_from_peers(comm, *comm.local);
}

bool has_disconnected(Communicator& comm) {
  std::erase_if(comm.partings, [](Request* request) {
    if (!request->done()) return false;
    pool.release(request);
    return true;
  });
  return comm.partings.empty();
}

void await_disconnect(Communicator& comm) {
  device::wait_patiently([&] { return std::ranges::all_of(comm.partings, [](const Request* request) { return request->done(); }); },
                         [] { return true; }, [](bool) {});
  has_disconnected(comm);
}

void disconnect_from_others() {
  std::vector<Communicator*> all;
  std::set<const Communicator*> sides;  // of others, and no communicators of their own
  communicators.for_each([&](Communicator& comm) {
    if (comm.local != nullptr) sides.insert(comm.local);
    if (comm.context != kNoContext) all.push_back(&comm);
  });
  std::erase_if(all, [&](const Communicator* comm) { return sides.contains(comm); });
  for (Communicator* comm : all) begin_disconnect(*comm);
  for (Communicator* comm : all) await_disconnect(*comm);
}

}  // namespace portunus::mpi
