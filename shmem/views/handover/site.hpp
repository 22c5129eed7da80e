// site.hpp: the words of one view as the protocol (protocol.hpp) sees them, in this process's block and in those of others.
//
// Thread: the one that calls.
#pragma once

#include "shmem/views/diff/far_copy.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/library.hpp"

namespace portunus::views {

struct Site {
  using Word = views::Word;
  static constexpr bool kWaitsForReaders = true, kNewEpochs = true, kLooksTwice = true, kOwnerFirst = true, kNobodyBehind = true;

  View& view;

  Net& net() const { return library.net; }
  Slot& slot() const { return library.slot(view.id); }
  unsigned me() const { return static_cast<unsigned>(library.me); }
  bool gone() const { return library.net.failed(); }

  Word mine() const { return {own(slot().word).load(std::memory_order_seq_cst)}; }
  void store_mine(Word word) { own(slot().word).store(word.bits, std::memory_order_seq_cst); }
  // seq_cst: pairs with the atomics of the processes that announce themselves and look.
  bool exchange_mine(Word& expected, Word word) {
    return own(slot().word).compare_exchange_strong(expected.bits, word.bits, std::memory_order_seq_cst);
  }
  Word add_mine(uint64_t change) { return {own(slot().word).fetch_add(change, std::memory_order_seq_cst)}; }

  Word look(unsigned q) {
    Word word;
    if (!net().near(static_cast<int>(q), 0)) {
      if (view.request.at == At::look || view.request.at == At::hint) return look_far(view, static_cast<int>(q));
      if (view.request.at == At::check && last_look(view, static_cast<int>(q), word)) return word;
      if (view.request.at == At::look_again) return {view.looked};
    }
    return {net().load(static_cast<int>(q), library.layout.slot(view.id) + offsetof(Slot, word))};
  }
  Word announce(unsigned q) {
    if (!net().near(static_cast<int>(q), 0)) {
      const auto together = net().bundle();
      if (view.asked_push) say_what_is_here(q);
      return announce_far(view, static_cast<int>(q), Word::announcement(me(), view.asked_push));
    }
    return {net().fetch(static_cast<int>(q), library.layout.slot(view.id) + offsetof(Slot, word), PTL_BOR,
                        Word::announcement(me(), view.asked_push))};
  }
  unsigned swap_tail() {
    return static_cast<unsigned>(net().fetch(view.manager, library.layout.slot(view.id) + offsetof(Slot, tail), PTL_SWAP, me() + 1));
  }
  unsigned tail() { return static_cast<unsigned>(net().load(view.manager, library.layout.slot(view.id) + offsetof(Slot, tail))); }

  uint16_t manager() const { return static_cast<uint16_t>(view.manager); }

  unsigned hint() const { return view.hint; }
  void wrong_hint() {
    view.hint = 0;
    net().clear();
  }
  void expect() {
    view.release_notice = {};
    own(slot().notice).store(0, std::memory_order_seq_cst);
  }
  Notice notice(unsigned q);
  bool has_released(unsigned q) const;
  void tell(unsigned p, bool push);
  void tell_released(unsigned p);
  void tell_lost(unsigned p) {
    net().store(static_cast<int>(p), library.layout.slot(view.id) + offsetof(Slot, notice), static_cast<uint64_t>(Notice::lost));
  }
  void say_what_is_here(unsigned q);
  void ask(unsigned q);
  bool take_back(unsigned q);
  // A reader that asked and is not told yet, or is being served.
  bool any_reader() const {
    for (unsigned first = 0; first < static_cast<unsigned>(library.n); first += 32)
      // seq_cst: the bit is looked at after the owner's word was changed.
      if (own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(view.id, first))).load(std::memory_order_seq_cst))
        return true;
    return false;
  }
  void tell_readers() {
    if (any_reader()) take_readers(false);
  }
  void take_readers(bool lost);
  bool served() { return !any_reader() || all_served(); }
  bool all_served();
  // Nobody waits for the answer: a later bit of this process at the same word comes behind it.
  void thank(unsigned q) {
    net().tell(static_cast<int>(q), library.layout.bit_word(view.id, me()), PTL_BAND, ~(uint64_t{1} << (32 + me() % 32)));
    net().ring(static_cast<int>(q));
    net().clear();
  }
  Copied copy(unsigned q) {
    view.hint = q + 1;
    return copy_from(view, static_cast<int>(q));
  }
};

}  // namespace portunus::views
