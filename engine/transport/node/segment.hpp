// segment.hpp: the shared memory by which the processes of a node reach one another: one file per process.
//
//   SegmentHeader | boxes | inbound ring, mapped twice in a row so that no record wraps | blocks (symmetric heap, data segment), staging
//
// The first senders have a box each: a ring that they alone write, so that sending takes no locked instruction. All others share the
// inbound ring.
//
// The file is /dev/shm/portunus.<uid>.<nid>.<pid>, mode 0600, locked (flock) by its owner for life: whoever gets the lock
// knows that the owner is dead and may remove the name. All memory is reserved when it is made: no SIGBUS later. Where the name has gone
// already, the owner's descriptor leads to the file (/proc/<process>/fd/<descriptor>), for those who know its number. Where /dev/shm is
// small, as in containers, or full, the named file has that number only, and the memory is a file without a name (memfd_create).
//
// Thread: set-up by one thread; the words marked so are shared between processes.
// Trust: a file that another user owns, or may open, is neither made nor attached. Processes of one user trust each other with
// this memory (the kernel lets them read and write one another anyway), but what a crashed one leaves in it is checked.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/progress/attention.hpp"
#include "engine/progress/watch.hpp"
#include "engine/transport/node/sender_ring.hpp"
#include "engine/transport/node/shared_copy.hpp"
#include "engine/transport/node/staging.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

constexpr size_t kLine = SenderRing::kLine;
constexpr uint32_t kMaxSenders = 4096;
constexpr uint32_t kMaxBlocks = 8;
constexpr uint32_t kBoxes = 16;        // at most
constexpr uint32_t kStagings = 4;      // messages that a process copies together piece by piece at one time
constexpr uint32_t kSharedCopies = 2;  // the next begins while the helper finishes its last chunk of the one before

// How many senders have a box, and how large each is: powers of two both. For a few senders, the boxes are so large that what was written
// in the last lap has left the caches that belong to one core: a line that another core has written to its own takes twice the time
// (engine/transport/README.md).
struct BoxPlan {
  uint64_t count = kBoxes;
  uint64_t bytes = 0;

  bool operator==(const BoxPlan&) const = default;
  // `others` processes of the node will send, as far as is known; 0: it is not.
  static constexpr BoxPlan of(size_t ring_bytes, size_t others) {
    const size_t usual = std::max(kSmallest, ring_bytes / 8);
    if (others == 0 || others > kFew) return {kBoxes, usual};
    const size_t count = others <= 2 ? 2 : kFew;
    return {count, std::max(usual, kRoom / count)};
  }
  bool sane(size_t room) const { return count > 0 && count <= kBoxes && std::has_single_bit(bytes) && bytes >= kSmallest && bytes < room; }
  uint64_t all() const { return count * bytes; }

 private:
  static constexpr size_t kSmallest = 128 * 1024;  // several of the longest eager messages
  static constexpr size_t kFew = 4, kRoom = 4 << 20;
};

// The place of a process's segment, besides its name, and which process it is of those that have had its address.
struct SegmentPlace {
  uint32_t incarnation = 0;
  int32_t os_pid = 0;
  uint64_t pid_namespace = 0;  // where os_pid means something; 0: nowhere
  int32_t descriptor = -1;     // the owner's
  int32_t unused = 0;

  bool is_near() const;  // os_pid means something to this process
};

struct SegmentHeader {
  // Sender::ready. A vacant entry, and the box that goes with it, belong to whoever changes it to kTaken. kLeft: the sender has gone
  // in good order and will write nothing more; what it wrote before is still to be read. kRefused: it wrote what no sender of ours would;
  // the owner reads nothing more of it and has forgotten it, and the entry is given to nobody else.
  static constexpr uint32_t kThere = 1, kVacant = 2, kTaken = 3, kLeft = 4, kRefused = 5;
  static constexpr uint64_t kMagic = 0x32314e5554524f50;  // "PORTUN12", little endian
  uint64_t magic;
  uint64_t ring_bytes;
  uint64_t ring_offset;
  BoxPlan boxes;  // they end where the ring begins
  ProcessId process;
  SegmentPlace place;
  uint32_t uid;
  std::atomic<uint32_t> ready;                           // release by the owner when all of the above is valid
  alignas(kLine) Doorbell door;                          // owner arms, senders ring
  alignas(kLine) Attention attention;                    // the owner's threads stamp, senders of what is urgent read
  alignas(kLine) Watch watch;                            // the owner's sleepers set, who stores to its blocks looks and rings
  alignas(kLine) HardwareMemory::Atomic32 passive_word;  // steps up to wake those who sleep on it
  alignas(kLine) std::atomic<uint64_t> tail;             // lines reserved; senders
  alignas(kLine) std::atomic<uint64_t> head;             // lines consumed; owner
  alignas(kLine) std::atomic<uint32_t> senders;          // entries of `sender` given out, vacant ones included
  std::atomic<uint32_t> vacant;                          // about how many of these wait for another sender
  struct alignas(kLine) BoxHead {
    std::atomic<uint64_t> lines;  // consumed; owner
  } box_head[kBoxes];
  SharedCopy copy[kBoxes][kSharedCopies];  // what the owner moves, with the help of the sender that has this box
  Staging staging[kStagings];              // what the owner sends
  struct alignas(kLine) Sender {
    std::atomic<uint32_t> ready;  // kThere, kLeft: release by the sender; kVacant, kRefused: release by the owner
    uint32_t nid, pid;
    SegmentPlace place;           // the sender's: for an owner that has not mapped the sender's segment
    std::atomic<uint64_t> claim;  // claim_of() the record it reserves or has reserved last; 0 = none
  } sender[kMaxSenders];
  struct Block {
    std::atomic<uint64_t> size;  // 0 = not there yet; release by the owner
    uint64_t offset;
  } block[kMaxBlocks];
};

