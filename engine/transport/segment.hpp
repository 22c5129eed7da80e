// segment.hpp: the shared memory by which the processes of a node reach one another: one file per process.
//
//   SegmentHeader | inbound ring, mapped twice in a row so that no record wraps | blocks (symmetric heap, data segment)
//
// The file is /dev/shm/portunus.<uid>.<nid>.<pid>, mode 0600, locked (flock) by its owner for life: whoever gets the lock
// knows that the owner is dead and may remove the name. All memory is reserved when it is made: no SIGBUS later.
//
// Thread: set-up by one thread; the words marked so are shared between processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/shared/doorbell.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

constexpr size_t kLine = 64;
constexpr uint32_t kMaxSenders = 4096;
constexpr uint32_t kMaxBlocks = 8;

struct SegmentHeader {
  static constexpr uint64_t kMagic = 0x31304e5554524f50;  // "PORTUN01", little endian
  uint64_t magic;
  uint64_t ring_bytes;
  uint64_t ring_offset;
  ProcessId process;
  uint32_t uid;
  int32_t os_pid;
  std::atomic<uint32_t> ready;                    // release by the owner when all of the above is valid
  alignas(kLine) Doorbell door;                   // owner arms, senders ring
  alignas(kLine) std::atomic<uint64_t> tail;      // lines reserved; senders
  alignas(kLine) std::atomic<uint64_t> head;      // lines consumed; owner
  alignas(kLine) std::atomic<uint32_t> senders;   // entries of `sender` given out
  struct Sender {
    std::atomic<uint32_t> ready;                  // release by the sender when its entry is valid
    uint32_t nid, pid, reserved;
  } sender[kMaxSenders];
  struct Block {
    std::atomic<uint64_t> size;                   // 0 = not there yet; release by the owner
    uint64_t offset;
  } block[kMaxBlocks];
};

// One mapped segment: the own one, or a peer's.
class Segment {
 public:
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Throws std::system_error with cause and remedy (/dev/shm full, name taken ..).
  static std::unique_ptr<Segment> create(ProcessId self, uint32_t uid, size_t ring_bytes);
  // nullptr: no such process on this node, not ours to use, or dead.
  static std::unique_ptr<Segment> attach(ProcessId process, uint32_t uid);

  SegmentHeader& header() { return *header_; }
  std::byte* ring() { return ring_; }
  // Removes the name from the file system; mapped memory stays.
  void remove_name();

  // Owner: a new block, fresh or in place of existing pages. Its number, or -1 with errno set.
  int add_block(size_t size, void* replace, void*& base);
  // Anyone: maps block `number`; nullptr when it is not there (yet).
  void* map_block(unsigned number, size_t& size);

 private:
  Segment() = default;
  bool map(int fd, size_t ring_offset, size_t ring_bytes);

  int fd_ = -1;
  bool owner_ = false;
  std::string path_;
  SegmentHeader* header_ = nullptr;
  std::byte* ring_ = nullptr;
  size_t header_bytes_ = 0;
  size_t ring_bytes_ = 0;
  struct Mapping { void* base = nullptr; size_t size = 0; } blocks_[kMaxBlocks];
  unsigned block_count_ = 0;
};

// Removes segments of this user whose owners are dead.
void sweep_dead_segments();

}  // namespace portunus
