// failures.cpp: watching ranks, and failing those who wait for a dead one.
#include "mpi-adi/core/failures.hpp"

#include <sys/mman.h>

#include <mutex>
#include <vector>

#include "engine/client/deaths.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/ulfm/agreement.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::device {

constinit Failures failures;

namespace {

constexpr int kMostWatchedAtOnce = 4096;  // of larger jobs those are watched that are named

void fail_receive(Request& request) {
  if (!take_back(request)) return;  // its message has come after all
  request.failure = request.comm->is_revoked() ? kRevoked : ptl_ni_fail_t{PTL_NI_UNDELIVERABLE};
  request.length = request.requested = 0;
  request.match_bits = 0;
  if (request.attached) request.attached->completed(request);
  conclude(request);
}

// Fails it, or lets it stand for others to send to it.
void tell(Request& request) {
  const bool stands = request.source == MPI_ANY_SOURCE && pool.owns(request) && !request.comm->is_revoked() &&
                      request.state.load(std::memory_order_relaxed) != State::detached &&
                      (!request.attached || request.attached->is_message());
  if (!stands) return fail_receive(request);
  request.special = true;
  State expected = State::active;  // the engine may complete it meanwhile
  request.state.compare_exchange_strong(expected, State::pending, std::memory_order_acq_rel);
  device.ends.fetch_add(1, std::memory_order_release);
  if (device.threaded) event_pump.announce();
}

bool waits(const Request& request) {
  const State state = request.state.load(std::memory_order_acquire);
  return (state == State::active || state == State::detached || state == State::pending) && request.receives &&
         request.entry != PTL_INVALID_HANDLE && request.comm != nullptr &&
         (request.comm->is_revoked() || concerned(*request.comm, request.source));
}

// Hears of deaths by a signal, an event like any other, which each step of the counter of deaths sets off.
class DeathWatch final : public Attachment {
 public:
  DeathWatch() {
    signal_.special = true;
    signal_.attached = this;
  }
  int watch(int rank) {
    int result = deaths_.is_open() ? int{PTL_OK} : open();
    if (result == PTL_OK) result = deaths_.watch(process(rank));
    if (result != PTL_OK) return result;
    ranks_.push_back(rank);
    return PtlxCTWatch(device.arrived_early, process(rank));  // who probes sleeps there
  }
  void close() {
    deaths_.close();
    ranks_.clear();
  }
  void completed(Request&) override {
    const int lost = take_lost();
    if (lost == 0) return;
    failures.count.fetch_add(static_cast<uint32_t>(lost), std::memory_order_acq_rel);
    std::vector<Request*> waiting;
    pool.for_each([&](Request& request) {
      if (waits(request)) waiting.push_back(&request);
    });
    if (failures.blocked && waits(*failures.blocked)) waiting.push_back(failures.blocked);
    for (Request* request : waiting) tell(*request);
    put_off.add(signal_);
    ulfm::look_at_agreements();
  }
  void released() override {}

  std::mutex mutex;

 private:
  int open() {
    int result = deaths_.open(device.ni);
    if (result == PTL_OK) result = PtlxCTRepeat(deaths_.counter(), 1, 0);
    if (result == PTL_OK)
      result = PtlTriggeredPut(device.md_sent, 0, 0, PTL_NO_ACK_REQ, device.self, kSignalPortal, 0, 0, &signal_, 0, deaths_.counter(), 1);
    if (result != PTL_OK) deaths_.close();
    return result;
  }
  // How many have died since it was called last: none, where an earlier signal has found them.
  int take_lost() {
    std::lock_guard lock(mutex);
    return static_cast<int>(std::erase_if(ranks_, [&](int rank) {
      if (!deaths_.includes(process(rank))) return false;
      failures.peers[rank].store(Peer::lost, std::memory_order_release);
      tool::emit(tool::Event::process_lost, rank);
      return true;
    }));
  }

  Request signal_;
  client::Deaths deaths_;
  std::vector<int> ranks_;  // that are watched, and live
};
DeathWatch& death_watch() {
  static auto& only = *new DeathWatch;
  return only;
}

class Reminder final : public Attachment {
 public:
  Reminder() {
    event.special = true;
    event.attached = this;
  }
  void completed(Request& request) override { put_off.add(request); }
  void released() override {}

  Request event;
};

int job_size = 0;

}  // namespace

bool open_failures(int size) {
  job_size = size;
  // Room for all that there can ever be, touched as they come: processes of other jobs are met later.
  void* space = mmap(nullptr, kMaxRanks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  static_assert(sizeof(std::atomic<Peer>) == 1 && Peer::unseen == Peer{});
  failures.peers = static_cast<std::atomic<Peer>*>(space);
  return true;
}

void close_failures() {
  death_watch().close();
  munmap(failures.peers, kMaxRanks);
  failures.peers = nullptr;
}

bool meet(int rank) {
  std::lock_guard lock(death_watch().mutex);
  if (failures.peers[rank].load(std::memory_order_relaxed) == Peer::lost) return false;
  if (failures.peers[rank].load(std::memory_order_relaxed) == Peer::watched) return true;
  failures.peers[rank].store(Peer::watched, std::memory_order_relaxed);
  if (device.self.rank == static_cast<ptl_rank_t>(rank)) return true;
  death_watch().watch(rank);  // a rank that cannot be watched is one whose death is not told
  return true;
}

void meet_all() {
  if (job_size <= kMostWatchedAtOnce)
    for (int rank = 0; rank < job_size; ++rank) meet(rank);
  failures.all_watched.store(true, std::memory_order_relaxed);
}

bool concerned(const Communicator& comm, int source) {
  if (source != MPI_ANY_SOURCE) return failures.peers[source].load(std::memory_order_relaxed) == Peer::lost;
  for (int peer = 0; peer < comm.peers; ++peer)
    if (failures.peers[comm.job_rank(peer)].load(std::memory_order_relaxed) == Peer::lost && !ulfm::is_acknowledged(comm, peer))
      return true;
  return false;
}

void fail_pending(Communicator& comm) {
  std::vector<Request*> receives, sends;
  const auto note = [&](Request& request) {
    const State state = request.state.load(std::memory_order_acquire);
    if ((state != State::active && state != State::detached && state != State::pending) || request.comm != &comm) return;
    if (request.receives) {
      if (request.entry != PTL_INVALID_HANDLE) receives.push_back(&request);
    } else if (!request.attached) {
      sends.push_back(&request);
    }
  };
  pool.for_each(note);
  if (failures.blocked) note(*failures.blocked);
  for (Request* request : receives) fail_receive(*request);
  for (Request* request : sends) PtlxPutWithdraw(device.md_synchronous, request);
}

void look_again(Request& request) {
  if (!waits(request)) return;
  tell(request);
  // A call that blocks looks after events of deaths.
  static Reminder& reminder = *new Reminder;
  if (!device.threaded && request.is_pending()) signal(reminder.event);
}

void resume(Request& request) {
  State expected = State::pending;
  if (request.state.compare_exchange_strong(expected, State::active, std::memory_order_acq_rel))
    request.special = request.compared || request.holds || request.attached != nullptr;
}

void resume_pending(const Communicator& comm) {
  pool.for_each([&](Request& request) {
    if (request.is_pending() && request.comm == &comm && !concerned(comm, MPI_ANY_SOURCE)) resume(request);
  });
}

void end_pending(Request& request) {
  resume(request);
  fail_receive(request);
}

}  // namespace portunus::mpi::device
