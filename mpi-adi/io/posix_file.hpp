// posix_file.hpp: the system calls on one open file.
//
// Reads and writes are continued after signals and short counts, so that a short read means the end of the file and a short
// write an error. Offsets that a file cannot have are errors (EFBIG, EINVAL), never undefined. Thread: any; a descriptor has
// no position. Source: POSIX.1-2017, pread, pwrite; fcntl(2) (open file description locks).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace portunus::mpi::io {

struct Moved {
  int64_t bytes = 0;
  int error = 0;  // errno
};

class PosixFile {
 public:
  PosixFile() = default;
  ~PosixFile() { close(); }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  // `flags`: O_RDONLY, O_WRONLY or O_RDWR, with O_CREAT and O_EXCL; what is only to be written is opened for both if that is
  // permitted, since mapping needs it. errno or 0; `made`: the file was not there.
  int open(const std::string& name, int flags, unsigned permissions);
  int close();  // errno or 0
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  Moved read(int64_t offset, void* to, int64_t bytes) const;
  Moved write(int64_t offset, const void* from, int64_t bytes) const;
  // The pieces may be changed.
  Moved read(int64_t offset, std::span<iovec> to) const;
  Moved write(int64_t offset, std::span<iovec> from) const;
  // Reads what the page cache holds; false: not all of it, or this system cannot tell.
  bool read_cached(int64_t offset, void* to, int64_t bytes) const;

  // errno or 0:
  int size(int64_t& bytes) const;
  int resize(int64_t bytes) const;
  int reserve(int64_t offset, int64_t bytes) const;  // the disk has room for them; the file does not shrink
  int sync() const;
  int lock(bool exclusive, int64_t offset, int64_t bytes) const;  // waits; kept until unlock, close or death
  void unlock(int64_t offset, int64_t bytes) const;

  // A file system of this machine, where stores to mapped memory are as good as writes, and loads as reads.
  bool is_local() const { return local_; }
  bool can_be_mapped() const { return local_ && both_; }  // to be written
  bool in_memory() const { return in_memory_; }
  void never_map() { local_ = false; }

 private:
  int descriptor_ = -1;
  bool local_ = false, both_ = false, in_memory_ = false;  // both_: opened to be read and written
};

}  // namespace portunus::mpi::io
