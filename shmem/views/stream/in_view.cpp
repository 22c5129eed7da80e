// in_view.cpp: versions that stay in the writer's view until it is written again.
#include <algorithm>

#include "shmem/views/diff/pieces.hpp"
#include "shmem/views/handover/acquire.hpp"
#include "shmem/views/stream/place.hpp"
#include "shmem/views/stream/stream.hpp"

namespace portunus::views {
namespace {

constexpr unsigned kPackedAfterWaiting = 32;  // versions

// The word that says where the newest version lies for this reader.
struct PlaceOf {
  size_t offset;
  int reader;

  PlaceOf(const View& view, int of) : offset(library.layout.slot(view.id) + offsetof(Slot, place)), reader(of) {}
  // acquire: pairs with the other's last change, behind which lie the version, or the copy that was made of it.
  Place look() const { return {word_at(library.net.near(reader, offset)).load(std::memory_order_acquire)}; }
  bool change(Place& expected, Place to) const {
    return word_at(library.net.near(reader, offset)).compare_exchange_strong(expected.bits, to.bits, std::memory_order_acq_rel);
  }
};

// How often a slot was read; or whether the process is ready.
std::atomic_ref<uint64_t> credit(const Stream& stream, int reader, size_t slot) {
  return own(*reinterpret_cast<uint64_t*>(library.arena() + stream.credit_of(reader, slot)));
}

}  // namespace

bool said_by_all(const Stream& stream, size_t slot, uint64_t needed) {
  // acquire: pairs with the reader's store, which comes after its last look at the slot.
  return std::all_of(stream.readers.begin(), stream.readers.end(), [&](int reader) {
    if (credit(stream, reader, slot).load(std::memory_order_acquire) >= needed) return true;
    const size_t place = stream.tree.position(reader);
    if (place == stream.tree.size()) return library.net.dead(reader);
    return (slot != stream.depth && stream.tree.parent(place) != 0) || !branch_lives(stream, place);
  });
}

bool read_by(const Stream& stream, int reader, uint64_t k) {
  return k == 0 || credit(stream, reader, stream.slot_number(k)).load(std::memory_order_acquire) >= stream.round_of(k);
}

void offer(View& view, uint64_t k) {
  Stream& stream = *view.stream;
  stream.in_view = stays_in_view(view) && stream.to_pack == 0;
  stream.in_ring = !stream.in_view;
  if (stream.in_ring) pack(view, library.arena() + stream.slot_of(k));
  if (stream.to_pack) --stream.to_pack;
  const uint64_t place = Place::of(k, stream.in_view ? Where::view : Where::ring).bits;
  for (const int reader : stream.readers)
    if (library.net.near(reader, 0)) library.net.store(reader, PlaceOf(view, reader).offset, place);
}

bool leave_view(View& view, double seconds) {
  Stream& stream = *view.stream;
  if (!stream.in_view) return true;
  std::vector<int> copying;
  for (const int reader : stream.readers) {
    if (!library.net.near(reader, 0)) continue;
    PlaceOf place(view, reader);
    // A reader that is copying or has done so needs no slot.
    if (place.look().where() == Where::view && !stream.in_ring) {
      pack(view, library.arena() + stream.slot_of(stream.version));
      stream.in_ring = true;
    }
    if (!withdraw(place)) copying.push_back(reader);
  }
  const auto done = [&] {
    return stream.leaving.nothing_pending() && std::none_of(copying.begin(), copying.end(), [&](int reader) {
             return PlaceOf(view, reader).look().where() == Where::taken_up && !library.net.dead(reader);
           });
  };
  if (!done()) {
    stream.to_pack = kPackedAfterWaiting;
    if (!wait_for(done, seconds)) return false;
  }
  stream.in_view = false;
  return true;
}

bool near_version_came(View& view, uint64_t next) { return PlaceOf(view, library.me).look().version() >= next; }

void take_near(View& view, uint64_t next) {
  const Stream& stream = *view.stream;
  PlaceOf place(view, library.me);
  const Lies lies = find_version(place, next);
  const char* const theirs = library.net.near(stream.writer, library.layout.arena);
  unpack(view, theirs + (lies == Lies::in_view ? view.pieces[0].offset : stream.slot_of(next)));
  if (lies == Lies::in_view) {
    copied(place, next);
    library.net.ring(stream.writer);
  }
}

}  // namespace portunus::views
