// stream.hpp: versions of a declared view that flow from one writer to fixed readers, through a ring of `depth` slots.
//
// The ring lies in the shared pages, at the same place in all processes. Release k packs the view into slot k mod depth;
// readers of the writer's node read it there, to others it is put, and a word says so: one message for each reader and
// version, and one word back when it was read. Only the writer ever waits: in acquire, while some living reader has `depth`
// versions before it.
//
// **Thread:** the one that calls. **Invariants:** a slot is written again only after every living reader has released its
// version.
#pragma once

#include "shmem/views/library.hpp"

namespace portunus::views {

class Stream {
 public:
  int writer = 0;
  std::vector<int> readers;
  unsigned depth = 1;
  size_t ring = 0;       // offset of the first slot in the arena
  size_t slot = 0;       // bytes of one
  size_t credits = 0;    // offset in the arena of a word for each process: versions it has read
  uint64_t version = 0;  // that was released (writer) or acquired (reader)

  size_t slot_of(uint64_t k) const { return ring + (k - 1) % depth * slot; }
};

void make_stream(View& view, int writer, const std::vector<int>& readers, unsigned depth);
void stream_acquire(View& view, Vdcx_mode mode, double seconds);
void stream_release(View& view);

}  // namespace portunus::views
