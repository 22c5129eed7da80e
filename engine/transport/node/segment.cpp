// segment.cpp: making, finding and removing node segments.
#include "engine/transport/node/segment.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "engine/host/address_space.hpp"
#include "engine/host/clock.hpp"
#include "engine/host/lack.hpp"

namespace portunus {
namespace {

constexpr const char* kSharedMemory = "/dev/shm";
// The folder of names: that of shared memory, or, where nothing can be made there, one in which every process may; memory has no name then.
const char* directory() {
  static const bool can = access(kSharedMemory, W_OK | X_OK) == 0;
  return can ? kSharedMemory : "/tmp";
}
constexpr size_t kPage = 4096;
constexpr std::time_t kSettled_s = 10;  // between the making of a file and its first byte it takes less

size_t up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }
size_t offset_of_boxes() { return up(sizeof(SegmentHeader), kPage); }
size_t offset_of_ring(const BoxPlan& boxes) { return offset_of_boxes() + boxes.all(); }

// Anybody may take a name in this directory, so a process has several.
constexpr unsigned kNames = 4;

std::string path_of(ProcessId process, uint32_t uid, unsigned number) {
  char name[96];
  const int length = std::snprintf(name, sizeof name, "%s/portunus.%u.%08x.%u", directory(), uid, process.nid, process.pid);
  if (number > 0) std::snprintf(name + length, sizeof name - static_cast<size_t>(length), ".%u", number);
  return name;
}

// The file of these names that is the user's; what other users have put there is passed over. -1 and errno: ENOENT, there is none at all,
// or what this process lacks.
int open_owned(ProcessId process, uint32_t uid, int flags, std::string& path) {
  int error = ENOENT;
  for (unsigned number = 0; number < kNames; ++number) {
    path = path_of(process, uid, number);
    const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == uid) return fd;
    if (fd < 0 && is_lack(errno)) return -1;
    if (fd >= 0) close(fd);
    if (fd >= 0 || errno != ENOENT) error = EACCES;
  }
  errno = error;
  return -1;
}

// A fresh one. Of the same user and address there can be one process only.
int create_owned(ProcessId process, uint32_t uid, std::string& path) {
  for (unsigned number = 0; number < kNames; ++number) {
    path = path_of(process, uid, number);
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat status;
    if (fd >= 0 || errno != EEXIST || (lstat(path.c_str(), &status) == 0 && status.st_uid == uid)) return fd;
  }
  errno = EEXIST;
  return -1;
}

// Creates the segment's file. No other process that lives has this address, so a file of that name belongs to a former one: that may be
// ending just now, or was killed before it took the lock, which a process that lives does at once.
int create_when_free(ProcessId process, uint32_t uid, std::string& path) {
  constexpr int kTries = 20;
  constexpr timespec kBetween{0, 10'000'000};
  for (int tries = 0;; ++tries) {
    const int fd = create_owned(process, uid, path);
    if (fd >= 0 || errno != EEXIST || tries == kTries) return fd;
    nanosleep(&kBetween, nullptr);
    sweep_dead_segments();
    const int left = tries + 1 == kTries ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (left < 0) continue;
    if (flock(left, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(left);
  }
}

[[noreturn]] void cannot(const std::string& path, const char* doing, int error) {
  std::string what = "cannot " + std::string(doing) + " the node segment " + path;
  if (error == ENOSPC)
    what +=
        ": shared memory is full; free space in /dev/shm, enlarge it (mount -o remount,size=..), make PTL_NODE_RING smaller, or set "
        "PTL_NODE=0";
  throw std::system_error(error, std::generic_category(), what);
}

uint64_t own_pid_namespace() {
  static const uint64_t number = [] {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
  }();
  return number;
}

// A file that has lost its name is still open in its owner. Looked at before it is opened: that may do things to what is no plain file.
int open_by_owner(const SegmentPlace& place, int flags) {
  if (place.descriptor < 0 || !place.is_near()) return -1;
  const std::string path = "/proc/" + std::to_string(place.os_pid) + "/fd/" + std::to_string(place.descriptor);
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  return open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

// One that has ended and was not waited for lives no more.
bool process_lives(int32_t os_pid) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, os_pid, 0));
  if (process < 0) return errno != ESRCH;
  pollfd ended{process, POLLIN, 0};
  const bool alive = poll(&ended, 1, 0) <= 0;
  close(process);
  return alive;
}

// The content of a named file whose memory is elsewhere.
struct Signpost {
  static constexpr uint64_t kMagic = 0x315453504e554c50;  // "PLUNPST1", little endian
  uint64_t magic = kMagic;
  SegmentPlace place;
};

