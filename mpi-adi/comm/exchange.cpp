// exchange.cpp: binomial and dissemination patterns over the device.
#include "mpi-adi/comm/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"

namespace portunus::mpi {
namespace {

// A message shorter than agreed says that its sender misses somebody, or of whose arguments it has heard.
int outcome(const Request& request, size_t count) {
  if (!request.failed() && request.receives && request.length == 1 && count > 1) return kFaultElsewhere;
  if (!request.failed() && request.receives && request.length == 2 && count > 2) return MPI_ERR_NO_MEM;
  return request.failed() || (request.receives && request.length != count) ? MPI_ERR_PROC_ABORTED : MPI_SUCCESS;
}

}  // namespace

Request* start_receiving_bytes(Communicator& comm, Traffic traffic, int tag, void* bytes, size_t count, int peer, int& error) {
  Request* request = pool.claim(&comm, true);
  error = request ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  if (request == nullptr) return nullptr;
  device::reachable_source(comm, peer);
  const Pattern wanted = pattern(comm.context_of(traffic), peer, tag);
  if (device::irecv_control(*request, bytes, count, static_cast<ptl_rank_t>(comm.job_rank(peer)), wanted) != PTL_OK) {
    pool.release(request);
    error = MPI_ERR_OTHER;
    return nullptr;
  }
  if (device::failures.count.load(std::memory_order_relaxed) != 0) device::look_again(*request);
  return request;
}

int finish_receiving_bytes(Request* request, size_t count) {
  const auto look = [&] {
    if (collectives::differ(*request->comm)) device::cancel_receive(*request);
    return collectives::all_fit(*request->comm);
  };
  device::wait_patiently([&] { return request->done(); }, look,
                         [&](bool again) { device::long_waits::tell(device::long_waits::of_request(*request), again); });
  const int result = outcome(*request, count);
  pool.release(request);
  return result;
}

int send_bytes(Communicator& comm, Traffic traffic, int tag, const void* bytes, size_t count, int peer) {
  const ptl_match_bits_t bits = match_bits(comm.context_of(traffic), comm.rank, tag);
  const int target = comm.job_rank(peer);
  if (count <= device::device.copy_limit) return device::send_control(bytes, count, target, bits) == PTL_OK ? MPI_SUCCESS : MPI_ERR_OTHER;
  Request request(&comm, false);
  if (device::isend_control(request, bytes, count, target, bits) != PTL_OK) return MPI_ERR_OTHER;
  device::wait(request);
  return outcome(request, count);
}

int receive_bytes(Communicator& comm, Traffic traffic, int tag, void* bytes, size_t count, int peer) {
  int error;
  Request* request = start_receiving_bytes(comm, traffic, tag, bytes, count, peer, error);
  return request ? finish_receiving_bytes(request, count) : error;
}

namespace {
int send_and_receive(Communicator& comm, Traffic traffic, int tag, const void* out, size_t out_count, int to, void* in, size_t in_count,
                     int from) {
  int error;
  Request* request = start_receiving_bytes(comm, traffic, tag, in, in_count, from, error);
  const int sent = send_bytes(comm, traffic, tag, out, out_count, to);
  if (request) error = finish_receiving_bytes(request, in_count);
  return sent != MPI_SUCCESS ? sent : error;
}
}  // namespace

int swap_bytes(Communicator& comm, Traffic traffic, int tag, const void* out, size_t out_count, void* in, size_t in_count, int peer) {
  return send_and_receive(comm, traffic, tag, out, out_count, peer, in, in_count, peer);
}

int Exchange::both(const void* out, size_t out_count, int to, void* in, size_t in_count, int from) const {
  return send_and_receive(comm, traffic, tag, out, out_count, rank_of(to), in, in_count, rank_of(from));
}

int Exchange::allgather(void* records, size_t each, int error) const {
  const size_t n = static_cast<size_t>(size()), place = static_cast<size_t>(me);
  std::byte* all = static_cast<std::byte*>(records);
  const std::unique_ptr<std::byte[]> turned(new (std::nothrow) std::byte[n * each]);  // from this member's record on
  if (!turned && error == MPI_SUCCESS) error = MPI_ERR_NO_MEM;
  if (error == MPI_SUCCESS) std::memcpy(turned.get(), all + place * each, each);
  for (size_t distance = 1; distance < n; distance *= 2) {
    const size_t count = std::min(distance, n - distance) * each;
    const int to = static_cast<int>((place + n - distance) % n), from = static_cast<int>((place + distance) % n);
    std::byte other[2];  // what is enough to tell the others
    const int now = turned ? both(turned.get(), bytes_to_send(error, count), to, turned.get() + distance * each, count, from)
                           : both(other, bytes_to_send(error, count), to, other, 0, from);
    if (error == MPI_SUCCESS) error = now;
  }
  if (error != MPI_SUCCESS) return error;
  std::memcpy(all + place * each, turned.get(), (n - place) * each);
  std::memcpy(all, turned.get() + (n - place) * each, place * each);
  return MPI_SUCCESS;
}

int Exchange::broadcast(void* bytes, size_t count, int root, int error) const {
  const int n = size(), relative = (me - root + n) % n;
  const auto member = [&](int distance) { return rank_of((distance + root) % n); };
  int bit = 1;
  for (; bit < n; bit <<= 1) {
    if ((relative & bit) == 0) continue;
    error = receive_bytes(comm, traffic, tag, bytes, count, member(relative - bit));
    break;
  }
  for (bit >>= 1; bit > 0; bit >>= 1) {
    if (relative + bit >= n) continue;
    const int sent = send_bytes(comm, traffic, tag, bytes, bytes_to_send(error, count), member(relative + bit));
    if (error == MPI_SUCCESS) error = sent;
  }
  return error;
}

int Exchange::all_and(uint64_t* words, size_t count, int error) const {
  uint64_t theirs[kMostWords];
  const size_t bytes = count * sizeof *words;
  for (int bit = 1; bit < size(); bit <<= 1) {
    if (me & bit) {
      const int sent = send_bytes(comm, traffic, tag, words, bytes_to_send(error, bytes), rank_of(me - bit));
      if (error == MPI_SUCCESS) error = sent;
      break;
    }
    if (me + bit >= size()) continue;
    const int received = receive_bytes(comm, traffic, tag, theirs, bytes, rank_of(me + bit));
    if (error == MPI_SUCCESS) error = received;
    for (size_t i = 0; i < count; ++i) words[i] &= theirs[i];
  }
  const int told = broadcast(words, bytes, 0, error);
  return error != MPI_SUCCESS ? error : told;
}

}  // namespace portunus::mpi
