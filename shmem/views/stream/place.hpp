// place.hpp: where the newest version of a stream lies for a reader on the writer's node: in the view, where it was written, or in the
// ring.
//
// A version that is read in the view is copied once, not twice. The writer takes it from there when it writes again: it packs the version
// into the ring, then withdraws the view from those readers who have not come yet; for who is copying just then it waits. One word for each
// reader says so. The tests walk this code through all interleavings.
//
// Site: Place look(); bool change(Place& expected, Place): the reader's word, the latter by comparing, which says what it found.
//
// Thread: the writer and one reader. Invariants: a reader copies from the view only while its word says `taken_up`; versions before the
// word's lie in the ring.
#pragma once

#include <cstdint>

namespace portunus::views {

enum class Where : uint8_t { ring, view, taken_up, copied };

template <class Int>
struct BasicPlace {
  Int bits = 0;
  static constexpr BasicPlace of(Int version, Where where) { return {static_cast<Int>(version << 2 | static_cast<Int>(where))}; }
  constexpr Int version() const { return bits >> 2; }
  constexpr Where where() const { return static_cast<Where>(bits & 3); }
};
using Place = BasicPlace<uint64_t>;

// The writer's, who has packed the version that the word names. False: it is being copied, so the view may not be written to yet.
template <class Site>
bool withdraw(Site& site) {
  auto now = site.look();
  while (now.where() == Where::view)
    if (site.change(now, now.of(now.version(), Where::ring))) return true;
  return now.where() != Where::taken_up;
}

enum class Lies : uint8_t { nowhere, in_ring, in_view };

// The reader's, for its next version. In the view: it is to be copied from there, and then copied() called.
template <class Site, class Int>
Lies find_version(Site& site, Int next) {
  auto now = site.look();
  for (;;) {
    if (now.version() < next) return Lies::nowhere;
    if (now.version() > next || now.where() != Where::view) return Lies::in_ring;
    if (site.change(now, now.of(next, Where::taken_up))) return Lies::in_view;
  }
}

template <class Site, class Int>
void copied(Site& site, Int version) {
  auto now = site.look();
  site.change(now, now.of(version, Where::copied));
}

}  // namespace portunus::views