// The file that it leads to, which takes its place; or -1.
int follow(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || status.st_size != sizeof(Signpost)) return fd;
  Signpost there;
  const bool read = pread(fd, &there, sizeof there, 0) == static_cast<ssize_t>(sizeof there) && there.magic == Signpost::kMagic;
  close(fd);
  return read ? open_by_owner(there.place, O_RDWR) : -1;
}

// Symmetric heaps of the usual size would find no room there.
bool is_small(int fd) {
  constexpr uint64_t kEnough = uint64_t{1} << 30;
  struct statvfs room;
  if (directory() != kSharedMemory) return true;
  return fstatvfs(fd, &room) == 0 && room.f_blocks != 0 && room.f_blocks * room.f_frsize < kEnough;
}

// Maps `size` bytes of the segment; offsets into long ones keep their alignment in every process. MAP_FAILED as mmap.
void* map_aligned(int fd, size_t size, size_t offset) {
  if (size < kHugePage) return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  void* const space = reserve_addresses(size);
  if (!space) return MAP_FAILED;
  void* const base = mmap(space, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset));
  if (base == MAP_FAILED) munmap(space, size);
  return base;
}

}  // namespace

bool SegmentPlace::is_near() const { return os_pid > 0 && pid_namespace != 0 && pid_namespace == own_pid_namespace(); }

std::unique_ptr<Segment> Segment::create(ProcessId self, uint32_t uid, size_t ring_bytes, size_t others) {
  sweep_dead_segments();
  std::unique_ptr<Segment> segment(new Segment);
  segment->fd_ = create_when_free(self, uid, segment->path_);
  if (segment->fd_ < 0) cannot(segment->path_, "create", errno);
  segment->owner_ = true;
  if (flock(segment->fd_, LOCK_EX | LOCK_NB) != 0) cannot(segment->path_, "lock", errno);
  const BoxPlan boxes = segment->plan_ = BoxPlan::of(ring_bytes, others);
  const size_t ring_offset = offset_of_ring(boxes);
  // posix_fallocate reports its error; ftruncate alone would end in SIGBUS when the memory runs out.
  const auto all = static_cast<off_t>(ring_offset + ring_bytes);
  int error = is_small(segment->fd_) ? ENOSPC : posix_fallocate(segment->fd_, 0, all);
  if (error == ENOSPC) error = segment->move_memory(ring_offset + ring_bytes);
  if (error != 0) cannot(segment->path_, "reserve memory for", error);
  if (!segment->map(segment->fd_, ring_offset, ring_bytes)) cannot(segment->path_, "map", errno);
  SegmentHeader& header = *segment->header_;
  header.ring_bytes = ring_bytes;
  header.ring_offset = ring_offset;
  header.boxes = boxes;
  header.process = self;
  header.uid = uid;
  header.place = {static_cast<uint32_t>(now_ns()) | 1, getpid(), own_pid_namespace(), segment->fd_};  // incarnation 0: none
  header.magic = SegmentHeader::kMagic;
  header.ready.store(1, std::memory_order_release);
  if (segment->name_ >= 0 && !segment->publish_place()) cannot(segment->path_, "write", errno);
  return segment;
}

// Into a file without a name. 0, or the error.
int Segment::move_memory(size_t bytes) {
  if (ftruncate(fd_, 0) != 0) return errno;
  const int memory = memfd_create("portunus-node", MFD_CLOEXEC);
  if (memory < 0) return errno;
  name_ = std::exchange(fd_, memory);
  if (fchmod(fd_, 0600) != 0 || flock(fd_, LOCK_EX | LOCK_NB) != 0) return errno;
  return posix_fallocate(fd_, 0, static_cast<off_t>(bytes));
}

// Last: until then the named file is empty, and nobody follows it.
bool Segment::publish_place() {
  Signpost here;
  here.place = header_->place;
  return pwrite(name_, &here, sizeof here, 0) == static_cast<ssize_t>(sizeof here);
}

std::unique_ptr<Segment> Segment::attach(ProcessId process, uint32_t uid, const SegmentPlace* place) {
  errno = 0;
  std::unique_ptr<Segment> segment = find(process, uid, place);
  static std::atomic<bool> told{false};
  if (const int error = errno; !segment && is_lack(error) && !told.exchange(true))
    std::fprintf(stderr, "portals: process %u of this node cannot be reached: its memory cannot be mapped (%s)%s\n", process.pid,
                 std::strerror(error),
                 error == EMFILE   ? "; raise ulimit -n"
                 : error == ENOMEM ? "; raise ulimit -v"
                                   : "");
  return segment;
}

