// two_phase.cpp: agreeing on how a collective access is done.
#include "mpi-adi/io/two_phase.hpp"

#include <algorithm>
#include <limits>

namespace portunus::mpi::io {
namespace {

constexpr int64_t kLongRuns = 32 * 1024;        // from which on nothing is gained by way of others
constexpr int64_t kLongestShared = 512 * 1024;  // from which on nothing is gained by mapping, either
constexpr int64_t kSparse = 64;
constexpr int64_t kIsThere = int64_t{1} << 32;  // beside an error class

// Whether the ranks' data lie between each other's.
bool interleave(const std::vector<Share>& shares) {
  std::vector<size_t> order;
  for (size_t i = 0; i < shares.size(); ++i)
    if (shares[i].bytes > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a].first < shares[b].first; });
  for (size_t i = 1; i < order.size(); ++i)
    if (shares[order[i - 1]].end > shares[order[i]].first) return true;
  return false;
}

enum class Way : uint8_t { alone, mapped, together };

// The same decision on all ranks.
Way way_of(const File& file, const std::vector<Share>& shares, bool writes) {
  const Tuning::Choice choice = writes ? file.tuning.cb_write : file.tuning.cb_read;
  if (shares.size() == 1 || choice == Tuning::Choice::disable || file.atomic.load(std::memory_order_relaxed)) return Way::alone;
  int64_t bytes = 0, first = std::numeric_limits<int64_t>::max(), end = 0, run = std::numeric_limits<int64_t>::max();
  bool mapped = file.one_node;
  for (const Share& share : shares) {
    if (share.bytes == 0) continue;
    if (!share.ascending) return Way::alone;
    bytes += share.bytes;
    run = std::min(run, share.run);
    first = std::min(first, share.first);
    end = std::max(end, share.end);
    mapped = mapped && share.is_there;
  }
  if (bytes == 0) return Way::alone;
  if (choice == Tuning::Choice::enable) return Way::together;
  if (run >= kLongestShared || (end - first) / kSparse >= bytes || !interleave(shares)) return Way::alone;
  // Fetching pages of a file into a process's memory costs more than to exchange data, but is done once.
  if (writes && file.two_phase->was_before(shape_of(shares)) && mapped) return Way::mapped;
  return run < kLongRuns ? Way::together : Way::alone;
}

Record as_record(const Access& access, const Placed& placed) {
  Share own;
  if (access.result.error == MPI_SUCCESS && access.bytes > 0) {
    own.bytes = access.bytes;
    own.from = access.from;
    own.ascending = placed.ascending;
    own.first = placed.first();
    own.end = placed.ascending ? placed.end() : own.first;
    own.hash = access.view->hash();
    own.description = static_cast<int64_t>(access.view->description().size());
    own.run = placed.is_run() ? placed.bytes : placed.layout.size / std::max<int64_t>(runs_of(placed.layout), 1);
  }
  Record record;
  int64_t size = 0;
  const PosixFile& posix = access.file->posix;
  own.is_there = access.writes && posix.can_be_mapped() && posix.size(size) == 0 && size >= own.end;
  record.word = {access.result.error | (own.is_there ? kIsThere : 0),
                 own.first,
                 own.end,
                 own.from,
                 own.bytes,
                 own.hash,
                 own.description,
                 own.ascending ? own.run : -1};
  return record;
}

Share as_share(const Record& record) {
  Share share;
  share.is_there = (record.word[0] & kIsThere) != 0;
  share.first = record.word[1];
  share.end = record.word[2];
  share.from = record.word[3];
  share.bytes = record.word[4];
  share.hash = record.word[5];
  share.description = record.word[6];
  share.ascending = record.word[7] >= 0;
  share.run = record.word[7];
  return share;
}

}  // namespace

bool each_goes_alone(const File& file, bool writes) {
  const Tuning::Choice choice = writes ? file.tuning.cb_write : file.tuning.cb_read;
  if (file.comm->size == 1) return true;
  return choice != Tuning::Choice::enable && (file.all_dense || (!writes && file.near));
}

uint64_t shape_of(const std::vector<Share>& shares) {
  uint64_t hash = 0;
  for (const Share& share : shares)
    for (const int64_t value : {share.hash, share.from, share.bytes}) {
      hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 31;
    }
  return hash;
}

void carry_out_together(Access& access) {
  File& file = *access.file;
  Placed placed;
  if (access.result.error == MPI_SUCCESS && !access.view->tiling.range(access.from, access.bytes, placed))
    access.fail(MPI_ERR_ARG, "the access lies beyond what a file can hold");
  if (each_goes_alone(file, access.writes)) {
    if (access.result.error == MPI_SUCCESS) carry_out(access);
    return;
  }
  if (file.messenger.ready() != PTL_OK) access.fail(MPI_ERR_NO_MEM, "the network interface has no room for a collective transfer");
  std::vector<Record> all;
  if (int error = file.messenger.gather(as_record(access, placed), all))
    return access.fail(error, "a rank cannot be reached; it has ended, or a line above says why");
  std::vector<Share> shares;
  for (const Record& record : all) {
    if (const int error = static_cast<int>(record.word[0] & ~kIsThere)) access.fail(error, "another rank's arguments are wrong");
    shares.push_back(as_share(record));
  }
  if (access.result.error != MPI_SUCCESS) return;
  const Way way = way_of(file, shares, access.writes);
  if (way != Way::together) return carry_out(access, way == Way::mapped ? Prefer::mapping : Prefer::what_fits);
  if (int error = exchange_and_move(access, placed, access.memory, shares, access.result.bytes))
    access.fail(error, "a rank cannot be reached; it has ended, or a line above says why");
}

}  // namespace portunus::mpi::io
