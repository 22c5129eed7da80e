// segment.cpp: making shared memory and telling the others of it.
//
// The lowest rank of each node makes it and tells the others its name, which is gone as soon as all have mapped it.
#include "mpi-adi/types/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/checked.hpp"

namespace portunus::mpi {
namespace {

constexpr size_t kPage = 4096;

// At a multiple of `alignment`.
std::byte* map(int descriptor, size_t bytes, size_t alignment) {
  if (alignment <= kPage) {
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
  }
  void* const room = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(room), at = (begin + alignment - 1) / alignment * alignment;
  void* const wanted = reinterpret_cast<void*>(at);
  void* const start = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (at > begin) munmap(room, at - begin);
  munmap(reinterpret_cast<void*>(at + bytes), begin + alignment - at);
  if (start == MAP_FAILED) munmap(wanted, bytes);
  return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
}

// Pages are taken when they are touched: programs ask for more than they use. So it is only found out whether there is room for all now.
bool has_room(int descriptor, size_t bytes) {
  struct statvfs found;
  return fstatvfs(descriptor, &found) == 0 && bytes <= uint64_t{found.f_bavail} * found.f_frsize;
}

// Each rank tells the others how much it wants, and how aligned; then the lowest of a node tells the process whose number the name has.
struct Wish {
  uint64_t bytes, alignment;
  int64_t maker;
  int64_t well;
};

void write_name(char (&name)[64], int64_t maker, uint16_t number) {
  std::snprintf(name, sizeof name, "/portunus-win-%lld-%u", static_cast<long long>(maker), number);
}

}  // namespace

Segment::~Segment() {
  if (start != nullptr) munmap(start, bytes);
}

bool share_memory(Communicator& comm, size_t bytes, size_t alignment, size_t beside_bytes, Segment& segment, std::vector<std::byte*>& base,
                  std::vector<std::byte*>& beside) {
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
  wishes[own] = {bytes, alignment, getpid(), 0};
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
  const bool is_possible = total.within(kMaxBytes).has_value();
  if (is_possible) segment.bytes = (static_cast<size_t>(*total.within()) + kPage) / kPage * kPage;
  char name[64];
  write_name(name, wishes[first].maker, comm.context);
  int descriptor = -1;
  if (first == own && is_possible) {
    descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor >= 0 && !(has_room(descriptor, segment.bytes) && ftruncate(descriptor, static_cast<off_t>(segment.bytes)) == 0)) {
      close(descriptor);
      shm_unlink(name);
      descriptor = -1;
    }
  }
  wishes[own].well = descriptor >= 0;
  if (all.allgather(wishes.data(), sizeof(Wish)) != MPI_SUCCESS) return false;
  if (first != own && wishes[first].well) descriptor = shm_open(name, O_RDWR, 0);
  if (descriptor >= 0) segment.start = map(descriptor, segment.bytes, most_aligned);
  if (descriptor >= 0) close(descriptor);
  wishes[own].well = segment.start != nullptr;
  const bool told = all.allgather(wishes.data(), sizeof(Wish)) == MPI_SUCCESS;
  if (first == own) shm_unlink(name);
  if (!told) return false;
  for (size_t i = 0; i < n; ++i)
    if (!wishes[i].well) return false;  // the same decision everywhere
  for (size_t i = 0; i < n; ++i)
    if (near[i]) {
      base[i] = segment.start + offsets[i];
      beside[i] = segment.start + beside_at;
      beside_at += each_beside;
    }
  return true;
}

}  // namespace portunus::mpi