std::unique_ptr<Segment> Segment::find(ProcessId process, uint32_t uid, const SegmentPlace* place) {
  std::unique_ptr<Segment> segment(new Segment);
  segment->fd_ = open_owned(process, uid, O_RDWR, segment->path_);
  if (segment->fd_ >= 0) segment->fd_ = follow(segment->fd_);
  if (segment->fd_ < 0 && place) segment->fd_ = open_by_owner(*place, O_RDWR);
  if (segment->fd_ < 0) return nullptr;
  struct stat status;
  if (fstat(segment->fd_, &status) != 0 || status.st_uid != uid || (status.st_mode & 0777) != 0600) return nullptr;
  if (static_cast<size_t>(status.st_size) < offset_of_boxes()) return nullptr;
  alignas(SegmentHeader) std::byte first[kPage];
  if (pread(segment->fd_, first, sizeof first, 0) != static_cast<ssize_t>(sizeof first)) return nullptr;
  const auto& sizes = *reinterpret_cast<const SegmentHeader*>(first);
  const size_t ring_bytes = sizes.ring_bytes;
  const size_t ring_offset = sizes.ring_offset;
  const BoxPlan boxes = segment->plan_ = sizes.boxes;
  const bool sane = ring_bytes >= kPage && (ring_bytes & (ring_bytes - 1)) == 0 && ring_bytes < static_cast<size_t>(status.st_size) &&
                    boxes.sane(static_cast<size_t>(status.st_size)) && ring_offset == offset_of_ring(boxes) &&
                    static_cast<size_t>(status.st_size) >= ring_offset + ring_bytes;
  if (!sane || !segment->map(segment->fd_, ring_offset, ring_bytes)) return nullptr;
  // Acquire pairs with create(): what was read before is what it wrote, if it has not changed.
  const SegmentHeader& header = *segment->header_;
  const bool valid = header.ready.load(std::memory_order_acquire) == 1 && header.magic == SegmentHeader::kMagic &&
                     header.process == process && header.uid == uid && (!place || header.place.incarnation == place->incarnation) &&
                     header.ring_bytes == ring_bytes && header.ring_offset == ring_offset && header.boxes == boxes;
  if (!valid) return nullptr;
  segment->pid_is_ours_ = segment->header_->place.is_near();
  return segment->owner_alive() ? std::move(segment) : nullptr;
}

// The lock may be held by a child that the owner has forked, or by who just looks whether the segment can be swept away.
bool Segment::may_live(ProcessId process, uint32_t uid, const SegmentPlace& place) {
  std::string path;
  const int fd = open_owned(process, uid, O_RDONLY, path);
  if (fd >= 0) {
    const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return held && (!place.is_near() || process_lives(place.os_pid));
  }
  if (errno != ENOENT || !place.is_near()) return true;
  return process_lives(place.os_pid);
}

// The lock tells, unless a child that the owner forked still holds it, too: then the process id does.
bool Segment::owner_alive() const {
  if (owner_) return true;
  if (flock(fd_, LOCK_SH | LOCK_NB) == 0) {
    flock(fd_, LOCK_UN);
    return false;
  }
  if (errno != EWOULDBLOCK || !pid_is_ours_) return true;
  return process_lives(header_->place.os_pid);
}

bool Segment::map(int fd, size_t ring_offset, size_t ring_bytes) {
  // The ring lies behind itself once more, in place of what may follow it in the file.
  void* memory = mmap(nullptr, ring_offset + 2 * ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  header_ = static_cast<SegmentHeader*>(memory);
  header_bytes_ = ring_offset;
  boxes_ = static_cast<std::byte*>(memory) + offset_of_boxes();
  ring_ = static_cast<std::byte*>(memory) + ring_offset;
  ring_bytes_ = ring_bytes;
  return mmap(ring_ + ring_bytes, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(ring_offset)) !=
         MAP_FAILED;
}

Segment::~Segment() {
  if (owner_) remove_name();
  for (auto& block : blocks_)
    if (block.base && block.fresh) munmap(block.base, block.size);  // others took the place of memory that lives on
  for (std::byte* memory : staging_)
    if (memory) munmap(memory, Staging::kBytes);
  if (header_) munmap(header_, header_bytes_ + 2 * ring_bytes_);
  for (const int fd : {fd_, name_}) {
    if (owner_ && fd >= 0) flock(fd, LOCK_UN);  // closing is not enough while a forked child has the descriptor, too
    if (fd >= 0) close(fd);
  }
}

void Segment::remove_name() {
  if (!path_.empty() && owner_) unlink(path_.c_str());
  path_.clear();
}

namespace {

// Pages of large blocks, as symmetric heaps are, come when they are touched: a process seldom uses all of one. What is not there at
// all is refused at once; who takes all that is there, besides others who do the same, ends by SIGBUS.
constexpr size_t kComesWhenTouched = size_t{128} << 20;

int reserve(int fd, size_t offset, size_t size) {
  if (size < kComesWhenTouched) return posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(size));
  struct statvfs room;
  if (fstatvfs(fd, &room) != 0) return errno;
  if (room.f_blocks != 0 && size / room.f_frsize > room.f_bavail) return ENOSPC;  // no blocks: there is no limit
  return ftruncate(fd, static_cast<off_t>(offset + size)) == 0 ? 0 : errno;
}

}  // namespace

