// word.hpp: what one process says of one view, in one word that other processes read and change by atomics only.
//
//   kind       none: not in the queue; waits: in the queue; held: writes; owner: wrote last, or last before the next
//   changing   its copy is being brought up to date by a read: nobody copies from here
//   lost       it waited for a process that died; whoever waits for this one waits in vain, too
//   push       the one behind is ahead (does not wait in a call) and wants the data to be brought
//   next       the process behind in the queue, plus 1; 0: nobody yet
//   epoch      steps up whenever the copy may be about to change: a copy taken from here is good if it is the same before
//   and after
//
// Transitions are pure functions of the old word. The process itself changes all fields but `next` and `push`, which are set
// by the process behind, once: so a process adds to its own word, and replaces it as a whole only while nobody can be about
// to announce himself.
//
// Thread: any. Source: Huang, Purvis and Werstein, VODCA, section 3.4 (ownership queue); the word and its epochs are
// this library's.
#pragma once

#include <cstdint>

namespace portunus::views {

enum class Kind : uint8_t { none, waits, held, owner };

template <class Int, unsigned kNextBits>
struct BasicWord {
  static constexpr unsigned kNextAt = 5, kEpochAt = kNextAt + kNextBits;
  static constexpr Int kChanging = 1 << 2, kLost = 1 << 3, kPush = 1 << 4, kEpoch = Int{1} << kEpochAt;
  static constexpr Int kNextMask = ((Int{1} << kNextBits) - 1) << kNextAt;

  Int bits = 0;

  constexpr Kind kind() const { return static_cast<Kind>(bits & 3); }
  constexpr bool changing() const { return bits & kChanging; }
  constexpr bool lost() const { return bits & kLost; }
  constexpr bool push() const { return bits & kPush; }
  constexpr bool has_next() const { return bits & kNextMask; }
  constexpr unsigned next() const { return static_cast<unsigned>((bits & kNextMask) >> kNextAt) - 1; }
  constexpr Int epoch() const { return bits >> kEpochAt; }
  constexpr bool busy() const { return kind() == Kind::waits || kind() == Kind::held; }
  constexpr bool may_go_again() const { return kind() == Kind::owner && !has_next() && !lost(); }

  // The owner, asked by nobody, writes again.
  constexpr BasicWord again(bool new_epoch = true) const { return {bits - 1 + (new_epoch ? kEpoch : 0)}; }
  // In the queue, with nobody behind yet.
  constexpr BasicWord waiting() const { return {(epoch() + 1) << kEpochAt | static_cast<Int>(Kind::waits)}; }
  // Numbers to add: waits -> held, held -> owner, a read begins, a read ends.
  static constexpr Int granted() { return 1; }
  static constexpr Int released() { return 1; }
  static constexpr Int reads() { return kEpoch + kChanging; }
  static constexpr Int has_read() { return static_cast<Int>(-static_cast<Int>(kChanging)); }
  // The word that the process behind sets.
  static constexpr Int announcement(unsigned process, bool push) { return static_cast<Int>(process + 1) << kNextAt | (push ? kPush : 0); }
};

using Word = BasicWord<uint64_t, 20>;
static_assert(Word::kEpochAt + 39 == 64, "an owner alone takes decades to use up its epochs");

}  // namespace portunus::views
