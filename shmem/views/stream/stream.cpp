// stream.cpp: the ring, seen from the writer and from a reader.
#include "shmem/views/stream/stream.hpp"

#include <algorithm>

#include "shmem/views/arena/allocator.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/diff/pieces.hpp"
#include "shmem/views/diff/session.hpp"
#include "shmem/views/handover/acquire.hpp"
#include "shmem/views/watch/clock.hpp"

namespace portunus::views {
namespace {

void write_next(View& view, double seconds) {
  Stream& stream = *view.stream;
  const uint64_t next = stream.version + 1;
  const double until = seconds < 0 ? 0 : now() + seconds;
  const auto left = [&] { return seconds < 0 ? seconds : std::max(until - now(), 0.0); };
  if (!stream.all_ready) {
    if (!wait_for([&] { return said_by_all(stream, stream.depth, 1); }, left()))
      refuse(VDCX_ERR_TIMEOUT, "view %d: some reader had not made the stream after %g s", view.id, seconds);
    stream.all_ready = true;
  }
  if (next > stream.depth && !wait_for([&] { return said_by_all(stream, stream.slot_number(next), stream.round_of(next) - 1); }, left()))
    refuse(VDCX_ERR_TIMEOUT, "view %d: %u versions of the stream were still unread after %g s", view.id, stream.depth, seconds);
  if (!leave_view(view, left()))
    refuse(VDCX_ERR_TIMEOUT, "view %d: the last version of the stream was still on its way from the view after %g s", view.id, seconds);
  for (const Range& piece : view.pieces) window.open_pages(piece.offset / kPage, (piece.end() + kPage - 1) / kPage);
  view.how = VDCX_WHOLE;
  view.held = true;
  library.writers.push_back(&view);
  ++library.counters.write_acquires;
}

void read_next(View& view, double seconds) {
  Stream& stream = *view.stream;
  const uint64_t next = stream.version + 1;
  const auto there = [&] { return stream.place ? far_version_came(stream, next) : near_version_came(view, next); };
  const auto dead = [&] {
    if (library.net.dead(stream.writer)) return stream.writer;
    for (const size_t place : stream.branch)
      if (library.net.dead(stream.tree.process(place))) return stream.tree.process(place);
    return -1;
  };
  if (!there()) {
    if (!wait_for([&] { return there() || dead() >= 0; }, seconds))
      refuse(VDCX_ERR_TIMEOUT, "view %d: version %llu of the stream did not come in %g s", view.id, static_cast<unsigned long long>(next),
             seconds);
    if (!there())
      refuse(VDCX_ERR_LOST, "view %d: process %d, %s of the stream, has died", view.id, dead(),
             dead() == stream.writer ? "the writer" : "a reader in this process's branch");
  }
  if (stream.place == 0) take_near(view, next);
  else if (!take_far(stream, next)) unpack(view, library.arena() + stream.slot_of(next));
  else patch_twins(view);
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
  std::vector<uint64_t> order;  // what readers elsewhere need to know of each other
  if (library.me == writer) {
    std::vector<int> tree{writer};
    for (const int reader : readers)
      if (!library.net.near(reader, 0)) tree.push_back(reader);
    order.assign(tree.begin(), tree.end());
    order.push_back(~uint64_t{0});
    stream->tree = Tree(std::move(tree));
    stream->children = stream->tree.children(0);
    // On pages of its own: others write there at any time, which a session that compares must not take for what its program wrote.
    size_t bytes = 0;
    const size_t words = Stream::bytes_of_words(depth) + 2 * kPage;
    const bool fits = !__builtin_mul_overflow(stream->slot, depth, &bytes) && !__builtin_add_overflow(bytes, words, &bytes);
    stream->ring = fits ? allocate(bytes / kPage * kPage + kPage, -1) : SIZE_MAX;
    if (stream->ring != SIZE_MAX) {
      stream->ring = (stream->ring + kPage - 1) / kPage * kPage;
      stream->find_words();
      memcpy(library.arena() + stream->order, order.data(), order.size() * 8);
      memset(library.arena() + stream->credits, 0, stream->order - stream->credits);
    }
    own(library.slot(view.id).meaning).store(view.meaning, std::memory_order_release);
    // Readers must not wait for what cannot come: they are told that, too.
    for (const int reader : readers)
      library.net.store(reader, library.layout.slot(view.id) + offsetof(Slot, ring), stream->ring == SIZE_MAX ? 1 : stream->ring + 2);
  } else {
    auto ring = own(library.slot(view.id).ring);
    wait_for([&] { return ring.load(std::memory_order_acquire) != 0 || library.net.dead(writer); }, kForEver);
    const uint64_t said = ring.load(std::memory_order_acquire);
    if (said == 0) refuse(VDCX_ERR_LOST, "view %d: process %d, the writer of the stream, has died", view.id, writer);
    stream->ring = said == 1 ? SIZE_MAX : said - 2;
    const uint64_t meaning = library.net.load(writer, library.layout.slot(view.id) + offsetof(Slot, meaning));
    if (library.net.failed()) {
      library.net.clear();
      refuse(VDCX_ERR_LOST, "view %d: process %d, the writer of the stream, has died", view.id, writer);
    }
    if (meaning != view.meaning)
      refuse(VDCX_ERR_ARG, "view %d: process %d and process %d, the writer of the stream, declare it differently", view.id, library.me,
             writer);
  }
  if (stream->ring == SIZE_MAX)
    refuse(VDCX_ERR_NO_SPACE, "view %d: there is no room for %u versions of %zu bytes; set VDC_PAGES to more", view.id, depth, view.bytes);
  stream->find_words();
  const bool far = library.me != writer && !library.net.near(writer, 0);
  if (far) {
    order.resize(static_cast<size_t>(library.n) + 1);
    if (!library.net.get(writer, library.layout.arena + stream->order, order.data(), order.size() * 8)) {
      library.net.clear();
      refuse(VDCX_ERR_LOST, "view %d: process %d, the writer of the stream, has died", view.id, writer);
    }
    stream->tree = Tree({order.begin(), std::find(order.begin(), order.end(), ~uint64_t{0})});
    stream->place = stream->tree.position(library.me);
  }
  view.used = true;
  view.stream = std::move(stream);
  show_held(view);  // others write to it at any time
  if (far) open_far_edges(view);
  else if (library.me != writer) library.net.store(writer, library.layout.arena + view.stream->credit_of(library.me, depth), 1);
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
  if (view.held) {
    const uint64_t k = ++stream.version;
    view.held = false;
    std::erase(library.writers, &view);
    offer(view, k);
    send_far(view, k);
    return;
  }
  if (!view.reads) refuse(VDCX_ERR_STATE, "view %d is not held by this process", view.id);
  --library.held_reads;
  if (--view.reads) return;
  const uint64_t k = stream.version;
  if (stream.place) far_release(view, k);
  else net.store(stream.writer, library.layout.arena + stream.credit_of(library.me, stream.slot_number(k)), stream.round_of(k));
}

}  // namespace portunus::views
