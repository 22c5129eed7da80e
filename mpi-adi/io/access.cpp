// access.cpp: see access.hpp.
#include "mpi-adi/io/access.hpp"

#include <cerrno>
#include <limits>
#include <vector>

namespace portunus::mpi::io {
namespace {

constexpr int64_t kBounce = 1 << 20;    // data packed at once
constexpr int64_t kWorthAPiece = 4096;  // bytes per piece of memory, from which on the kernel takes the pieces
constexpr int64_t kShortRun = 16384;    // runs that are cheaper to store than to write by a call each
constexpr int64_t kSmallGap = 4096;     // reading it costs less than another call
constexpr int64_t kSparse = 64;         // one byte of so many: not worth having room for all of them
constexpr int64_t kMapped = 256 << 20;  // of the file, mapped at a time
constexpr const char* kBeyond = "the access lies beyond what a file can hold";
constexpr int64_t kCached = 512 * 1024;  // read at once: what is taken from it is still in the cache then

// One run of the file, with memory in pieces.
Moved transfer_pieces(const PosixFile& posix, int64_t offset, const Memory& memory, int64_t skip, int64_t bytes, bool writes) {
  Moved moved;
  const Placed all{memory.layout, 0, 0, memory.layout.size, false};
  if (memory.layout.size >= kWorthAPiece * runs_of(memory.layout)) {
    std::vector<iovec> pieces;
    for_each_run(all.part(skip, bytes), [&](int64_t at, int64_t length) {
      pieces.push_back({memory.base + at, static_cast<size_t>(length)});
    });
    return writes ? posix.write(offset, pieces) : posix.read(offset, pieces);
  }
  const Scratch scratch(static_cast<size_t>(std::min(bytes, kBounce)));
  if (scratch.data() == nullptr) return {0, ENOMEM};
  while (moved.bytes < bytes) {
    const int64_t piece = std::min(bytes - moved.bytes, kBounce);
    if (writes) pack(memory.layout, memory.base, skip + moved.bytes, piece, scratch.data());
    const Moved now =
        writes ? posix.write(offset + moved.bytes, scratch.data(), piece) : posix.read(offset + moved.bytes, scratch.data(), piece);
    if (!writes) unpack(memory.layout, memory.base, skip + moved.bytes, now.bytes, scratch.data());
    moved.bytes += now.bytes;
    moved.error = now.error;
    if (now.bytes < piece) break;
  }
  return moved;
}

Moved transfer_run(const PosixFile& posix, int64_t offset, const Memory& memory, int64_t skip, int64_t bytes, bool writes) {
  if (std::byte* run = memory.run(skip)) return writes ? posix.write(offset, run, bytes) : posix.read(offset, run, bytes);
  return transfer_pieces(posix, offset, memory, skip, bytes, writes);
}

// A call for each run.
Moved transfer_runs(const PosixFile& posix, const Placed& placed, const Memory& memory, int64_t skip, bool writes) {
  Moved moved;
  bool ended = false;
  for_each_run(placed, [&](int64_t offset, int64_t bytes) {
    if (ended) return;
    const Moved now = transfer_run(posix, offset, memory, skip + moved.bytes, bytes, writes);
    moved.bytes += now.bytes;
    moved.error = now.error;
    ended = now.bytes < bytes;
  });
  return moved;
}

// Calls step(part) for what lies in so much of the file, one after the other, until one is not moved whole.
template <class Step>
Moved by_parts(const Placed& placed, int64_t room, Step&& step) {
  Moved moved;
  while (moved.bytes < placed.bytes) {
    const int64_t count = placed.below(placed.place(moved.bytes) + room) - moved.bytes;
    const Moved now = step(placed.part(moved.bytes, count), moved.bytes);
    moved.bytes += now.bytes;
    moved.error = now.error;
    if (now.bytes < count) break;
  }
  return moved;
}

// Stores to the mapped file: single bytes are written, and nothing is read before.
Moved write_mapped(File& file, const Placed& placed, const Memory& memory, int64_t skip) {
  return by_parts(placed, kMapped, [&](const Placed& part, int64_t done) -> Moved {
    const auto region = file.mapping.reach(file.posix, part.first(), part.end(), true);
    if (!region) return transfer_runs(file.posix, part, memory, skip + done, true);
    copy(memory, skip + done, {region->origin() + part.base, part.layout}, part.from, part.bytes);
    return {part.bytes, 0};
  });
}

// Reads gaps as well, and takes what is wanted.
Moved read_sieved(const File& file, const Placed& placed, const Memory& memory, int64_t skip) {
  const int64_t most = std::clamp<int64_t>(file.tuning.read_buffer, 1, kCached);
  const Scratch scratch(static_cast<size_t>(std::min(most, placed.end() - placed.first())));
  if (scratch.data() == nullptr) return {0, ENOMEM};
  return by_parts(placed, most, [&](const Placed& part, int64_t done) -> Moved {
    const int64_t first = part.first();
    const Moved now = file.posix.read(first, scratch.data(), part.end() - first);
    const int64_t count = part.below(first + now.bytes);
    copy({scratch.data() - first + part.base, part.layout}, part.from, memory, skip + done, count);
    return {count, now.error};
  });
}

// Loads from the mapped file, as far as it reaches.
Moved read_mapped(File& file, const Placed& placed, const Memory& memory, int64_t skip) {
  int64_t size = 0;
  if (const int error = file.posix.size(size)) return {0, error};
  return by_parts(placed.part(0, placed.below(size)), kMapped, [&](const Placed& part, int64_t done) -> Moved {
    const auto region = file.mapping.reach(file.posix, part.first(), part.end(), false);
    if (!region) return read_sieved(file, part, memory, skip + done);
    copy({region->origin() + part.base, part.layout}, part.from, memory, skip + done, part.bytes);
    return {part.bytes, 0};
  });
}

}  // namespace

void copy(const Memory& from, int64_t from_byte, const Memory& to, int64_t to_byte, int64_t bytes) {
  if (bytes <= 0) return;
  if (const std::byte* run = from.run(from_byte)) return unpack(to.layout, to.base, to_byte, bytes, run);
  if (std::byte* run = to.run(to_byte)) return pack(from.layout, from.base, from_byte, bytes, run);
  alignas(64) std::byte piece[32 * 1024];
  for (int64_t done = 0; done < bytes;) {
    const int64_t count = std::min<int64_t>(bytes - done, sizeof piece);
    pack(from.layout, from.base, from_byte + done, count, piece);
    unpack(to.layout, to.base, to_byte + done, count, piece);
    done += count;
  }
}

Moved transfer(File& file, const Placed& placed, const Memory& memory, int64_t skip, bool writes, Prefer prefer) {
  if (placed.bytes == 0) return {};
  if (placed.is_run()) return transfer_run(file.posix, placed.first(), memory, skip, placed.bytes, writes);
  if (!placed.ascending) return transfer_runs(file.posix, placed, memory, skip, writes);
  const int64_t average = std::max<int64_t>(placed.layout.size / std::max<int64_t>(runs_of(placed.layout), 1), 1);
  const int64_t span = placed.end() - placed.first();
  if (writes) {
    const bool mapped = (average < kShortRun || prefer == Prefer::mapping) && span / kSparse < placed.bytes && placed.bytes > average &&
                        file.posix.can_be_mapped();
    return mapped ? write_mapped(file, placed, memory, skip) : transfer_runs(file.posix, placed, memory, skip, true);
  }
  const int64_t gaps = (span - placed.bytes) / std::max<int64_t>(placed.bytes / average, 1);
  // A part that was mapped once costs no calls later.
  constexpr int64_t kPage = 4096, kMiddling = 128 * 1024;
  const bool sieves = file.tuning.ds_read != Tuning::Choice::disable && placed.bytes > average;
  const bool touches_most_pages =
      (gaps < kSmallGap && average < kShortRun) || (average >= kPage && average < kMiddling && gaps <= 2 * average);
  if (sieves && touches_most_pages && file.posix.is_local()) return read_mapped(file, placed, memory, skip);
  if (sieves && (gaps < kSmallGap || file.tuning.ds_read == Tuning::Choice::enable)) return read_sieved(file, placed, memory, skip);
  return transfer_runs(file.posix, placed, memory, skip, false);
}

void convert(Access& access) {
  if (access.result.error != MPI_SUCCESS || access.bytes == 0) return;
  if (access.view->representation->is_native()) {
    access.memory = {static_cast<std::byte*>(access.buf), layout_of(*access.type, access.count)};
    return;
  }
  access.converted = std::make_unique<Scratch>(static_cast<size_t>(access.bytes));
  std::byte* const scratch = access.converted->data();
  if (scratch == nullptr) return access.fail(MPI_ERR_NO_MEM, "there is no memory for converted data");
  access.memory = {scratch, Layout::run(0, access.bytes)};
  if (access.writes && access.view->representation->write(access.buf, *access.type, access.count, scratch, access.bytes) != MPI_SUCCESS)
    access.fail(MPI_ERR_CONVERSION, "the data representation's function for writing failed");
}

void finish(Access& access) {
  const std::unique_ptr<Scratch> converted = std::move(access.converted);
  if (!converted || converted->data() == nullptr) return;
  const int64_t moved = access.result.bytes;
  if (access.writes) {
    const bool all = moved == access.bytes;
    access.result.bytes = all ? access.count * access.type->size
                              : moved / std::max<int64_t>(access.bytes / std::max<MPI_Count>(access.count, 1), 1) * access.type->size;
    return;
  }
  if (access.view->representation->read(access.buf, *access.type, access.count, converted->data(), moved, access.result.bytes) !=
      MPI_SUCCESS)
    access.fail(MPI_ERR_CONVERSION, "the data representation's function for reading failed");
}

namespace {

// The range of the file that an access in atomic mode keeps to itself.
class RangeLock {
 public:
  RangeLock(File& file, const Placed& placed, bool writes) : file_(file) {
    if (!file.atomic.load(std::memory_order_relaxed) || placed.bytes == 0) return;
    guard_ = std::unique_lock(file.atomic_accesses);
    first_ = placed.ascending ? placed.first() : 0;
    bytes_ = placed.ascending ? placed.end() - first_ : std::numeric_limits<int64_t>::max();
    error = file.posix.lock(writes, first_, bytes_);
  }
  ~RangeLock() {
    if (guard_.owns_lock() && error == 0) file_.posix.unlock(first_, bytes_);
  }
  int error = 0;

