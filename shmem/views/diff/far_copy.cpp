// far_copy.cpp: words, slot, index and data of a process on another node, got together as far as it is known where they lie, and likely
// that they are new.
//
// Data come into room of their own and are taken over when all are there: the version that this process has stays whole, and can be
// recovered, if the other dies in between. Where all of a long view comes, from one who keeps it until it is here, it is the other way
// round: what is here is saved, as far as possible while this process waits to be told, and put back if the other dies.
#include "shmem/views/diff/far_copy.hpp"

#include <algorithm>
#include <utility>

#include "engine/goal/copy.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/pieces.hpp"

namespace portunus::views {
namespace {

constexpr size_t kAtOnce = 64 * 1024;    // so much is got before it is known whether it is new
constexpr uint8_t kMostInVain = 2;       // copies to write that brought nothing new, after which it is not
constexpr size_t kMostKept = 16u << 20;  // room for arriving data is kept for the next copy up to here

size_t word_of(const View& view) { return library.layout.slot(view.id) + offsetof(Slot, word); }
size_t entry_bytes(const View& view) { return view.declared ? sizeof(uint64_t) : sizeof(PageEntry); }

void ask_for_index(View& view, FarCopy& far, int q, size_t at, size_t length) {
  if (view.declared) {
    far.versions.resize(length);
    library.net.get(far.batch, q, at, far.versions.data(), length * sizeof(uint64_t));
  } else {
    far.entries.resize(length);
    if (length) library.net.get(far.batch, q, at, far.entries.data(), length * sizeof(PageEntry));
  }
  far.index_at = at, far.index_length = length;
}

// In ascending order. What lies near becomes one, with what lies between: a message costs more than the bytes of a page.
void add(std::vector<Fetched>& all, size_t offset, size_t bytes) {
  if (!all.empty() && offset - all.back().end() <= kPage) all.back().bytes = offset + bytes - all.back().offset;
  else all.push_back({offset, bytes, all.empty() ? 0 : all.back().at + all.back().bytes});
}
size_t bytes_of(const std::vector<Fetched>& all) { return all.empty() ? 0 : all.back().at + all.back().bytes; }

// The place at which byte `offset` of the arena was staged, with `bytes` behind it; nullptr: it was not.
const char* staged(const std::vector<Fetched>& all, const char* bytes_there, size_t offset, size_t bytes) {
  const auto found = std::partition_point(all.begin(), all.end(), [&](const Fetched& f) { return f.end() <= offset; });
  if (found == all.end() || found->offset > offset || offset + bytes > found->end()) return nullptr;
  return bytes_there + found->at + (offset - found->offset);
}

// Data that nobody changes until this process has them: those behind which it is the next in the queue, or which are kept for it.
bool is_kept(const View& view) { return view.request.at == At::copy_write || view.request.at == At::copy_after_notice; }

// The bytes that the last copy of a detected view consisted of are asked for before they are known to be new: a little always, much if it
// was the same the last times.
void add_expected(const View& view, FarCopy& far, bool in_any_order) {
  if (view.mode == VDCX_OVERWRITE || view.declared) return;
  if (view.far_expected.bytes > (in_any_order && view.far_expected.repeats ? kMostKept : kAtOnce)) return;
  for (const Range& span : view.far_expected.ranges) add(far.fetched, span.offset, span.bytes);
}

// `fetched`, in messages that Portals keeps in order, or in long ones.
void ask_for_fetched(FarCopy& far, int q, bool in_any_order) {
  char* const room = far.staged.of(bytes_of(far.fetched));
  for (const Fetched& f : far.fetched) {
    const size_t part = in_any_order ? f.bytes : library.net.ordered();
    for (size_t done = 0; done < f.bytes; done += part)
      library.net.get(far.batch, q, library.layout.arena + f.offset + done, room + f.at + done, std::min(part, f.bytes - done));
  }
}

// A process that writes what it has read before, as those do that write in turns, has it all: what that program did last it will do again.
// (Who reads asks for news, and wants them soon when there are any.)
bool expects_news(const View& view) { return view.mode == VDCX_READ || view.far.in_vain < kMostInVain; }

// All blocks are of the same version: the index says no more.
bool is_uniform(const View& view, const Slot& slot) { return view.declared && slot.uniform == slot.version; }

// The bytes between its pieces may be others', so each is got by itself.
bool may_arrive_in_place(const View& view) {
  constexpr size_t kMostPieces = 16;
  return view.declared && view.mode != VDCX_OVERWRITE && view.bytes > kAtOnce && view.bytes <= kMostKept &&
         view.pieces.size() <= kMostPieces;
}

void save(View& view, FarCopy& far) {
  pack(view, far.staged_too.of(view.bytes));
  far.saved = true;
}

// All of the view is new, and nothing of it has come.
void ask_for_all_in_place(View& view, FarCopy& far, int q) {
  if (!far.saved) save(view, far);
  far.in_place = true;
  far.was_whole = own(library.slot(view.id).whole).exchange(0, std::memory_order_acq_rel);
  for (const Range& piece : view.pieces)
    library.net.get(far.batch, q, library.layout.arena + piece.offset, library.arena() + piece.offset, piece.bytes);
}

// It was in vain.
void put_back(View& view, FarCopy& far) {
  if (!far.in_place) return;
  while (!far.batch.nothing_pending()) PtlxProgress();  // nothing arrives any more then
  unpack(view, far.staged_too.data());
  own(library.slot(view.id).whole).store(far.was_whole, std::memory_order_release);
  far.saved = false;
}

// The process that has released has said what there is to be copied: nothing, or all of a version. True: the slot need not be asked for.
bool start_by_notice(View& view, FarCopy& far, int q) {
  const ReleaseNotice notice = std::exchange(view.release_notice, {});
  Slot& mine = library.slot(view.id);
  const auto known = view.far_index.find(q);
  if (!notice.says_version() || notice.generation() != own(mine.generation).load(std::memory_order_relaxed)) return false;
  const bool is_news = notice.version() > version_here(view);
  if (is_news && !(view.declared && notice.uniform())) return false;
  far.index_length = 0;
  far.fetched.clear(), far.requested.clear();
  far.slot = {};
  const bool came = is_news && view.mode != VDCX_OVERWRITE && take_released(view, q, notice, far);
  if (!came && known == view.far_index.end()) return false;
  far.from = q;
  far.looks = false, far.late = false;
  far.slot.version = notice.version();
  far.slot.uniform = notice.uniform() ? notice.version() : 0;
  if (!came) far.slot.index_at = known->second.first, far.slot.index_length = known->second.second;
  far.slot.meaning = view.meaning;
  far.slot.generation = notice.generation();
  library.net.open(far.batch);
  far.step = FarCopy::Step::first;
  return true;
}

// Asks for the slot, and for index and data where the last copy found them, if they are likely to be new. In order, so that the looks
// enclose all.
void start(View& view, FarCopy& far, int q, bool looks) {
  far.from = q;
  far.index_length = 0;
  far.fetched.clear(), far.requested.clear();
  far.looks = looks, far.late = false, far.unused = true;
  const auto together = library.net.bundle();
  library.net.open(far.batch);
  if (looks) library.net.fetch(far.batch, q, word_of(view), PTL_BOR, 0, &far.words[0]);
  library.net.get(far.batch, q, library.layout.slot(view.id), &far.slot, sizeof far.slot);
  const auto known = view.far_index.find(q);
  const bool kept = is_kept(view);
  // All of a declared view lies in the same place everywhere; of what version its blocks are the slot says, mostly.
  const auto expect_all = [&] {
    if (view.mode != VDCX_OVERWRITE && view.declared && view.bytes <= kAtOnce)
      for (const Range& piece : view.pieces) add(far.fetched, piece.offset, piece.bytes);
  };
  if (known != view.far_index.end() && (kept || known->second.second * entry_bytes(view) <= library.net.ordered()) && expects_news(view)) {
    ask_for_index(view, far, q, known->second.first, known->second.second);
    add_expected(view, far, kept);
    expect_all();
    ask_for_fetched(far, q, kept);
  } else if (known == view.far_index.end() && expects_news(view)) {
    expect_all();
    ask_for_fetched(far, q, kept);
  }
  if (looks) library.net.fetch(far.batch, q, word_of(view), PTL_BOR, 0, &far.words[1]);
  far.step = FarCopy::Step::first;
}

void end(FarCopy& far) {
  far.batch.close();
  far.step = FarCopy::Step::none;
  far.unused = far.in_place = false;
}

// From the first byte of the page that was written to the last.
Range span_of(const PageEntry& entry) {
  size_t first = 0, behind = kMapWords;
  while (first < kMapWords && entry.map[first] == 0) ++first;
  if (first == kMapWords) return {0, 0};
  while (entry.map[behind - 1] == 0) --behind;
  const size_t begin = 64 * first + static_cast<size_t>(std::countr_zero(entry.map[first]));
  return {begin, 64 * behind - static_cast<size_t>(std::countl_zero(entry.map[behind - 1])) - begin};
}

// Asks for what is new and has not come yet; true if there is any.
bool ask_for_rest(View& view, FarCopy& far, int q) {
  const uint64_t have = version_here(view);
  if (view.declared) {
    if (view.mode == VDCX_OVERWRITE) return false;
    if (far.fetched.empty() && is_uniform(view, far.slot) && is_kept(view) && may_arrive_in_place(view)) {
      ask_for_all_in_place(view, far, q);
      return true;
    }
    for (size_t i = 0; i < view.blocks.size(); ++i)
      if (far.versions[i] > have && !staged(far.fetched, far.staged.data(), view.blocks[i].offset, view.blocks[i].bytes))
        add(far.requested, view.blocks[i].offset, view.blocks[i].bytes);
  } else {
    const size_t pages = library.layout.arena_bytes / kPage;
    std::erase_if(far.entries, [&](const PageEntry& entry) { return entry.version <= have || entry.page >= pages; });
    std::sort(far.entries.begin(), far.entries.end(), [](const PageEntry& a, const PageEntry& b) { return a.page < b.page; });
    std::vector<Range> copied;
    for (const PageEntry& entry : far.entries) {
      const Range span = span_of(entry);
      const size_t offset = entry.page * kPage + span.offset;
      if (!staged(far.fetched, far.staged.data(), offset, span.bytes)) add(far.requested, offset, span.bytes);
      copied.push_back({offset, span.bytes});
    }
    view.far_expected.learn(std::move(copied));
  }
  const auto together = library.net.bundle();
  far.saved = false;
  char* const room = far.staged_too.of(bytes_of(far.requested));
  for (const Fetched& w : far.requested) library.net.get(far.batch, q, library.layout.arena + w.offset, room + w.at, w.bytes);
  return !far.requested.empty();
}

// False: the copy it was made from has changed meanwhile, or cannot be asked any more, and nothing was done. (A bitmap that is read while
// it changes could name bytes of others; data of two versions are none.)
bool apply(View& view, FarCopy& far, int q) {
  Slot& mine = library.slot(view.id);
  const uint64_t have = version_here(view);
  if (view.request.at == At::copy_idle) {
    if (Word word; !last_look(view, q, word)) {
      far.words[1] = library.net.load(q, word_of(view));
      far.looks = true, far.late = false;  // At::check need not look again
    }
    if (library.net.failed() || Word{far.words[1]}.epoch() != view.request.epoch) return false;
  }
  if (far.in_place) {
    far.saved = false;
    std::fill_n(declared_index(view), view.blocks.size(), far.slot.version);
    patch_twins(view);
    library.counters.copied_bytes += view.bytes;
  } else if (view.declared) {
    uint64_t* const versions = declared_index(view);
    // Blocks that lie one behind the other, there and here, are copied at once.
    const char* from = nullptr;
    Range run{0, 0};
    const auto copy_all = [&] {
      copy_run(library.arena() + run.offset, from, run.bytes);
      window.patch_twins(run.offset, run.bytes);
      library.counters.copied_bytes += run.bytes;
    };
    for (size_t i = 0; i < view.blocks.size(); ++i) {
      if (far.versions[i] <= have) continue;
      versions[i] = far.versions[i];
      const Range& block = view.blocks[i];
      const char* at = staged(far.fetched, far.staged.data(), block.offset, block.bytes);
      if (!at) at = staged(far.requested, far.staged_too.data(), block.offset, block.bytes);
      if (!at) continue;
      if (run.bytes && block.offset == run.end() && at == from + run.bytes) {
        run.bytes += block.bytes;
        continue;
      }
      if (run.bytes) copy_all();
      run = block, from = at;
    }
    if (run.bytes) copy_all();
    if (bytes_of(far.requested) > kMostKept) far.staged_too.free();
  } else {
    apply_detected(view, far.entries, [&](size_t number) {
      const auto entry = std::partition_point(far.entries.begin(), far.entries.end(), [&](const PageEntry& e) { return e.page < number; });
      const Range span = span_of(*entry);
      const size_t offset = number * kPage + span.offset;
      const char* from = staged(far.fetched, far.staged.data(), offset, span.bytes);
      if (!from) from = staged(far.requested, far.staged_too.data(), offset, span.bytes);
      return from - span.offset;  // only bytes of the span count, and as few around as a room has
    });
  }
  own(mine.version).store(far.slot.version, std::memory_order_relaxed);
  if (is_uniform(view, far.slot)) own(mine.uniform).store(far.slot.version, std::memory_order_relaxed);
  own(mine.whole).store(is_whole_then(view), std::memory_order_release);
  return true;
}

// Whether the index may be read there: the slot is not being changed.
bool sound(const View& view, const Slot& slot) {
  const size_t most = library.layout.pool_bytes / entry_bytes(view);
  return slot.index_at >= library.layout.pool && slot.index_length <= most &&
         slot.index_at + slot.index_length * entry_bytes(view) <= library.layout.pool + library.layout.pool_bytes &&
         (!view.declared || slot.index_length == view.blocks.size());
}

}  // namespace

void abandon_copy(View& view) {
  if (view.far.step == FarCopy::Step::none) return;
  while (view.far.batch.state() == Operations::State::pending) PtlxProgress();
  put_back(view, view.far);
  end(view.far);
}

void save_while_waiting(View& view) {
  if (view.far.lately_in_place && !view.far.saved && may_arrive_in_place(view)) save(view, view.far);
}

Word look_far(View& view, int q) {
  abandon_copy(view);
  start(view, view.far, q, true);
  if (!library.net.answered(view.far.batch, q)) {
    end(view.far);
    return {};
  }
  const Word word{view.far.words[0]};
  view.far.unused = word.kind() == Kind::owner;
  return word;
}

Word announce_far(View& view, int q, uint64_t announcement) {
  abandon_copy(view);
  {
    const auto together = library.net.bundle();
    library.net.begin_fetch(q, word_of(view), PTL_BOR, announcement);
    start(view, view.far, q, false);
  }
  const Word word{library.net.end_fetch(q)};
  if (word.kind() != Kind::owner) view.far.unused = false;  // it came too early
  return word;
}

bool last_look(View& view, int q, Word& word) {
  FarCopy& far = view.far;
  if (far.from != q || !far.looks || far.late) return false;
  word = {far.words[1]};
  return true;
}

Copied copy_from_far(View& view, int q) {
  FarCopy& far = view.far;
  if (far.step != FarCopy::Step::none && (far.from != q || !far.unused)) abandon_copy(view);
  if (far.step == FarCopy::Step::none && !start_by_notice(view, far, q)) {
    start(view, far, q, false);
    ++library.counters.rounds;
  }
  far.unused = true;
  struct Ended {
    FarCopy& far;
    bool on = true;
    ~Ended() {
      if (on) end(far);
    }
  } ended{far};
  for (;;) {
    const Operations::State now = far.batch.state();
    if (now == Operations::State::pending && !library.net.dead(q)) {
      ended.on = false;
      return Copied::not_yet;
    }
    if (now != Operations::State::complete) {
      library.net.declare_dead(q);
      if (far.in_place) {
        put_back(view, far);
        return Copied::lost;
      }
      ended.on = now != Operations::State::pending;  // what still comes goes where it was to go
      return Copied::lost;
    }
    if (far.step == FarCopy::Step::first) {
      same_view(view, q, far.slot);
      if (far.slot.version <= version_here(view)) {
        if (view.mode != VDCX_READ && far.in_vain < kMostInVain) ++far.in_vain;
        return Copied::yes;
      }
      if (!sound(view, far.slot)) return Copied::yes;  // At::check finds another epoch
      if (view.mode != VDCX_READ) far.in_vain = 0;
      view.far_index[q] = {far.slot.index_at, far.slot.index_length};
      far.step = FarCopy::Step::index;
      if (is_uniform(view, far.slot)) {
        far.versions.assign(view.blocks.size(), far.slot.version);
      } else if (far.index_length != far.slot.index_length || far.index_at != far.slot.index_at) {
        ask_for_index(view, far, q, far.slot.index_at, far.slot.index_length);
        ++library.counters.rounds;
        // The look or the announcement has been answered, so the order counts no more.
        if (far.fetched.empty()) {
          add_expected(view, far, true);
          ask_for_fetched(far, q, true);
        }
        far.late = true;
      }
    } else if (far.step == FarCopy::Step::index) {
      far.step = FarCopy::Step::data;
      if (ask_for_rest(view, far, q)) {
        far.late = true;
        ++library.counters.rounds;
      }
    } else {
      far.lately_in_place = far.in_place;
      apply(view, far, q);
      return Copied::yes;
    }
  }
}

}  // namespace portunus::views
