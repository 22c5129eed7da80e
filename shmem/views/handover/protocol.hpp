// protocol.hpp: how a view passes from process to process. The very code that the library runs is walked through all
// interleavings by the tests; the words, bits and copies it works on are given by a Site.
//
//   write   the owner, asked by nobody: goes again, unasked. Else: waits; swaps itself into the manager's tail; announces
//   itself to the
//           process before. That was owner: copies from it. It waits or writes: is told when it has released, then copies.
//   release held -> owner, which tells at once who is behind; tell him; then tell the readers whose bits are set.
//   read    the owner, asked by nobody, and the holder: nothing to do. Else: looks at a process that was last before: if it owns and is
//           asked by nobody, it still is; if it waits or writes, so much the better. Else looks at the last in the queue. Owner: copies,
//   looks again;
//           another epoch: the copy is void. Waits or writes: sets its bit there, looks again; still so: is told when it has
//           released. Else takes the bit back; gone already: is told.
//   Before a copy changes, all readers who were told to copy from it have done so.
//
// A step does what can be done at once and says where the request is then; the same place again: it waits, for a word of its
// own process alone, so the request may be left there (a time limit) and gone on with later.
//
// Site: void store_mine(Word), bool exchange_mine(Word& expected, Word), Word add_mine(Int), Word mine(), all of the own
// word;
//   Word look(q); Word announce(q): sets `next`; unsigned swap_tail(), unsigned tail(): process + 1 or 0, of uint16_t manager();
//   unsigned hint(): a process that may be the last in the queue, and 1, or 0; void wrong_hint(): it was not;
//   void expect(): no word from others yet; Notice notice(): has there been one; void tell(q, push);
//   void ask(q), bool take_back(q): the own bit at q; void tell_readers(): moves the bits to those served, tells them; bool any_reader():
//   is there one; bool served(): nobody is being served; void thank(q): the own copy from q is made; Copied copy(q); void
//   done_with_tail_of_none(): nobody has written yet.
//
// Thread: one at a time for each view and process. Invariants: one request per view and process at a time.
#pragma once

#include <cstdint>

#include "shmem/views/handover/release_notice.hpp"
#include "shmem/views/handover/word.hpp"

namespace portunus::views {

enum class At : uint8_t {
  write,
  queue,
  serve,
  served,
  swap,
  announce,
  await_write_notice,
  copy_write,
  read,
  hint,
  tail,
  look,
  copy_idle,
  check,
  ask,
  look_again,
  take_back,
  await_read_notice,
  copy_after_notice,
  held,
  reading,
  lost
};
enum class Copied : uint8_t { not_yet, yes, lost };

// The progress of a request.
struct Request {
  At at = At::write;
  uint16_t other = 0;  // the process it has to do with there
  uint64_t epoch = 0;  // of that one's copy, at copy_idle and check

