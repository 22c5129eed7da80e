// posix_file.cpp: see posix_file.hpp.
#include "mpi-adi/io/posix_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <limits>
#include <memory>

#include "engine/goal/copy.hpp"

namespace portunus::mpi::io {
namespace {

constexpr int64_t kMostAtOnce = int64_t{1} << 30;  // Linux moves a little less than 2 GiB per call

// The kernel would rather end the process than fail a write beyond the limit: ignores the signal.
void survive_size_limit() {
  rlimit limit;
  struct sigaction action;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && sigaction(SIGXFSZ, nullptr, &action) == 0 &&
      action.sa_handler == SIG_DFL)
    std::signal(SIGXFSZ, SIG_IGN);
}

bool is_offset(int64_t offset, int64_t bytes) {
  int64_t end;
  return offset >= 0 && bytes >= 0 && !__builtin_add_overflow(offset, bytes, &end);
}

// Calls `once(moved)`, which answers as pread does, until `bytes` are moved, it is the end, or there is an error.
template <class Once>
Moved repeat(int64_t bytes, Once&& once) {
  Moved moved;
  while (moved.bytes < bytes) {
    const ssize_t now = once(moved.bytes);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) moved.error = errno;
    if (now <= 0) break;
    moved.bytes += now;
  }
  return moved;
}
template <class Once>
Moved repeat_pieces(std::span<iovec> pieces, Once&& once) {
  int64_t bytes = 0;
  for (const iovec& piece : pieces) bytes += static_cast<int64_t>(piece.iov_len);
  return repeat(bytes, [&](int64_t moved) {
    const ssize_t now = once(pieces.data(), static_cast<int>(std::min<size_t>(pieces.size(), IOV_MAX)), moved);
    for (auto left = static_cast<size_t>(std::max<ssize_t>(now, 0)); !pieces.empty();) {
      iovec& piece = pieces.front();
      const size_t taken = std::min(left, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + taken;
      piece.iov_len -= taken;
      left -= taken;
      if (piece.iov_len > 0) break;
      pieces = pieces.subspan(1);
    }
    return now;
  });
}

// ---- reads into memory that string instructions may be slow to write to ----

constexpr int64_t kDetour = 64 * 1024;   // read at once, and copied while it is in the nearest cache
constexpr int64_t kWorthADetour = 1024;  // bytes

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// Whether they are on this processor. Found out once, with a file in memory.
bool finds_them_hard() {
  static const bool hard = [] {
    constexpr size_t kBytes = 16 * 1024;
    alignas(kMemoryPage) char room[kBytes + kMemoryPage] = {};
    const int file = memfd_create("portunus-alignment", MFD_CLOEXEC);
    if (file < 0) return false;
    int64_t best[2] = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};
    bool works = pwrite(file, room, kBytes, 0) == static_cast<ssize_t>(kBytes);
    for (int i = 0; i < 8 && works; ++i) {
      const int64_t begin = nanoseconds();
      works = pread(file, room + (i % 2 != 0 ? sizeof(uint64_t) : 0), kBytes, 0) == static_cast<ssize_t>(kBytes);
      best[i % 2] = std::min(best[i % 2], nanoseconds() - begin);
    }
    ::close(file);
    return works && best[1] > 5 * best[0] / 2;
  }();
  return hard;
}

bool is_hard(int64_t offset, const void* to, int64_t bytes) {
  return bytes >= kWorthADetour && is_hard_to_move(reinterpret_cast<uintptr_t>(to), static_cast<uintptr_t>(offset)) && finds_them_hard();
}

// This thread's memory for a detour, which lies in its page as the data at `offset` do.
char* detour(int64_t offset) {
  struct alignas(kMemoryPage) Room {
    char bytes[kDetour + static_cast<int64_t>(kMemoryPage)];
  };
  static thread_local std::unique_ptr<Room> room;
  if (!room) room = std::make_unique<Room>();
  return room->bytes + static_cast<uintptr_t>(offset) % kMemoryPage;
}

}  // namespace

int PosixFile::open(const std::string& name, int flags, unsigned permissions) {
  survive_size_limit();
  const int both = (flags & O_ACCMODE) == O_WRONLY ? (flags & ~O_ACCMODE) | O_RDWR : flags;
  do descriptor_ = ::open(name.c_str(), both | O_CLOEXEC, permissions);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0 && both != flags && errno == EACCES) descriptor_ = ::open(name.c_str(), flags | O_CLOEXEC, permissions);
  if (descriptor_ < 0) return errno;
  struct stat what;
  if (fstat(descriptor_, &what) == 0 && S_ISDIR(what.st_mode)) {  // one that is only read can be opened
    close();
    return EISDIR;
  }
  struct statfs system;
  if (fstatfs(descriptor_, &system) == 0) {
    constexpr decltype(system.f_type) kTmpfs = 0x01021994, kExt = 0xEF53, kXfs = 0x58465342;
    in_memory_ = system.f_type == kTmpfs;
    local_ = in_memory_ || system.f_type == kExt || system.f_type == kXfs;
    both_ = (fcntl(descriptor_, F_GETFL) & O_ACCMODE) == O_RDWR;
  }
  return 0;
}