int Segment::add_block(size_t size, void* replace, void*& base) {
  if (block_count_ == kMaxBlocks) {
    errno = ENOSPC;
    return -1;
  }
  size = up(size, size >= kHugePage && !replace ? kHugePage : kPage);
  struct stat status;
  if (fstat(fd_, &status) != 0) return -1;
  const size_t offset = up(static_cast<size_t>(status.st_size), size >= kHugePage ? kHugePage : kPage);
  if (int error = reserve(fd_, offset, size)) {
    errno = error;
    return -1;
  }
  if (replace) {
    // Fill the new pages first, then put them in place of the old ones in one call. By the bare system call: in a build
    // with AddressSanitizer the pages of a data segment hold red zones, which pwrite would refuse to read.
    for (size_t done = 0; done < size;) {
      long written = syscall(SYS_pwrite64, fd_, static_cast<std::byte*>(replace) + done, size - done, offset + done);
      if (written <= 0) return -1;
      done += static_cast<size_t>(written);
    }
    base = mmap(replace, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(offset));
  } else {
    base = map_aligned(fd_, size, offset);
  }
  if (base == MAP_FAILED) return -1;
  const unsigned number = block_count_++;
  blocks_[number] = {base, size, replace == nullptr};
  header_->block[number].offset = offset;
  header_->block[number].size.store(size, std::memory_order_release);
  return static_cast<int>(number);
}

void* Segment::map_block(unsigned number, size_t& size) {
  if (number >= kMaxBlocks) return nullptr;
  Mapping& mapping = blocks_[number];
  if (!mapping.base && !owner_) {
    const size_t there = header_->block[number].size.load(std::memory_order_acquire);  // pairs with add_block
    const size_t offset = header_->block[number].offset;
    struct stat status;
    if (there == 0 || fstat(fd_, &status) != 0) return nullptr;
    const size_t all = static_cast<size_t>(status.st_size);
    if (there > all || offset > all - there || offset < header_bytes_ + ring_bytes_) return nullptr;
    void* base = map_aligned(fd_, there, offset);
    if (base == MAP_FAILED) return nullptr;
    mapping = {base, there, true};
  }
  size = mapping.size;
  return mapping.base;
}

std::byte* Segment::staging_memory(uint32_t number) {
  if (number >= kStagings || staging_[number]) return number < kStagings ? staging_[number] : nullptr;
  std::atomic<uint64_t>& published = header_->staging[number].offset;
  struct stat status;
  if (fstat(fd_, &status) != 0) return nullptr;
  const size_t all = static_cast<size_t>(status.st_size);
  size_t offset = published.load(std::memory_order_acquire);  // pairs with the owner's release below
  if (owner_) {
    offset = up(all, kPage);
    if (posix_fallocate(fd_, static_cast<off_t>(offset), Staging::kBytes) != 0) return nullptr;
  } else if (all < Staging::kBytes || offset > all - Staging::kBytes || offset < header_bytes_ + ring_bytes_ || offset % kPage != 0) {
    return nullptr;
  }
  void* memory = mmap(nullptr, Staging::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return nullptr;
  if (owner_) published.store(offset, std::memory_order_release);
  return staging_[number] = static_cast<std::byte*>(memory);
}

void sweep_dead_segments() {
  DIR* names = opendir(directory());
  if (!names) return;
  const std::string mine = "portunus." + std::to_string(geteuid()) + ".";
  while (const dirent* entry = readdir(names)) {
    if (std::strncmp(entry->d_name, mine.c_str(), mine.size()) != 0) continue;
    const std::string path = std::string(directory()) + "/" + entry->d_name;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    struct stat status, named;
    // A file that is still empty is being made right now: its owner takes the lock next. After a while it is that of one who was killed.
    // Whose owner has just ended well has lost its name before its lock, and the name may be that of a new one already: of what is locked
    // here and still has it, the owner is dead.
    if (fstat(fd, &status) == 0 && (status.st_size > 0 || status.st_mtime + kSettled_s < std::time(nullptr)) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && lstat(path.c_str(), &named) == 0 && named.st_ino == status.st_ino)
      unlink(path.c_str());
    close(fd);
  }
  closedir(names);
}

}  // namespace portunus
