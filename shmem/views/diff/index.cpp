// index.cpp: the pool in which indexes lie, and copies on the node.
#include "shmem/views/diff/index.hpp"

#include <bit>
#include <map>

#include "engine/goal/copy.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/diff/far_copy.hpp"
#include "shmem/views/diff/pieces.hpp"

namespace portunus::views {
namespace {

// Ranges of the pool in powers of two; freed ones are used again.
struct Pool {
  size_t next = 0;
  std::map<size_t, std::vector<size_t>> free;

  size_t take(size_t bytes) {
    const size_t size = std::bit_ceil(std::max<size_t>(bytes, 64));
    auto& some = free[size];
    if (!some.empty()) {
      const size_t at = some.back();
      some.pop_back();
      return at;
    }
    if (next + size > library.layout.pool_bytes)
      refuse(VDCX_ERR_NO_SPACE, "the index of what views consist of is full (%zu bytes); set VDC_PAGES to more, or declare views",
             library.layout.pool_bytes);
    const size_t at = library.layout.pool + next;
    next += size;
    return at;
  }
  void give(size_t at, size_t bytes) { free[std::bit_ceil(std::max<size_t>(bytes, 64))].push_back(at); }
};
Pool pool;

void place(size_t offset, const char* from, size_t bytes) {
  copy_run(library.arena() + offset, from, bytes);
  window.patch_twins(offset, bytes);
  library.counters.copied_bytes += bytes;
}

// An owner who may go on unasked can write while he is copied from, and die then: such data come into room of their own, and are taken over
// if his word is still what it was. So the version that is here stays whole until there is another one.
struct Staged {
  Room room;
  std::vector<std::pair<size_t, uint64_t>> blocks;  // and their versions
  std::vector<Range> ranges;
  bool is_needed(const View& view) const { return view.request.at == At::copy_idle; }
} staged;

// Loads before this come before the look at the word.
bool is_of_one_version(const View& view, int q) {
  std::atomic_thread_fence(std::memory_order_acquire);
  const Word word{library.net.load(q, library.layout.slot(view.id) + offsetof(Slot, word))};
  return word.epoch() == view.request.epoch;
}

// False: it is void, and nothing was done; At::check finds that out, too.
bool copy_declared(View& view, int q, const Slot& theirs, uint64_t have) {
  uint64_t* const mine = declared_index(view);
  auto* const versions = reinterpret_cast<uint64_t*>(library.net.near(q, theirs.index_at));
  const char* arena = library.net.near(q, library.layout.arena);
  staged.blocks.clear(), staged.ranges.clear();
  for (size_t i = 0; i < view.blocks.size(); ++i) {
    // Atomic: an owner that goes again changes them; then the epoch is another, and all of this is void.
    const uint64_t version = own(versions[i]).load(std::memory_order_relaxed);
    if (version <= have) continue;
    staged.blocks.emplace_back(i, version);
    const Range& block = view.blocks[i];
    if (!staged.ranges.empty() && staged.ranges.back().end() == block.offset) staged.ranges.back().bytes += block.bytes;
    else staged.ranges.push_back(block);
  }
  if (view.mode == VDCX_OVERWRITE) staged.ranges.clear();
  if (staged.is_needed(view)) {
    size_t all = 0;
    for (const Range& range : staged.ranges) all += range.bytes;
    char* to = staged.room.of(all);
    for (const Range& range : staged.ranges) copy_run(to, arena + range.offset, range.bytes), to += range.bytes;
    if (!is_of_one_version(view, q)) return false;
  }
  size_t at = 0;
  for (const Range& range : staged.ranges) {
    place(range.offset, staged.is_needed(view) ? staged.room.data() + at : arena + range.offset, range.bytes);
    at += range.bytes;
  }
  for (const auto& [block, version] : staged.blocks) mine[block] = version;
  return true;
}

bool copy_detected(View& view, int q, const Slot& theirs, uint64_t have) {
  const size_t pool_end = library.layout.pool + library.layout.pool_bytes;
  static std::vector<PageEntry> fresh;  // kept: hundreds of bytes for each page, which would be new memory each time
  fresh.clear();
  const bool sound = theirs.index_at >= library.layout.pool && theirs.index_length <= library.layout.pool_bytes / sizeof(PageEntry) &&
                     theirs.index_at + theirs.index_length * sizeof(PageEntry) <= pool_end;
  const size_t pages = library.layout.arena_bytes / kPage;
  for (size_t i = 0; sound && i < theirs.index_length; ++i) {
    const auto& entry = *reinterpret_cast<PageEntry*>(library.net.near(q, theirs.index_at + i * sizeof(PageEntry)));
    if (entry.version > have && entry.page < pages) fresh.push_back(entry);
  }
  const auto there = [&](size_t page) { return library.net.near(q, library.layout.arena + page * kPage); };
  if (!staged.is_needed(view)) {
    std::atomic_thread_fence(std::memory_order_acquire);
    apply_detected(view, fresh, there);
    return true;
  }
  char* const room = staged.room.of(fresh.size() * kPage);
  for (size_t i = 0; i < fresh.size(); ++i) memcpy(room + i * kPage, there(fresh[i].page), kPage);
  if (!is_of_one_version(view, q)) return false;
  size_t next = 0;
  apply_detected(view, fresh, [&](size_t) { return room + next++ * kPage; });
  return true;
}

}  // namespace

void pool_open() { pool = {}; }

uint64_t* declared_index(View& view) {
  Slot& slot = library.slot(view.id);
  if (view.index_room == 0) {
    const size_t at = pool.take(view.blocks.size() * 8);
    memset(library.own_block + at, 0, view.blocks.size() * 8);
    view.index_room = view.blocks.size();
    own(slot.index_at).store(at, std::memory_order_relaxed);
    own(slot.index_length).store(view.blocks.size(), std::memory_order_relaxed);
    own(slot.meaning).store(view.meaning, std::memory_order_release);
  }
  return reinterpret_cast<uint64_t*>(library.own_block + slot.index_at);
}

PageEntry* detected_entries(View& view) { return reinterpret_cast<PageEntry*>(library.own_block + library.slot(view.id).index_at); }

PageEntry& detected_entry(View& view, uint64_t page) {
  Slot& slot = library.slot(view.id);
  const auto [known, fresh] = view.by_page.try_emplace(page, static_cast<uint32_t>(view.by_page.size()));
  if (fresh && view.by_page.size() > view.index_room) {
    const size_t more = std::max<size_t>(view.index_room * 2, 1);
    const size_t at = pool.take(more * sizeof(PageEntry));
    if (view.index_room) {
      memcpy(library.own_block + at, library.own_block + slot.index_at, view.index_room * sizeof(PageEntry));
      pool.give(slot.index_at, view.index_room * sizeof(PageEntry));
    }
    view.index_room = std::bit_ceil(std::max<size_t>(more * sizeof(PageEntry), 64)) / sizeof(PageEntry);
    own(slot.index_at).store(at, std::memory_order_relaxed);
  }
  PageEntry& entry = detected_entries(view)[known->second];
  if (fresh) {
    entry = {};
    entry.page = page;
    own(slot.index_length).store(view.by_page.size(), std::memory_order_release);
  }
  return entry;
}

void forget_index(View& view) {
  Slot& slot = library.slot(view.id);
  if (view.index_room) pool.give(slot.index_at, view.index_room * (view.declared ? 8 : sizeof(PageEntry)));
  view.index_room = 0;
  view.by_page.clear();
  view.predicted.clear();
  own(slot.index_length).store(0, std::memory_order_relaxed);
  own(slot.index_at).store(0, std::memory_order_relaxed);
  own(slot.meaning).store(0, std::memory_order_relaxed);
  own(slot.version).store(0, std::memory_order_relaxed);
  own(slot.uniform).store(0, std::memory_order_relaxed);
}

bool same_view(View& view, int q, const Slot& theirs) {
  Slot& mine = library.slot(view.id);
  const uint64_t generation = own(mine.generation).load(std::memory_order_relaxed);
  if (theirs.generation < generation)
    refuse(VDCX_ERR_STATE, "view %d: process %d still has it as it was before it was destroyed", view.id, q);
  if (theirs.generation > generation) {
    // It was destroyed and is used anew: what is here belongs to the old one.
    view.far_index.clear();
    if (!view.declared) forget_index(view);
    else std::fill_n(declared_index(view), view.blocks.size(), 0);
    own(mine.version).store(0, std::memory_order_relaxed);
    own(mine.uniform).store(0, std::memory_order_relaxed);
    own(mine.generation).store(theirs.generation, std::memory_order_relaxed);
  }
  if (theirs.version == 0 && theirs.meaning == 0) return true;  // never used there
  if (theirs.meaning == view.meaning) return true;
  view.far_index.erase(q);
  refuse(VDCX_ERR_ARG, "view %d: process %d and process %d declare it differently%s", view.id, library.me, q,
         theirs.meaning == 0 || view.meaning == 0 ? " (one of them does not at all)" : "");
}

Copied copy_from(View& view, int q) {
  const Slot* const theirs_now = library.near_slot(q, view.id);
  if (!theirs_now) return copy_from_far(view, q);
  Slot theirs{};
  const auto read = [](const uint64_t& word) {
    return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
  };
  theirs.version = read(theirs_now->version);
  theirs.uniform = read(theirs_now->uniform);
  theirs.index_at = read(theirs_now->index_at);
  theirs.index_length = read(theirs_now->index_length);
  theirs.meaning = read(theirs_now->meaning);
  theirs.generation = read(theirs_now->generation);
  same_view(view, q, theirs);
  Slot& mine = library.slot(view.id);
  // Somebody died while he brought data to this process: all of it is copied.
  const uint64_t have = version_here(view);
  if (theirs.version <= have) return Copied::yes;
  if (view.declared ? copy_declared(view, q, theirs, have) : copy_detected(view, q, theirs, have)) {
    own(mine.version).store(theirs.version, std::memory_order_relaxed);
    if (theirs.uniform == theirs.version) own(mine.uniform).store(theirs.uniform, std::memory_order_relaxed);
    own(mine.whole).store(is_whole_then(view), std::memory_order_release);
  }
  return Copied::yes;
}

uint64_t version_here(View& view) {
  Slot& mine = library.slot(view.id);
  return own(mine.whole).load(std::memory_order_acquire) ? own(mine.version).load(std::memory_order_relaxed) : 0;
}

bool bring(View& view, int p, bool reader) {
  Slot* const theirs = library.near_slot(p, view.id);
  if (!theirs) return bring_far(view, p, reader);
  const size_t notice = library.layout.slot(view.id) + offsetof(Slot, notice);
  if (own(theirs->meaning).load(std::memory_order_acquire) != view.meaning ||
      own(theirs->generation).load(std::memory_order_relaxed) != library.slot(view.id).generation)
    return false;
  const uint64_t have = own(theirs->whole).load(std::memory_order_acquire) ? own(theirs->version).load(std::memory_order_relaxed) : 0;
  const uint64_t* const mine = declared_index(view);
  auto* const versions = reinterpret_cast<uint64_t*>(library.net.near(p, theirs->index_at));
  char* const arena = library.net.near(p, library.layout.arena);
  // Until took_delivery() the copy there is of no one version. (release: before the data, for whoever recovers.)
  own(theirs->whole).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < view.blocks.size(); ++i) {
    if (mine[i] <= have) continue;
    const Range& block = view.blocks[i];
    copy_run(arena + block.offset, library.arena() + block.offset, block.bytes);
    library.counters.brought_bytes += block.bytes;
    own(versions[i]).store(mine[i], std::memory_order_relaxed);
  }
  own(theirs->version).store(library.slot(view.id).version, std::memory_order_release);
  if (reader) {
    auto served = own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(view.id, static_cast<unsigned>(p))));
    served.fetch_and(~(uint64_t{1} << (32 + p % 32)), std::memory_order_seq_cst);
  }
  library.net.store(p, notice, static_cast<uint64_t>(Notice::brought));
  return true;
}

void took_delivery(View& view) {
  Slot& mine = library.slot(view.id);
  const uint64_t version = own(mine.version).load(std::memory_order_relaxed);
  // Their index does not come along then.
  if (own(mine.uniform).load(std::memory_order_relaxed) == version) std::fill_n(declared_index(view), view.blocks.size(), version);
  own(mine.whole).store(1, std::memory_order_release);
  patch_twins(view);
}

}  // namespace portunus::views
