// exchange.cpp: binomial and dissemination patterns over the device.
#include "mpi-adi/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "mpi-adi/adi.hpp"

namespace portunus::mpi {
namespace {

int outcome(const Request& request) { return request.failed() ? MPI_ERR_PROC_ABORTED : MPI_SUCCESS; }

int start_receive(Request& request, Traffic traffic, int tag, void* bytes, size_t count, int peer) {
  const Communicator& comm = *request.comm;
  const Pattern wanted = pattern(comm.context_of(traffic), peer, tag);
  return adi::irecv(request, bytes, count, static_cast<ptl_rank_t>(comm.job_rank(peer)), wanted);
}

}  // namespace

int send_bytes(Communicator& comm, Traffic traffic, int tag, const void* bytes, size_t count, int peer) {
  const ptl_match_bits_t bits = match_bits(comm.context_of(traffic), comm.rank, tag);
  const int target = comm.job_rank(peer);
  if (count <= adi::device.copy_limit)
    return adi::send_copied(bytes, count, target, bits) == PTL_OK ? MPI_SUCCESS : MPI_ERR_OTHER;
  Request request(&comm, false);
  if (adi::isend(request, bytes, count, target, bits) != PTL_OK) return MPI_ERR_OTHER;
  adi::wait(request);
  return outcome(request);
}

int receive_bytes(Communicator& comm, Traffic traffic, int tag, void* bytes, size_t count, int peer) {
  Request request(&comm, true);
  if (start_receive(request, traffic, tag, bytes, count, peer) != PTL_OK) return MPI_ERR_OTHER;
  adi::wait(request);
  return outcome(request);
}

namespace {
int send_and_receive(Communicator& comm, Traffic traffic, int tag, const void* out, size_t out_count, int to, void* in,
                     size_t in_count, int from) {
  Request request(&comm, true);
  if (start_receive(request, traffic, tag, in, in_count, from) != PTL_OK) return MPI_ERR_OTHER;
  const int sent = send_bytes(comm, traffic, tag, out, out_count, to);
  adi::wait(request);
  return sent != MPI_SUCCESS ? sent : outcome(request);
}
}  // namespace

int swap_bytes(Communicator& comm, Traffic traffic, int tag, const void* out, size_t out_count, void* in, size_t in_count,
               int peer) {
  return send_and_receive(comm, traffic, tag, out, out_count, peer, in, in_count, peer);
}

int Exchange::both(const void* out, size_t out_count, int to, void* in, size_t in_count, int from) const {
  return send_and_receive(comm, traffic, tag, out, out_count, rank_of(to), in, in_count, rank_of(from));
}

int Exchange::allgather(void* records, size_t each) const {
  const size_t n = static_cast<size_t>(size()), place = static_cast<size_t>(me);
  std::byte* all = static_cast<std::byte*>(records);
  std::vector<std::byte> turned(n * each);  // from this member's record on
  std::memcpy(turned.data(), all + place * each, each);
  for (size_t distance = 1; distance < n; distance *= 2) {
    const size_t count = std::min(distance, n - distance) * each;
    const int to = static_cast<int>((place + n - distance) % n), from = static_cast<int>((place + distance) % n);
    if (int error = both(turned.data(), count, to, turned.data() + distance * each, count, from)) return error;
  }
  std::memcpy(all + place * each, turned.data(), (n - place) * each);
  std::memcpy(all, turned.data() + (n - place) * each, place * each);
  return MPI_SUCCESS;
}

int Exchange::broadcast(void* bytes, size_t count, int root) const {
  const int n = size(), relative = (me - root + n) % n;
  const auto member = [&](int distance) { return rank_of((distance + root) % n); };
  int bit = 1;
  for (; bit < n; bit <<= 1) {
    if ((relative & bit) == 0) continue;
    if (int error = receive_bytes(comm, traffic, tag, bytes, count, member(relative - bit))) return error;
    break;
  }
  for (bit >>= 1; bit > 0; bit >>= 1) {
    if (relative + bit >= n) continue;
    if (int error = send_bytes(comm, traffic, tag, bytes, count, member(relative + bit))) return error;
  }
  return MPI_SUCCESS;
}

int Exchange::all_and(uint64_t* words, size_t count) const {
  std::vector<uint64_t> theirs(count);
  for (int bit = 1; bit < size(); bit <<= 1) {
    if (me & bit) {
      if (int error = send_bytes(comm, traffic, tag, words, count * sizeof *words, rank_of(me - bit))) return error;
      break;
    }
    if (me + bit >= size()) continue;
    if (int error = receive_bytes(comm, traffic, tag, theirs.data(), count * sizeof *words, rank_of(me + bit)))
      return error;
    for (size_t i = 0; i < count; ++i) words[i] &= theirs[i];
  }
  return broadcast(words, count * sizeof *words, 0);
}

}  // namespace portunus::mpi
