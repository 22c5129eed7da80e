// node.hpp: the on-node cut-through: each process has inbound rings of cache lines that the others of the node write: a box
// (sender_ring.hpp) for each of the first senders, and one ring for all others.
//
// A record is 1 + ceil(payload / 64) lines, one line when the payload is at most 8 bytes. The first word of its first
// line says how many lines, and is written last (release). In the shared ring the reader clears the first word of every line it has
// consumed, so an old record is never taken for a new one. Bulk data is moved by the target with process_vm_readv/writev (CMA)
// where the kernel permits, else streamed by messages; an initiator that steps meanwhile copies its share (shared_copy.hpp). Data that
// the initiator has to copy together first go through memory that both map (staging.hpp).
//
// A process that dies says nothing: `housekeeping` finds out by its segment (segment.hpp). What it said before is delivered first;
// a record that it reserved and never published is stepped over, which its claim makes possible. Once there are more senders than
// boxes, those that have gone are looked for, and their places and boxes given to new ones.
//
// A sender that ruins a ring is dead for the ring's owner from then on, and the owner for it; in the shared ring that is so for all
// senders.
//
// Thread: the baton holder. Between processes, in the shared ring: `tail` by compare-and-swap of the senders, `head` by the owner.
// Cost: one line written and one read per small message; a load for the doorbell, and a fence unless the receiver is known to look.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/host/copy_run.hpp"
#include "engine/shared/stats.hpp"
#include "engine/transport/node/segment.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

enum class Acquaintance : uint8_t { made, later, none };

class NodeTransport final : public Transport, public InPlace, public StagingAreas, public Notify {
 public:
  NodeTransport(Sink& sink, Stats& stats, ProcessId self, uint32_t uid, size_t ring_bytes, bool cma = true, size_t others = 0);
  ~NodeTransport() override;

  TransportName name() const override { return {PTLX_TRANSPORT_NODE, "node"}; }
  // Whether others have large boxes is said by the own ones: most peers are of the same job.
  TransportLimits limits() const override {
    return {kEager, cma_ ? size_t{1} << 30 : 0, segment_->lines() * wire::kKeptHeader, takes_whole(boxes_[0]) ? kWhole : 0};
  }
  Link* connect(ProcessId process) override;
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override;
  void withdraw(Exposed& exposed) override;
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override;
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override;
  std::byte* begin(Link& link, const wire::Header& header) override;
  void commit(Link& link) override;
  bool stage(Link& link, StagingFiller& filler, wire::Region& out) override;
  bool open_stage(Link& link, const wire::Region& from, StagingTaker& taker) override;
  void unstage(Link& link, StagingFiller& filler) override;
  void notify(Link& link) override;
  int poll(int budget) override;
  bool idle() override;
  void housekeeping(bool waiting) override;
  // As for a message: a step of that process is to find what this one has stored in memory that both map.
  void call(SegmentHeader& peer, bool urgent);
  bool needs_housekeeping() override;

  Segment& segment() { return *segment_; }
  // Meets a process whose segment may have no name any more. `later`: one that had its address before is being buried; ask again after
  // housekeeping and a step.
  Acquaintance acquaint(ProcessId process, const SegmentPlace& place);
  // The mapped segment of a process on this node, or nullptr.
  Segment* segment_of(ProcessId process);
  // A header that segment_of(..)->lend_header() lent is used no more.
  void take_back(const SegmentHeader* lent);

  static constexpr size_t kEager = 32 * 1024;
  static constexpr size_t kWhole = 64 * 1024;  // of puts that travel whole, where boxes are large