 private:
  File& file_;
  std::unique_lock<std::mutex> guard_;
  int64_t first_ = 0, bytes_ = 0;
};

}  // namespace

void carry_out(Access& access, Prefer prefer) {
  File& file = *access.file;
  Placed placed;
  if (!access.view->tiling.range(access.from, access.bytes, placed)) access.fail(MPI_ERR_ARG, kBeyond);
  if (access.result.error != MPI_SUCCESS) return;
  const RangeLock lock(file, placed, access.writes);
  Moved moved{0, lock.error};
  if (lock.error == 0) moved = transfer(file, placed, access.memory, 0, access.writes, prefer);
  if (moved.error != 0) access.fail(class_of_errno(moved.error), "the system says", moved.error);
  access.result.bytes = moved.bytes;
}

bool carry_out_run(Access& access, bool soon) {
  if (access.result.error != MPI_SUCCESS || access.bytes == 0) return true;
  if (!access.is_run) return false;
  const File& file = *access.file;
  int64_t at, end;
  if (__builtin_add_overflow(access.from, access.first, &at) || __builtin_add_overflow(at, access.bytes, &end)) {
    access.fail(MPI_ERR_ARG, kBeyond);
    return true;
  }
  std::byte* const run = static_cast<std::byte*>(access.buf) + access.type->layout.offset;
  constexpr int64_t kMostWritten = 32 * 1024, kMostCached = 256 * 1024;  // soon: as the caller copies it
  if (soon && access.bytes > (access.writes ? kMostWritten : kMostCached)) return false;
  if (soon && !access.writes) {
    if (!file.posix.read_cached(at, run, access.bytes)) return false;
    access.result.bytes = access.bytes;
    return true;
  }
  const Moved moved = access.writes ? file.posix.write(at, run, access.bytes) : file.posix.read(at, run, access.bytes);
  if (moved.error != 0) access.fail(class_of_errno(moved.error), "the system says", moved.error);
  access.result.bytes = moved.bytes;
  return true;
}
}  // namespace portunus::mpi::io
