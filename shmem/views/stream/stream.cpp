// stream.cpp: the ring, seen from the writer and from a reader.
#include "shmem/views/stream/stream.hpp"

#include <algorithm>

#include "shmem/views/arena/allocator.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/handover/acquire.hpp"

namespace portunus::views {
namespace {

constexpr size_t kArrived = offsetof(Slot, spare) + 8, kRing = offsetof(Slot, spare) + 16;  // in a reader's slot

uint64_t& spare(View& view, size_t i) { return library.slot(view.id).spare[i]; }

void pack(const View& view, char* to) {
  for (const Range& piece : view.pieces) {
    memcpy(to, library.arena() + piece.offset, piece.bytes);
    to += piece.bytes;
  }
}
void unpack(const View& view, const char* from) {
  for (const Range& piece : view.pieces) {
    memcpy(library.arena() + piece.offset, from, piece.bytes);
    window.patch_twins(piece.offset, piece.bytes);
    from += piece.bytes;
  }
}

std::atomic_ref<uint64_t> credit(const Stream& stream, int reader) {
  return own(*reinterpret_cast<uint64_t*>(library.arena() + stream.credits + static_cast<size_t>(reader) * 8));
}

// Version `needed` was read by all that live.
bool read_by_all(const Stream& stream, uint64_t needed) {
  // acquire: pairs with the reader's store, which comes after its last look at the slot.
  return std::all_of(stream.readers.begin(), stream.readers.end(), [&](int reader) {
    return credit(stream, reader).load(std::memory_order_acquire) >= needed || library.net.dead(reader);
  });
}

void write_next(View& view, double seconds) {
  Stream& stream = *view.stream;
  const uint64_t next = stream.version + 1;
  if (next > stream.depth && !wait_for([&] { return read_by_all(stream, next - stream.depth); }, seconds))
    refuse(VDCX_ERR_TIMEOUT, "view %d: %u versions of the stream were still unread after %g s", view.id, stream.depth, seconds);
  for (const Range& piece : view.pieces) window.open_pages(piece.offset / kPage, (piece.end() + kPage - 1) / kPage);
  view.how = VDCX_WHOLE;
  view.held = true;
  library.writers.push_back(&view);
  ++library.counters.write_acquires;
}

void read_next(View& view, double seconds) {
  Stream& stream = *view.stream;
  const uint64_t next = stream.version + 1;
  auto arrived = own(spare(view, 1));
  // acquire: pairs with the writer's store, behind which lies the version.
  const auto there = [&] { return arrived.load(std::memory_order_acquire) >= next; };
  if (!there()) {
    if (!wait_for([&] { return there() || library.net.dead(stream.writer); }, seconds))
      refuse(VDCX_ERR_TIMEOUT, "view %d: version %llu of the stream did not come in %g s", view.id, static_cast<unsigned long long>(next),
             seconds);
    if (!there()) refuse(VDCX_ERR_LOST, "view %d: process %d, the writer of the stream, has died", view.id, stream.writer);
  }
  const char* const near = library.net.near(stream.writer, library.layout.arena);
  unpack(view, (near ? near : library.arena()) + stream.slot_of(next));
  stream.version = next;
  library.counters.copied_bytes += view.bytes;
  ++view.reads;
  ++library.held_reads;
  ++library.counters.read_acquires;
}

}  // namespace

void make_stream(View& view, int writer, const std::vector<int>& readers, unsigned depth) {
  if (!view.declared) refuse(VDCX_ERR_STATE, "view %d is not declared: only declared views are streams", view.id);
  if (view.used || view.pending || view.stream) refuse(VDCX_ERR_STATE, "view %d has been used already", view.id);
  std::vector<int> all = readers;
  all.push_back(writer);
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end())
    refuse(VDCX_ERR_ARG, "view %d: a process is named twice in the stream", view.id);
  if (all.front() < 0 || all.back() >= library.n)
    refuse(VDCX_ERR_ARG, "view %d: there is no process %d", view.id, all.front() < 0 ? all.front() : all.back());
  if (!std::binary_search(all.begin(), all.end(), library.me))
    refuse(VDCX_ERR_ARG, "view %d: this process is neither writer nor reader of the stream", view.id);
  publish_image();
  auto stream = std::make_shared<Stream>();
  stream->writer = writer;
  stream->readers = readers;
  stream->depth = depth;
  stream->slot = (view.bytes + kBlock - 1) / kBlock * kBlock;
  if (library.me == writer) {
    size_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(stream->slot, depth, &bytes);
    stream->ring = fits ? allocate(bytes + static_cast<size_t>(library.n) * 8, -1) : SIZE_MAX;
    // Readers must not wait for what cannot come: they are told that, too.
    for (const int reader : readers)
      library.net.store(reader, library.layout.slot(view.id) + kRing, stream->ring == SIZE_MAX ? 1 : stream->ring + 2);
  } else {
    auto ring = own(spare(view, 2));
    wait_for([&] { return ring.load(std::memory_order_acquire) != 0 || library.net.dead(writer); }, kForEver);
    const uint64_t said = ring.load(std::memory_order_acquire);
    if (said == 0) refuse(VDCX_ERR_LOST, "view %d: process %d, the writer of the stream, has died", view.id, writer);
    stream->ring = said == 1 ? SIZE_MAX : said - 2;
  }
  if (stream->ring == SIZE_MAX)
    refuse(VDCX_ERR_NO_SPACE, "view %d: there is no room for %u versions of %zu bytes; set VDC_PAGES to more", view.id, depth, view.bytes);
  stream->credits = stream->ring + stream->slot * depth;
  view.used = true;
  view.stream = std::move(stream);
}