 private:
  // Some of these must not fill it.
  static bool takes_whole(const SenderRing& box) { return box.capacity >= 8 * (1 + kWhole / kLine); }
  static constexpr uint32_t kMaxRecordLines = 1 + kEager / kLine;
  struct NodeLink : Link {
    std::unique_ptr<Segment> segment;        // the peer's; made when we first send; none once the peer is lost
    std::unique_ptr<Segment> kept_segment;   // a lost peer's: others may still look at its blocks
    SegmentHeader::Sender* entry = nullptr;  // ours in the peer's sender table
    SenderRingWriter box;                    // our box in it, if we have one; its lines are known once we have sent
    std::byte* begun = nullptr;              // the record that is being written there
    uint64_t begun_lines = 0;
    Urgency begun_urgency = Urgency::small;
    bool said_full = false;           // the peer was rung as there was no room, and there has been none since
    uint32_t attended_at = 0;         // when the peer was last seen to be attended
    uint64_t head_seen = 0;           // the head of the peer's shared ring when last looked at
    uint32_t index = 0;               // who we are in the peer's sender table
    uint32_t sends_as = kMaxSenders;  // who the peer is in ours; kMaxSenders = it has not sent yet
    uint64_t last_words = 0;          // dead: lost once the head has come here
    struct Piece {
      uint64_t start, size;
      bool peer_writes;
    };
    std::vector<Piece> exposed;  // of our memory, to the peer: while there are any, we look whether we can help
    struct Move {
      NodeLink* link;
      CopyOwner owner;        // busy: the move is shared, and goes on
      uint64_t ours, theirs;  // addresses
      size_t size;
      bool to_us;
      void* context;
      bool copied;  // what we have claimed of it
    } moves[kSharedCopies]{};
    bool cma = true;
    bool dead = false;
    bool lost = false;
    uint32_t ended_with = 0;  // the incarnation of a process that lives, with which nothing more is exchanged
  };
  NodeLink* link_of(ProcessId process);
  bool introduce(NodeLink& link);
  bool alive(const NodeLink& link) const;
  bool refuses_us(const NodeLink& link) const;
  bool has_ended_with(ProcessId process, uint32_t incarnation) const;
  void note_death(NodeLink& link);
  void refuse(uint32_t index);
  int reap();
  // Whether peers live, of many some at a time.
  void look_at_peers();
  void look_for_departed();
  void vacate();
  static uint32_t claim_place(SegmentHeader& header);
  void step_over_dead_record();
  NodeLink* sender(uint32_t index) { return index < senders_.size() && senders_[index] ? senders_[index] : new_sender(index); }
  NodeLink* new_sender(uint32_t index);
  Moved no_access(NodeLink& link);
  bool copy(NodeLink& link, uint64_t ours, uint64_t theirs, size_t size, bool to_us);
  Moved move(Link& other, const wire::Region& region, const void* memory, size_t size, bool to_us, void* context);
  Moved settle(NodeLink::Move& move);
  int settle_shared();
  int help();
  bool may_help() const;
  [[gnu::noinline]] Sent send_any(NodeLink& link, const wire::Header& header, std::span<const iovec> payload);
  std::byte* begin_in_box(NodeLink& link, const wire::Header& header, uint64_t lines);
  Sent commit_in_box(NodeLink& link, std::byte* record, uint64_t lines, Urgency urgency);
  std::byte* reserve_in_ring(NodeLink& link, uint64_t lines);
  bool ring(NodeLink& link, Urgency urgency = Urgency::small);
  Sent published(NodeLink& link, Urgency urgency);
  Sent no_room(NodeLink& link);
  void arrived(uint32_t source, std::byte* record, uint32_t lines);
  void expect(NodeLink& link, uint64_t lines);
  void prefault_next();
  int poll_box(uint32_t index, int budget);
  int poll_ring(int budget);
  bool ring_idle();

  Sink& sink_;
  Stats& stats_;
  ProcessId self_;
  uint32_t uid_;
  bool cma_ = true;
  const bool registered_ = register_asymmetric_fences();
  std::unique_ptr<Segment> segment_;
  bool stagings_taken_[kStagings] = {};
  const uint32_t box_count_;
  SenderRingReader boxes_[kBoxes];
  uint64_t head_ = 0;  // of the shared ring
  uint64_t lines_;
  bool broken_ = false;        // the shared ring holds something no sender of ours would write
  bool quiet_ = true;          // the last poll found nothing
  NodeLink* ahead_ = nullptr;  // in whose box lines are fetched while nothing comes, for a record of
  uint64_t ahead_lines_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<NodeLink>> links_;
  std::vector<std::unique_ptr<NodeLink>> replaced_;  // lost, and another process has the address
  std::vector<NodeLink*> dead_;
  size_t next_turn_ = 0;                  // of looks at peers
  std::vector<NodeLink::Move*> sharing_;  // whose peers have not finished their share yet
  std::vector<NodeLink*> helping_;        // whose peers may want help
  // A buffer between the two memories, for places where string moves would be slow (host/copy_run.hpp): the kernel takes four times as long
  // there. It lies in its page as the peer's memory does, and the second copy, from near caches, costs a tenth.
  struct Detour {
    static constexpr size_t kBytes = 64 * 1024, kWorthIt = 8 * 1024;
    alignas(kMemoryPage) std::byte bytes[kBytes + kMemoryPage];
    void* beside(uint64_t theirs) { return bytes + theirs % kMemoryPage; }
  };
  std::unique_ptr<Detour> detour_;  // made when first needed
  struct Vacating {
    uint32_t index;
    uint64_t last_words;
  };
  std::vector<Vacating> vacating_;  // places of the lost, until the ring holds nothing of theirs
  uint32_t next_look_ = 0;          // at which sender, when places are scarce
  std::vector<NodeLink*> senders_;  // by index in our sender table
};

// Wakes sleepers of a process; `socket_name` is used when they wait for descriptors.
void wake_process(uint32_t* door, Sleeper who, bool by_socket, ProcessId process, uint32_t uid);
// Wakes the threads of a process that sleep until its memory changes; false: there are none. Thread: any.
bool wake_watchers(SegmentHeader& peer);

}  // namespace portunus