  bool ended() const { return at == At::held || at == At::reading || at == At::lost; }
  bool operator==(const Request&) const = default;
};

// The first step of a write: an owner that nobody has asked goes again, and ends there if it has no reader to tell; At::queue: nothing was
// done, and others have to be asked. Inlined: an owner that writes again and again does nothing else.
template <class Site>
[[gnu::always_inline]] inline Request go_again(Site& site, Request r) {
  if (Site::kWaitsForReaders && !site.served()) return r;
  auto word = site.mine();
  while (word.may_go_again())
    if (site.exchange_mine(word, word.again(Site::kNewEpochs))) return {site.any_reader() ? At::serve : At::held, r.other, 0};
  return {At::queue, r.other, 0};
}

template <class Site>
Request step(Site& site, Request r) {
  using W = typename Site::Word;
  const auto here = [&](At at) { return Request{at, r.other, 0}; };
  const auto has_read = [&] {
    site.add_mine(W::has_read());
    return Request{At::reading, r.other, 0};
  };
  switch (r.at) {
    case At::write:
      r = go_again(site, r);
      if (r.at != At::queue) return r;
      [[fallthrough]];
    case At::queue: {
      const W word = site.mine();
      if (word.lost()) return here(At::lost);
      site.expect();
      site.store_mine(word.waiting());
      return here(At::swap);
    }
    case At::serve: site.tell_readers(); return here(At::served);
    case At::served: return site.served() ? here(At::held) : r;
    case At::swap:
      if (const unsigned before = site.swap_tail()) return {At::announce, static_cast<uint16_t>(before - 1), 0};
      if (site.gone()) return {At::lost, site.manager(), 0};
      site.add_mine(W::granted());
      return here(At::held);
    case At::announce: {
      const W word = site.announce(r.other);
      if (site.gone() || word.lost()) return here(At::lost);
      return here(word.kind() == Kind::owner ? At::copy_write : At::await_write_notice);
    }
    case At::await_write_notice:
      switch (site.notice(r.other)) {
        case Notice::not_yet: return r;
        case Notice::lost: return here(At::lost);
        case Notice::yes: return here(At::copy_write);
        case Notice::brought: break;
      }
      site.add_mine(W::granted());
      return here(At::held);
    case At::copy_write:
      switch (site.copy(r.other)) {
        case Copied::not_yet: return r;
        case Copied::lost: return here(At::lost);
        case Copied::yes: break;
      }
      site.add_mine(W::granted());
      return here(At::held);
    case At::read: {
      const W word = site.mine();
      if (word.lost()) return here(At::lost);
      // Nothing changes then, so those who are being served need not be waited for.
      if (word.may_go_again() || word.kind() == Kind::held) return here(At::reading);
      if (Site::kWaitsForReaders && !site.served()) return r;
      site.add_mine(W::reads());
      if (const unsigned guess = site.hint(); guess && guess != site.me() + 1) return {At::hint, static_cast<uint16_t>(guess - 1), 0};
      return here(At::tail);
    }
    case At::hint: {
      // An owner with nobody behind has the newest version. Versions released by those behind one who waits or writes are not older than
      // this read.
      const W word = site.look(r.other);
      if (!site.gone() && !word.lost()) {
        if (word.busy()) return here(At::ask);
        if ((Site::kNobodyBehind ? word.may_go_again() : word.kind() == Kind::owner) && !word.changing())
          return {At::copy_idle, r.other, word.epoch()};
      }
      site.wrong_hint();
      return here(At::tail);
    }
    case At::tail: {
      const unsigned last = site.tail();
      if (site.gone()) return {At::lost, site.manager(), 0};
      if (last == 0 || last == site.me() + 1) return has_read();
      return {At::look, static_cast<uint16_t>(last - 1), 0};
    }
    case At::look: {
      const W word = site.look(r.other);
      if (site.gone() || word.lost()) return here(At::lost);
      if (word.busy()) return here(At::ask);
      if (word.changing() || word.kind() == Kind::none) return here(At::tail);
      return {At::copy_idle, r.other, word.epoch()};
    }
    case At::copy_idle:
      switch (site.copy(r.other)) {
        case Copied::not_yet: return r;
        case Copied::lost: return here(At::lost);
        case Copied::yes: break;
      }
      return {At::check, r.other, r.epoch};
    case At::check: {
      const W word = site.look(r.other);
      if (site.gone()) return here(At::lost);
      return word.epoch() == r.epoch ? has_read() : here(At::tail);
    }
    case At::ask:
      site.expect();
      site.ask(r.other);
      if (site.gone()) return here(At::lost);
      return here(Site::kLooksTwice ? At::look_again : At::await_read_notice);
    case At::look_again: {
      const W word = site.look(r.other);
      if (site.gone() || word.lost()) return here(At::lost);
      return here(word.busy() ? At::await_read_notice : At::take_back);
    }
    case At::take_back: {
      const bool mine = site.take_back(r.other);
      if (site.gone()) return here(At::lost);
      return here(mine ? At::tail : At::await_read_notice);
    }
    case At::await_read_notice:
      switch (site.notice(r.other)) {
        case Notice::not_yet: return r;
        case Notice::lost: return here(At::lost);
        case Notice::yes: return here(At::copy_after_notice);
        case Notice::brought: break;
      }
      return has_read();
    case At::copy_after_notice:
      switch (site.copy(r.other)) {
        case Copied::not_yet: return r;
        case Copied::lost: return here(At::lost);
        case Copied::yes: break;
      }
      site.thank(r.other);
      return has_read();
    case At::held:
    case At::reading:
    case At::lost: break;
  }
  return r;
}

// After the last write of a session; the copy's version has been counted up. The readers' bits come after the owner, or a
// reader who sets his bit in between is forgotten.
template <class Site>
void release(Site& site) {
  using W = typename Site::Word;
  if (!Site::kOwnerFirst) site.tell_readers();
  const W word = site.add_mine(W::released());
  if (word.has_next()) site.tell(word.next(), word.push());
  if (Site::kOwnerFirst) site.tell_readers();
}

}  // namespace portunus::views
