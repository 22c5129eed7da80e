// stream.hpp: versions of a declared view that flow from one writer to fixed readers, through a ring of `depth` slots.
//
// The ring lies in the shared pages, at the same place in all processes. Version k has slot k mod depth. Readers of the writer's node read
// it there, and a word says so (place.hpp). To the others it is put, down a tree (tree.hpp): a counter of each slot says that it came, and
// triggers the puts to the children; a second one counts own release and the children's credits, and triggers the credit to the parent.
// Both are armed again by the engine, so nobody's program has to run for a version to pass. One message for each edge and version, and one
// back when it was read. Only the writer ever waits: in acquire, while somebody has `depth` versions before him, or the last one is on its
// way from the view.
//
// A long version is not packed as long as that can be helped (in_view.cpp): release leaves it in the view, from where it is put or copied.
// To a reader who hangs on the writer alone, and has read all before, it is put into his view. A writer who comes back before it has left
// packs it at once from then on, for a while.
//
// Thread: the one that calls. Invariants: a slot is written again only after every living reader has released its version; the writer's
// view only after all have that version, or it lies in the ring.
// Source: Portals 4.3, "Triggered Operations".
#pragma once

#include "shmem/views/library.hpp"
#include "shmem/views/stream/tree.hpp"

namespace portunus::views {

class Stream {
 public:
  int writer = 0;
  std::vector<int> readers;
  unsigned depth = 1;
  size_t ring = 0;       // offset of the first slot in the arena
  size_t slot = 0;       // bytes of one
  size_t credits = 0;    // offset in the arena: for each process and slot, how often it was read; and whether the process is ready
  size_t order = 0;      // offset in the arena: the tree's processes, and -1
  uint64_t version = 0;  // that was released (writer) or acquired (reader)
  Tree tree;
  size_t place = 0;  // in the tree; 0 of a reader: it reads at the writer
  bool all_ready = false;
  std::vector<size_t> branch, children;
  std::vector<ptl_handle_ct_t> came, read;  // of each slot; `read` where there are children
  ptl_handle_ct_t came_into_view = PTL_CT_NONE;
  std::vector<uint64_t> taken;  // by this reader, of each slot; and, the last one, in the view
  bool in_view = false;         // writer: the newest version lies in the view
  bool in_ring = true;          // writer: and in its slot
  unsigned to_pack = 0;         // writer: so many more are packed at once
  Operations leaving;           // writer: what is put from the view

  size_t slot_of(uint64_t k) const { return ring + (k - 1) % depth * slot; }
  size_t slot_number(uint64_t k) const { return (k - 1) % depth; }
  uint64_t round_of(uint64_t k) const { return (k - 1) / depth + 1; }
  size_t credit_of(int process, size_t slot_number) const {
    return credits + (static_cast<size_t>(process) * (depth + 1) + slot_number) * 8;
  }
  void find_words() {
    credits = ring + slot * depth;
    order = credits + static_cast<size_t>(library.n) * (depth + 1) * 8;
  }
  static size_t bytes_of_words(unsigned depth) {
    return (static_cast<size_t>(library.n) * (depth + 1) + static_cast<size_t>(library.n) + 1) * 8;
  }
};

// in_view.cpp
inline bool stays_in_view(const View& view) {
  constexpr size_t kLong = 16 * 1024;
  return view.bytes > kLong && view.pieces.size() == 1;
}
// Whether the reader at this place of the tree can be put to in his view: he passes nothing on.
inline bool put_into_view(const View& view, const Stream& stream, size_t place) {
  return stays_in_view(view) && stream.tree.parent(place) == 0 && stream.tree.branch(place).size() == 1;
}
// Writer: version k is released, and where it lies for readers of this node.
void offer(View& view, uint64_t k);
// Writer: waits until the view may be written to, packing the newest version if somebody has not come for it yet. False: time is up.
bool leave_view(View& view, double seconds);
bool near_version_came(View& view, uint64_t next);
// Reader of the writer's node: copies the next version, which came.
void take_near(View& view, uint64_t next);
// The writer: all who will say so themselves, or for their branch, and live, have said it of `slot` as often as `needed`.
bool said_by_all(const Stream& stream, size_t slot, uint64_t needed);
bool read_by(const Stream& stream, int reader, uint64_t k);

void make_stream(View& view, int writer, const std::vector<int>& readers, unsigned depth);
void stream_acquire(View& view, Vdcx_mode mode, double seconds);
void stream_release(View& view);

// far_edges.cpp: what lies between processes that do not share the writer's node.
// Reader: counters, entries, and what they trigger; then the writer is told that versions may come.
void open_far_edges(View& view);
bool far_version_came(const Stream& stream, uint64_t k);
// True: it is in the view; else in its slot.
bool take_far(Stream& stream, uint64_t k);
void far_release(View& view, uint64_t k);
// Writer: version k to its children, whose branches live, from the view or the slot.
void send_far(View& view, uint64_t k);
bool branch_lives(const Stream& stream, size_t position);

}  // namespace portunus::views