void stream_acquire(View& view, Vdcx_mode mode, double seconds) {
  const bool writes = library.me == view.stream->writer;
  if ((mode == VDCX_READ) == writes)
    refuse(VDCX_ERR_STATE, "view %d is a stream that process %d alone writes", view.id, view.stream->writer);
  if (writes && view.held) refuse(VDCX_ERR_STATE, "view %d is held for writing by this process already", view.id);
  if (writes && library.detected)
    refuse(VDCX_ERR_STATE, "view %d cannot be acquired for writing while view %d is, whose data are detected", view.id,
           library.detected->id);
  if (writes) return write_next(view, seconds);
  if (view.reads) {
    ++view.reads;
    ++library.held_reads;
    return;
  }
  read_next(view, seconds);
}

void stream_release(View& view) {
  Stream& stream = *view.stream;
  Net& net = library.net;
  const size_t slot = library.layout.slot(view.id);
  if (view.held) {
    const uint64_t k = ++stream.version;
    char* const packed = library.arena() + stream.slot_of(k);
    pack(view, packed);
    view.held = false;
    std::erase(library.writers, &view);
    for (const int reader : stream.readers) {
      if (net.near(reader, 0)) {
        net.store(reader, slot + kArrived, k);
      } else if (!net.dead(reader)) {
        auto delivery = std::make_unique<Net::Delivery>();
        net.begin(*delivery);
        net.put(*delivery, reader, library.layout.arena + stream.slot_of(k), packed, view.bytes);
        net.finish(*delivery, reader, slot + kArrived, k);
        library.deliveries.push_back({std::move(delivery), view.id, reader, false});
        library.counters.brought_bytes += view.bytes;
      }
    }
    if (!library.deliveries.empty()) poll_deliveries();
    return;
  }
  if (!view.reads) refuse(VDCX_ERR_STATE, "view %d is not held by this process", view.id);
  --library.held_reads;
  if (--view.reads == 0)
    net.store(stream.writer, library.layout.arena + stream.credits + static_cast<size_t>(library.me) * 8, stream.version);
}

}  // namespace portunus::views