int PosixFile::close() {
  if (descriptor_ < 0) return 0;
  const int result = ::close(descriptor_);
  descriptor_ = -1;
  return result < 0 && errno != EINTR ? errno : 0;
}

Moved PosixFile::read(int64_t offset, void* to, int64_t bytes) const {
  if (!is_offset(offset, bytes)) return {0, EINVAL};
  if (is_hard(offset, to, bytes))
    return repeat(bytes, [&](int64_t moved) {
      char* room = detour(offset + moved);
      const ssize_t now = pread(descriptor_, room, static_cast<size_t>(std::min(bytes - moved, kDetour)), offset + moved);
      if (now > 0) copy_run(static_cast<char*>(to) + moved, room, static_cast<size_t>(now));
      return now;
    });
  return repeat(bytes, [&](int64_t moved) {
    return pread(descriptor_, static_cast<char*>(to) + moved, static_cast<size_t>(std::min(bytes - moved, kMostAtOnce)), offset + moved);
  });
}
Moved PosixFile::write(int64_t offset, const void* from, int64_t bytes) const {
  if (!is_offset(offset, bytes)) return {0, EFBIG};
  Moved moved = repeat(bytes, [&](int64_t done) {
    return pwrite(descriptor_, static_cast<const char*>(from) + done, static_cast<size_t>(std::min(bytes - done, kMostAtOnce)),
                  offset + done);
  });
  if (moved.bytes < bytes && moved.error == 0) moved.error = ENOSPC;
  return moved;
}

Moved PosixFile::read(int64_t offset, std::span<iovec> to) const {
  if (!is_offset(offset, 0)) return {0, EINVAL};
  return repeat_pieces(to, [&](iovec* pieces, int count, int64_t moved) { return preadv(descriptor_, pieces, count, offset + moved); });
}
Moved PosixFile::write(int64_t offset, std::span<iovec> from) const {
  if (!is_offset(offset, 0)) return {0, EFBIG};
  return repeat_pieces(from, [&](iovec* pieces, int count, int64_t moved) { return pwritev(descriptor_, pieces, count, offset + moved); });
}

bool PosixFile::read_cached(int64_t offset, void* to, int64_t bytes) const {
  if (!is_offset(offset, bytes) || bytes > kMostAtOnce) return false;
  const bool hard = bytes <= kDetour && is_hard(offset, to, bytes);
  const iovec piece{hard ? detour(offset) : to, static_cast<size_t>(bytes)};
  if (preadv2(descriptor_, &piece, 1, offset, RWF_NOWAIT) != bytes) return false;
  if (hard) copy_run(to, piece.iov_base, static_cast<size_t>(bytes));
  return true;
}

int PosixFile::size(int64_t& bytes) const {
  struct stat what;
  if (fstat(descriptor_, &what) < 0) return errno;
  bytes = what.st_size;
  return 0;
}
int PosixFile::resize(int64_t bytes) const {
  while (ftruncate(descriptor_, bytes) < 0)
    if (errno != EINTR) return errno;
  return 0;
}
int PosixFile::reserve(int64_t offset, int64_t bytes) const {
  while (fallocate(descriptor_, 0, offset, bytes) < 0)
    if (errno != EINTR) return errno == EOPNOTSUPP ? posix_fallocate(descriptor_, offset, bytes) : errno;
  return 0;
}
int PosixFile::sync() const { return fdatasync(descriptor_) < 0 && errno != EINVAL && errno != EROFS ? errno : 0; }

int PosixFile::lock(bool exclusive, int64_t offset, int64_t bytes) const {
  struct flock range {};
  range.l_type = exclusive ? F_WRLCK : F_RDLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = std::min(bytes, std::numeric_limits<int64_t>::max() - offset);
  while (fcntl(descriptor_, F_OFD_SETLKW, &range) < 0) {
    if (errno == EBADF && exclusive) return EBADF;
    if (errno != EINTR) return errno;
  }
  return 0;
}
void PosixFile::unlock(int64_t offset, int64_t bytes) const {
  struct flock range {};
  range.l_type = F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = std::min(bytes, std::numeric_limits<int64_t>::max() - offset);
  fcntl(descriptor_, F_OFD_SETLK, &range);
}

}  // namespace portunus::mpi::io
