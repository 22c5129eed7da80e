// mapping.hpp: parts of a file that stay mapped from one access to the next, for data in short runs.
//
// Pages are fetched before they are touched, by a call that answers with an error where a touch would raise a signal: a full disk, a
// block that cannot be read. What another program cuts off the file while it is copied is the exception.
// Thread: any. Invariants: whoever holds a region may touch what reach() promised, whatever the others do.
// Source: mmap(2), madvise(2) (MADV_POPULATE_WRITE, Linux 5.14).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mpi-adi/io/posix_file.hpp"

namespace portunus::mpi::io {

class Region {
 public:
  Region(std::byte* start, int64_t first, int64_t end) : start_(start), first_(first), end_(end) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // The address at which the file's byte 0 would lie.
  std::byte* origin() const { return start_ - first_; }
  bool holds(int64_t first, int64_t end) const { return first_ <= first && end <= end_; }
  int64_t first() const { return first_; }
  int64_t end() const { return end_; }

 private:
  std::byte* start_;
  int64_t first_, end_;
};

class Mapping {
 public:
  static constexpr int64_t kMost = int64_t{1} << 30;  // bytes of a file that stay mapped

  // A region with bytes `first` .. `end` of the file, which may be read, and written if `writes`: then they have room on the disk, and
  // the file reaches that far. nullptr: they cannot be mapped, or are not worth it; no error, and other ways remain.
  std::shared_ptr<const Region> reach(const PosixFile& posix, int64_t first, int64_t end, bool writes);
  // The file is to become shorter.
  void forget();

 private:
  bool map(const PosixFile& posix, int64_t first, int64_t end);
  bool fetch(const PosixFile& posix, int64_t first, int64_t end, bool writes, bool sparse);

  std::mutex mutex_;
  std::shared_ptr<Region> region_;
  int64_t ready_first_ = 0, ready_end_ = 0;  // pages of files in memory that were fetched for writing: they stay
  int64_t blocks_ = 0;                       // what the file had then: with fewer, some are gone
};

}  // namespace portunus::mpi::io