// The word that a sender writes before it moves the tail, so that the owner can step over the record if the sender dies in between.
constexpr uint64_t kClaimLines = 2048;
constexpr uint64_t claim_of(uint64_t position, uint64_t lines) {
  assert(lines > 0 && lines < kClaimLines);
  return position * kClaimLines + lines;
}

// One mapped segment: the own one, or a peer's.
class Segment {
 public:
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Throws std::system_error with cause and remedy (/dev/shm full, name taken ..).
  static std::unique_ptr<Segment> create(ProcessId self, uint32_t uid, size_t ring_bytes, size_t others = 0);
  // nullptr: no such process on this node, not ours to use, or dead (even if its file is still there). Found by its name, else by
  // `place`, if that is given; then it is that very process. The first time that this process lacks something for it, a line says so.
  static std::unique_ptr<Segment> attach(ProcessId process, uint32_t uid, const SegmentPlace* place = nullptr);
  // Whether a process that has sent to us may still send, for those whose segment is not mapped here. Its file tells, while that
  // has a name (it loses the name once a job's ranks have mapped one another); then its process id does, where that means to us what
  // it means to the sender. In doubt it lives. Three system calls at most.
  static bool may_live(ProcessId process, uint32_t uid, const SegmentPlace& place);

  SegmentHeader& header() { return *header_; }
  std::byte* ring() { return ring_; }
  // False once the process that made this segment has ended, or has given the segment up. Takes system calls.
  bool owner_alive() const;
  // Whether the owner's process id means to us what it means to it.
  bool pid_is_ours() const { return pid_is_ours_; }
  template <class End>  // SenderRingWriter or SenderRingReader
  End box(uint32_t sender) {
    assert(sender < plan_.count);
    End end;
    end.lines = boxes_ + sender * plan_.bytes;
    end.capacity = plan_.bytes / kLine;
    end.head = &header_->box_head[sender].lines;
    return end;
  }
  // So many of the first senders have one.
  uint32_t boxes() const { return static_cast<uint32_t>(plan_.count); }
  // The lines of ring and boxes together: so many messages at most lie here.
  size_t lines() const { return (ring_bytes_ + plan_.all()) / kLine; }
  // Removes the name from the file system; mapped memory stays.
  void remove_name();

  // Owner: a new block, fresh or in place of existing pages. Its number, or -1 with errno set.
  int add_block(size_t size, void* replace, void*& base);
  // Anyone: maps block `number`; nullptr when it is not there (yet).
  void* map_block(unsigned number, size_t& size);
  // The memory of staging `number`, which the owner makes when it is first asked for and others map; nullptr when there is none.
  std::byte* staging_memory(uint32_t number);
  // The header: addresses of its words go to others, who use them also when the owner has died.
  SegmentHeader& lend_header() {
    ++lent_;
    return *header_;
  }
  void take_header_back() {
    assert(lent_ > 0);
    --lent_;
  }
  bool lends_memory() const {
    return lent_ > 0 || std::any_of(std::begin(blocks_), std::end(blocks_), [](const Mapping& one) { return one.base != nullptr; });
  }

 private:
  Segment() = default;
  int move_memory(size_t bytes);
  bool publish_place();
  static std::unique_ptr<Segment> find(ProcessId process, uint32_t uid, const SegmentPlace* place);
  bool map(int fd, size_t ring_offset, size_t ring_bytes);

  int fd_ = -1;    // of the memory
  int name_ = -1;  // the owner's, of a file that only says where the memory is
  bool owner_ = false;
  bool pid_is_ours_ = false;
  unsigned lent_ = 0;  // how often the header
  std::string path_;
  SegmentHeader* header_ = nullptr;
  std::byte* ring_ = nullptr;
  std::byte* boxes_ = nullptr;  // mapped with the header
  size_t header_bytes_ = 0;
  size_t ring_bytes_ = 0;
  BoxPlan plan_;  // as it was when it was mapped, whatever becomes of the header
  struct Mapping {
    void* base = nullptr;
    size_t size = 0;
    bool fresh = true;
  } blocks_[kMaxBlocks];  // fresh: goes with this object
  unsigned block_count_ = 0;
  std::byte* staging_[kStagings] = {};
};

// Removes segments of this user whose owners are dead.
void sweep_dead_segments();

}  // namespace portunus
