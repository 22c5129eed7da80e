// site.cpp: telling and being told.
#include "shmem/views/handover/site.hpp"

namespace portunus::views {

// A process of this node that died behind its release, before it had told or while it was bringing data: those lie there still.
bool Site::has_released(unsigned q) const {
  if (!net().near(static_cast<int>(q), 0)) return false;
  const Word word{net().load(static_cast<int>(q), library.layout.slot(view.id) + offsetof(Slot, word))};
  return word.kind() == Kind::owner && !word.lost();
}

Notice Site::notice(unsigned q) {
  auto word = own(slot().notice);
  // acquire: pairs with the store of who told, behind which lies all that he wrote.
  ReleaseNotice now{word.load(std::memory_order_acquire)};
  if (now.notice() == Notice::not_yet && net().dead(static_cast<int>(q))) {
    now = {word.load(std::memory_order_acquire)};
    if (now.notice() == Notice::not_yet) return has_released(q) ? Notice::yes : Notice::lost;
  }
  if (now.notice() == Notice::brought) took_delivery(view);
  view.release_notice = now;
  return now.notice();
}

void Site::tell(unsigned p, bool push) {
  if (mine().lost()) return tell_lost(p);
  if (push && view.declared && bring(view, static_cast<int>(p), false)) return;
  tell_released(p);
}

void Site::tell_released(unsigned p) {
  const uint64_t version = own(slot().version).load(std::memory_order_relaxed);
  const bool uniform = view.declared && own(slot().uniform).load(std::memory_order_relaxed) == version;
  const ReleaseNotice word = ReleaseNotice::yes(version, uniform, own(slot().generation).load(std::memory_order_relaxed));
  const auto together = net().bundle();
  if (uniform && word.says_version() && !net().near(static_cast<int>(p), 0)) send_released(view, static_cast<int>(p));
  net().store(static_cast<int>(p), library.layout.slot(view.id) + offsetof(Slot, notice), word.bits);
}

void Site::say_what_is_here(unsigned q) {
  const Slot& mine = slot();
  const RequestNotice notice =
      RequestNotice::of(static_cast<uint64_t>(view.id), version_here(view), mine.index_at, mine.meaning, mine.generation);
  net().put_small(static_cast<int>(q), library.layout.request_notice_of(me()), &notice, sizeof notice);
}

void Site::ask(unsigned q) {
  const uint64_t bit = uint64_t{1} << (me() % 32);
  const auto together = net().bundle();
  const bool far = !net().near(static_cast<int>(q), 0);
  if (view.asked_push) {
    if (far) say_what_is_here(q);
    net().tell(static_cast<int>(q), library.layout.push_word(view.id, me()), PTL_BOR, bit);
  }
  if (!far) {
    net().fetch(static_cast<int>(q), library.layout.bit_word(view.id, me()), PTL_BOR, bit);
    return;
  }
  // The look that follows travels behind it.
  net().tell(static_cast<int>(q), library.layout.bit_word(view.id, me()), PTL_BOR, bit);
  view.looked = net().load(static_cast<int>(q), library.layout.slot(view.id) + offsetof(Slot, word));
}

bool Site::take_back(unsigned q) {
  const uint64_t bit = uint64_t{1} << (me() % 32);
  const bool still = net().fetch(static_cast<int>(q), library.layout.bit_word(view.id, me()), PTL_BAND, ~bit) & bit;
  if (still && view.asked_push) net().fetch(static_cast<int>(q), library.layout.push_word(view.id, me()), PTL_BAND, ~bit);
  return still;
}

void Site::take_readers(bool lost) {
  for (unsigned first = 0; first < static_cast<unsigned>(library.n); first += 32) {
    auto word = own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(view.id, first)));
    uint64_t bits = word.load(std::memory_order_seq_cst), asked;
    do {
      asked = bits & 0xffffffffu;
      if (!asked) break;
    } while (!word.compare_exchange_weak(bits, (bits & ~uint64_t{0xffffffffu}) | (lost ? 0 : asked << 32), std::memory_order_seq_cst));
    if (!asked) continue;
    auto pushes = own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.push_word(view.id, first)));
    for (uint64_t left = asked; left; left &= left - 1) {
      const unsigned i = static_cast<unsigned>(__builtin_ctzll(left)), p = first + i;
      const uint64_t bit = uint64_t{1} << i;
      const bool push = pushes.fetch_and(~bit, std::memory_order_seq_cst) & bit;
      if (lost) {
        tell_lost(p);
      } else if (!(push && view.declared && bring(view, static_cast<int>(p), true))) {
        tell_released(p);
      }
    }
  }
}

// A reader that died copies no more.
bool Site::all_served() {
  bool all = true;
  for (unsigned first = 0; first < static_cast<unsigned>(library.n); first += 32) {
    auto word = own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(view.id, first)));
    uint64_t served = word.load(std::memory_order_seq_cst) >> 32;
    if (!served) continue;
    poll_deliveries();
    served = word.load(std::memory_order_seq_cst) >> 32;
    for (; served; served &= served - 1) {
      const unsigned i = static_cast<unsigned>(__builtin_ctzll(served));
      if (net().dead(static_cast<int>(first + i))) word.fetch_and(~(uint64_t{1} << (32 + i)), std::memory_order_seq_cst);
      else all = false;
    }
  }
  return all;
}

}  // namespace portunus::views
