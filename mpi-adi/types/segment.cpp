// segment.cpp: making shared memory and telling the others of it.
//
// The lowest rank of each node makes it and tells the others its name, which is gone as soon as all have mapped it.
#include "mpi-adi/types/segment.hpp"

#include <algorithm>

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/checked.hpp"

namespace portunus::mpi {
namespace {

constexpr size_t kPage = 4096;

// Each rank tells the others how much it wants, and how aligned; then the lowest of a node tells the number of what it has made.
struct Wish {
  uint64_t bytes, alignment;
  int64_t number;
  int64_t well;
};

}  // namespace

bool share_memory(Communicator& comm, size_t bytes, size_t alignment, size_t beside_bytes, client::SharedMemory& memory,
                  std::vector<std::byte*>& base, std::vector<std::byte*>& beside) {
  constexpr size_t kLine = 64;
  const size_t n = static_cast<size_t>(comm.size), own = static_cast<size_t>(comm.rank);
  std::vector<Wish> wishes;
  std::vector<size_t> offsets;
  std::vector<bool> near;
  const Exchange all(comm);
  try {
    wishes.resize(n);
    base.assign(n, nullptr);
    beside.assign(n, nullptr);
    offsets.assign(n, 0);
    near.assign(n, false);
  } catch (const std::bad_alloc&) {
    all.allgather(nullptr, sizeof(Wish), MPI_ERR_NO_MEM);
    return false;
  }
  wishes[own] = {bytes, alignment, 0, 0};
  if (all.allgather(wishes.data(), sizeof(Wish)) != MPI_SUCCESS) return false;
  size_t first = n;
  Checked total = 0;
  size_t most_aligned = 1;
  for (size_t i = 0; i < n; ++i) {
    near[i] = same_node(comm.job_rank(static_cast<int>(i)), comm.job_rank(comm.rank));
    if (!near[i]) continue;
    if (first == n) first = i;
    const auto unit = static_cast<int64_t>(wishes[i].alignment);
    most_aligned = std::max(most_aligned, wishes[i].alignment);
    const int64_t from = (total.within(kMaxBytes).value_or(0) + unit - 1) / unit * unit;
    offsets[i] = static_cast<size_t>(from);
    if (total.within(kMaxBytes)) total = Checked(from) + static_cast<int64_t>(std::min<uint64_t>(wishes[i].bytes, kMaxBytes + 1));
  }
  const size_t each_beside = (beside_bytes + kLine - 1) / kLine * kLine;
  size_t beside_at = static_cast<size_t>(total.within(kMaxBytes).value_or(0) + static_cast<int64_t>(kLine) - 1) / kLine * kLine;
  total = total + static_cast<int64_t>(kLine + static_cast<size_t>(std::count(near.begin(), near.end(), true)) * each_beside);
  const auto everything = total.within(kMaxBytes);
  const size_t all_bytes = everything ? (static_cast<size_t>(*everything) + kPage) / kPage * kPage : 0;
  if (first == own && everything) wishes[own].well = memory.make(all_bytes, most_aligned);
  wishes[own].number = memory.number();
  if (all.allgather(wishes.data(), sizeof(Wish)) != MPI_SUCCESS) return false;
  if (first != own && wishes[first].well) wishes[own].well = memory.join(wishes[first].number, all_bytes, most_aligned);
  const bool told = all.allgather(wishes.data(), sizeof(Wish)) == MPI_SUCCESS;
  memory.forget_name();
  if (!told) return false;
  for (size_t i = 0; i < n; ++i)
    if (!wishes[i].well) return false;  // the same decision everywhere
  for (size_t i = 0; i < n; ++i)
    if (near[i]) {
      base[i] = memory.start() + offsets[i];
      beside[i] = memory.start() + beside_at;
      beside_at += each_beside;
    }
  return true;
}

}  // namespace portunus::mpi
