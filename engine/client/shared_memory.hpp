// shared_memory.hpp: memory that processes of a node map together, by a name that is gone as soon as all have mapped it: nothing is left in
// the file system, however a process ends.
//
// One makes it and tells the others its number, by whatever way they have; they join; when all have, the maker forgets the name. The name
// has the maker's process id, by which ptlrun takes away what is left by one that was killed in between, and a number of chance.
//
// Thread: one at a time. Source: shm_open(3), posix_fallocate(3).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace portunus::client {

class SharedMemory {
 public:
  // Whether all of it is reserved now, or each page when somebody touches it: it is only found out then whether there is room for all.
  enum class Pages : uint8_t { reserved, when_touched };

  // `kind`, which outlives this, is part of the name; ptlrun knows all kinds.
  SharedMemory(const char* kind, Pages pages) : kind_(kind), pages_(pages) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { drop(); }

  // Zeroed, at a multiple of `alignment`, which is a power of two. `later`: more bytes behind, which nobody touches before reserve() has
  // made room for them. False: there is no room.
  bool make(size_t bytes, size_t alignment = 1, size_t later = 0) {
    uint32_t chance;
    if (getrandom(&chance, sizeof chance, 0) != sizeof chance) return false;
    number_ = int64_t{getpid()} << 32 | chance;
    const int file = shm_open(Name(*this).text, O_RDWR | O_CREAT | O_EXCL, 0600);
    named_ = file >= 0;
    const auto length = static_cast<off_t>(bytes);
    const bool has_pages = named_ && (pages_ == Pages::reserved ? posix_fallocate(file, 0, length) == 0 : has_room(file, bytes));
    if (has_pages && ((pages_ == Pages::reserved && later == 0) || ftruncate(file, length + static_cast<off_t>(later)) == 0))
      map(file, bytes + later, alignment);
    keep_or_close(file, later);
    if (!is_mapped()) forget_name();
    return is_mapped();
  }
  // Maps memory of so many bytes that another has made. False: it cannot be mapped.
  bool join(int64_t number, size_t bytes, size_t alignment = 1, size_t later = 0) {
    number_ = number;
    const int file = shm_open(Name(*this).text, O_RDWR, 0);
    if (file >= 0) map(file, bytes + later, alignment);
    keep_or_close(file, later);
    return is_mapped();
  }
  // Makes room for some of the later bytes. Any thread. False: there is none.
  bool reserve(const std::byte* from, size_t bytes) const {
    return posix_fallocate(file_, static_cast<off_t>(from - start_), static_cast<off_t>(bytes)) == 0;
  }
  // For the maker, once all have joined or somebody cannot.
  void forget_name() {
    if (std::exchange(named_, false)) shm_unlink(Name(*this).text);
  }
  void drop() {
    forget_name();
    if (is_mapped()) munmap(std::exchange(start_, nullptr), bytes_);
    if (file_ >= 0) close(std::exchange(file_, -1));
  }

  [[nodiscard]] bool is_mapped() const { return start_ != nullptr; }
  [[nodiscard]] std::byte* start() const { return start_; }
  [[nodiscard]] int64_t number() const { return number_; }

 private:
  struct Name {
    explicit Name(const SharedMemory& memory) {
      std::snprintf(text, sizeof text, "/portunus-%s-%d-%08x", memory.kind_, static_cast<int>(memory.number_ >> 32),
                    static_cast<unsigned>(memory.number_));
    }
    char text[64];
  };

  static bool has_room(int file, size_t bytes) {
    struct statvfs found;
    return fstatvfs(file, &found) == 0 && bytes <= uint64_t{found.f_bavail} * found.f_frsize;
  }
  void keep_or_close(int file, size_t later) {
    if (is_mapped() && later > 0) file_ = file;
    else if (file >= 0) close(file);
  }
  void map(int file, size_t bytes, size_t alignment) {
    // Room around it, so that some place in it is aligned.
    const size_t around = alignment > kPage ? alignment : 0;
    void* const room = around ? mmap(nullptr, bytes + around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : nullptr;
    if (room == MAP_FAILED) return;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(room), at = around ? (begin + alignment - 1) / alignment * alignment : 0;
    const int flags = MAP_SHARED | (around ? MAP_FIXED : 0);
    void* const start = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (at > begin) munmap(room, at - begin);
    if (around) munmap(reinterpret_cast<void*>(at + bytes), begin + around - at);
    if (around && start == MAP_FAILED) munmap(reinterpret_cast<void*>(at), bytes);
    if (start == MAP_FAILED) return;
    start_ = static_cast<std::byte*>(start);
    bytes_ = bytes;
  }

  static constexpr size_t kPage = 4096;
  const char* const kind_;
  const Pages pages_;
  int64_t number_ = 0;
  bool named_ = false;
  int file_ = -1;  // kept for reserve()
  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace portunus::client
