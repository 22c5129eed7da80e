// recover.cpp: turns of the living: each publishes, waits for all others that live, and reads. A turn in which somebody died
// is repeated.
#include "shmem/views/watch/recover.hpp"

#include <algorithm>

#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/pieces.hpp"
#include "shmem/views/handover/acquire.hpp"

namespace portunus::views {
namespace {

uint64_t turns = 0;

std::vector<int> living() {
  std::vector<int> all;
  for (int pe = 0; pe < library.n; ++pe)
    if (!library.net.dead(pe)) all.push_back(pe);
  return all;
}

// All living processes have come here as often as this one.
void turn() {
  ++turns;
  for (int pe = 0; pe < library.n; ++pe)
    if (!library.net.dead(pe)) library.net.store(pe, library.layout.turns + static_cast<size_t>(library.me) * 8, turns);
  auto* const reached = reinterpret_cast<uint64_t*>(library.own_block + library.layout.turns);
  for (int pe = 0; pe < library.n; ++pe)
    wait_for([&] { return own(reached[pe]).load(std::memory_order_acquire) >= turns || library.net.dead(pe); }, kForEver);
}

// The word that process pe published at `offset` of its slot.
uint64_t said_by(int pe, const View& view, size_t offset) {
  const uint64_t said = library.net.load(pe, library.layout.slot(view.id) + offset);
  library.net.clear();
  return said;
}

}  // namespace

void meet_the_living() { turn(); }

std::pair<int, uint64_t> recover(View& view) {
  if (view.held || view.reads) refuse(VDCX_ERR_STATE, "view %d is held by this process: release it before it is recovered", view.id);
  if (view.pending) {
    // Requests are void, but data that have come are here, and those that can be copied from the dead come.
    if (library.net.dead(view.request.other)) continue_prefetches();
    if (ReleaseNotice{own(library.slot(view.id).notice).load(std::memory_order_acquire)}.notice() == Notice::brought) took_delivery(view);
    abandon_copy(view);
    patch_twins(view);
    std::erase(library.prefetches, &view);
    view.pending = view.ahead = false;
  }
  publish_image();
  Slot& slot = library.slot(view.id);
  for (;;) {
    // 1: what everybody has. Version and whether it is whole, in one word.
    const uint64_t whole = own(slot.whole).load(std::memory_order_acquire) || own(slot.version).load(std::memory_order_relaxed) == 0;
    own(slot.recover).store(own(slot.version).load(std::memory_order_relaxed) << 1 | whole, std::memory_order_release);
    turn();
    std::vector<int> present = living();
    int owner = -1;
    uint64_t newest = 0;
    for (const int pe : present) {
      const uint64_t said = said_by(pe, view, offsetof(Slot, recover));
      if (said & 1 && (owner < 0 || said >> 1 > newest)) owner = pe, newest = said >> 1;
    }
    turn();
    // 2: what everybody concludes. Whoever saw another set of the living repeats, and so do all.
    uint64_t choice = static_cast<uint64_t>(owner + 1);
    for (const int pe : present) choice = (choice ^ static_cast<uint64_t>(pe + 1)) * 0x100000001b3u;
    own(slot.recover).store(choice, std::memory_order_release);
    turn();
    bool same = living() == present;
    for (const int pe : present) same = same && said_by(pe, view, offsetof(Slot, recover)) == choice;
    turn();
    own(slot.recover).store(same, std::memory_order_release);
    turn();
    for (const int pe : present) same = same && said_by(pe, view, offsetof(Slot, recover)) == 1;
    turn();
    if (!same) continue;
    // 3: the words as they were at the beginning, but for the owner's.
    if (owner < 0) refuse(VDCX_ERR_LOST, "view %d: no living process has a whole copy", view.id);
    view.manager = library.n > 0 && std::find(present.begin(), present.end(), view.id % library.n) != present.end() ? view.id % library.n
                                                                                                                    : present.front();
    view.hint = 0;
    const Word word{own(slot.word).load()};
    own(slot.word).store((word.epoch() + 1) << Word::kEpochAt | static_cast<uint64_t>(library.me == owner ? Kind::owner : Kind::none),
                         std::memory_order_seq_cst);
    own(slot.notice).store(0, std::memory_order_seq_cst);
    own(slot.died).store(0, std::memory_order_seq_cst);
    for (size_t i = 0; i < library.layout.bit_words; ++i) {
      own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(view.id, static_cast<unsigned>(i * 32)))).store(0);
      own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.push_word(view.id, static_cast<unsigned>(i * 32)))).store(0);
    }
    if (library.me == view.manager) own(slot.tail).store(static_cast<uint64_t>(owner + 1), std::memory_order_seq_cst);
    // A copy that was being changed may be newer in part than its version says: all of it is fetched again.
    if (!own(slot.whole).load() && library.me != owner) {
      own(slot.version).store(0, std::memory_order_relaxed);
      own(slot.uniform).store(0, std::memory_order_relaxed);
      if (view.declared) std::fill_n(declared_index(view), view.blocks.size(), 0);
    }
    turn();
    return {owner, newest};
  }
}

}  // namespace portunus::views
