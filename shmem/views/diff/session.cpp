// session.cpp: finding what was written: by faults, twins, or not at all.
#include "shmem/views/diff/session.hpp"

#include <algorithm>

#include "engine/goal/copy.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/pieces.hpp"

namespace portunus::views {
namespace {

// A view this small is compared always: a fault costs more. (Of a page, a fault costs as much as comparing 30.)
constexpr size_t kSmall = 16 * kPage;
constexpr unsigned kLookAgain = 16;  // sessions after which WHOLE is doubted

Vdcx_finding choose(const View& view) {
  if (view.mode == VDCX_OVERWRITE) return VDCX_WHOLE;
  if (view.finding != VDCX_AUTO) return view.finding;
  if (view.changed > 7.0 / 8 && view.sessions % kLookAgain != 0) return VDCX_WHOLE;
  if (view.changed < 0.01 && view.bytes > kSmall) return VDCX_FAULT;
  return VDCX_TWIN;
}

void begin_declared(View& view) {
  view.how = choose(view);
  ++view.sessions;
  if (view.how == VDCX_FAULT) {
    for (const Range& piece : view.pieces) {
      const size_t first = piece.offset / kPage, end = (piece.end() + kPage - 1) / kPage;
      // A page here that another view's session has written to stays open, with a twin.
      for (size_t page = first; page < end;) {
        if (window.twin(page)) {
          ++page;
          continue;
        }
        size_t last = page;
        while (last < end && !window.twin(last)) ++last;
        window.close_pages(page, last);
        page = last;
      }
    }
    return;
  }
  if (view.opened_at != window.closings()) {
    for (const Range& piece : view.pieces) window.open_pages(piece.offset / kPage, (piece.end() + kPage - 1) / kPage);
    view.opened_at = window.closings();
  }
  if (view.how != VDCX_TWIN) return;
  view.twin.resize(view.bytes);
  pack(view, view.twin.data());
}

// Blocks of the view that overlap [offset, offset + bytes) have the version.
void stamp(View& view, uint64_t* versions, uint64_t version, size_t offset, size_t bytes) {
  auto block = std::partition_point(view.blocks.begin(), view.blocks.end(), [&](const Range& b) { return b.end() <= offset; });
  for (; block != view.blocks.end() && block->offset < offset + bytes; ++block) versions[block - view.blocks.begin()] = version;
}

// True: all of them.
bool find_by_twin(View& view, uint64_t* versions, uint64_t version) {
  const char* then = view.twin.data();
  size_t changed = 0;
  for (size_t i = 0; i < view.blocks.size(); ++i) {
    const Range& block = view.blocks[i];
    if (memcmp(library.arena() + block.offset, then, block.bytes) != 0) versions[i] = version, ++changed;
    then += block.bytes;
  }
  view.changed = view.changed * 0.75 + 0.25 * static_cast<double>(changed) / static_cast<double>(view.blocks.size());
  return changed == view.blocks.size();
}

// Stamps the blocks of faulted pages that differ from the twin, which then is as the memory, for sessions that go on or
// follow.
void find_by_fault(View& view, uint64_t* versions, uint64_t version) {
  size_t changed = 0;
  for (size_t i = 0; i < window.twin_count(); ++i) {
    const size_t page = window.twinned()[i], from = page * kPage;
    auto block = std::partition_point(view.blocks.begin(), view.blocks.end(), [&](const Range& b) { return b.end() <= from; });
    for (; block != view.blocks.end() && block->offset < from + kPage; ++block) {
      const size_t begin = std::max(block->offset, from), end = std::min(block->end(), from + kPage);
      char* const then = window.twin(page) + (begin - from);
      if (memcmp(library.arena() + begin, then, end - begin) == 0) continue;
      copy_run(then, library.arena() + begin, end - begin);
      versions[block - view.blocks.begin()] = version;
      ++changed;
    }
  }
  view.changed = view.changed * 0.75 + 0.25 * static_cast<double>(changed) / static_cast<double>(view.blocks.size());
}

void end_declared(View& view, uint64_t version) {
  uint64_t* const versions = declared_index(view);
  bool all = view.how == VDCX_WHOLE;
  if (all) std::fill_n(versions, view.blocks.size(), version);
  if (view.how == VDCX_TWIN) all = find_by_twin(view, versions, version);
  if (all) own(library.slot(view.id).uniform).store(version, std::memory_order_relaxed);
  if (view.how == VDCX_FAULT) find_by_fault(view, versions, version);
  for (const Range& range : view.reported) stamp(view, versions, version, range.offset, range.bytes);
  if (library.check && view.how != VDCX_FAULT)
    for (const Range& piece : view.pieces) {
      // Pages that views still held share stay open.
      for (size_t page = piece.offset / kPage; page * kPage < piece.end(); ++page) {
        bool shared = false;
        for (const View* other : library.writers)
          if (other != &view && (!other->declared || overlap(other->pieces, {{page * kPage, kPage}}))) shared = true;
        if (!shared) window.close_pages(page, page + 1);
      }
    }
}

void for_ranges(const std::vector<uint32_t>& pages, void (Window::*act)(size_t, size_t)) {
  for (size_t i = 0; i < pages.size();) {
    size_t j = i + 1;
    while (j < pages.size() && pages[j] == pages[j - 1] + 1) ++j;
    (window.*act)(pages[i], pages[j - 1] + 1);
    i = j;
  }
}

// Pages written in the last sessions are expected to be written again: opened together, with twins, they cost no faults.
void begin_detected(View& view) {
  window.close_all();  // what declared views left open would be written unseen
  static std::vector<uint32_t> pages;
  pages.clear();
  for (const Predicted& predicted : view.predicted) pages.push_back(predicted.page), window.make_twin(predicted.page);
  library.counters.twins += pages.size();
  for_ranges(pages, &Window::open_pages);
  library.detected = &view;
}

void look_for_overlap(View& view, uint64_t page, const uint64_t map[kMapWords]) {
  for (const auto& other : library.views) {
    if (!other || other.get() == &view) continue;
    if (other->declared) {
      runs_of(map, [&](size_t at, size_t bytes) {
        if (overlap(other->pieces, {{page * kPage + at, bytes}}))
          refuse(VDCX_ERR_OVERLAP, "view %d: byte %zu of the shared pages was written in it, and is declared as view %d's", view.id,
                 page * kPage + at, other->id);
      });
      continue;
    }
    const auto known = other->by_page.find(page);
    if (known == other->by_page.end()) continue;
    const PageEntry& theirs = detected_entries(*other)[known->second];
    for (size_t i = 0; i < kMapWords; ++i)
      if (theirs.map[i] & map[i])
        refuse(VDCX_ERR_OVERLAP, "view %d: byte %zu of the shared pages was written in it, and in view %d before", view.id,
               static_cast<size_t>(page * kPage + i * 64 + static_cast<size_t>(__builtin_ctzll(theirs.map[i] & map[i]))), other->id);
  }
}

// Bytes that others put here at any time were not written by this program.
void leave_out_arrivals(uint64_t page, uint64_t map[kMapWords]) {
  for (const auto* views : {&library.prefetches, &library.written_by_others})
    for (const View* other : *views)
      for (const Range& piece : other->pieces)
        for (size_t at = std::max(piece.offset, page * kPage); at < std::min(piece.end(), (page + 1) * kPage); ++at)
          map[at % kPage / 64] &= ~(uint64_t{1} << at % 64);
}

void end_detected(View& view, uint64_t version) {
  for (const Range& range : view.reported)
    for (size_t page = range.offset / kPage; page * kPage < range.end(); ++page) {
      PageEntry& entry = detected_entry(view, page);
      for (size_t at = std::max(range.offset, page * kPage); at < std::min(range.end(), (page + 1) * kPage); ++at)
        entry.map[at % kPage / 64] |= uint64_t{1} << at % 64;
      entry.version = version;
    }
  std::vector<uint32_t> pages(window.twinned().begin(), window.twinned().begin() + static_cast<ptrdiff_t>(window.twin_count()));
  std::sort(pages.begin(), pages.end());
  // A fault costs more than some comparisons in vain: who writes what is there already, as sums that stay the same, does so again.
  constexpr uint32_t kSessions = 4;
  std::vector<Predicted> predicted;
  predicted.reserve(pages.size());
  auto before = view.predicted.begin();
  for (const uint32_t page : pages) {
    while (before != view.predicted.end() && before->page < page) ++before;
    const bool was_predicted = before != view.predicted.end() && before->page == page;
    uint64_t map[kMapWords] = {};
    bool changed = compare_page(library.arena() + size_t{page} * kPage, window.twin(page), map);
    if (changed) {
      leave_out_arrivals(page, map);
      changed = std::any_of(map, map + kMapWords, [](uint64_t word) { return word != 0; });
    }
    if (!changed) {
      const uint32_t left = was_predicted ? before->sessions_left - 1 : kSessions;
      if (left) predicted.push_back({page, left});
      continue;
    }
    if (library.check) look_for_overlap(view, page, map);
    PageEntry& entry = detected_entry(view, page);
    for (size_t i = 0; i < kMapWords; ++i) entry.map[i] |= map[i];
    entry.version = version;
    predicted.push_back({page, kSessions});
  }
  for_ranges(pages, &Window::close_pages);
  window.drop_twins();
  view.predicted = std::move(predicted);
  library.detected = nullptr;
}

}  // namespace

bool may_write(size_t offset) {
  if (library.me == 0 && !library.image_done) return true;
  for (const View* view : library.writers) {
    if (!view->declared) return true;
    const auto piece = std::partition_point(view->pieces.begin(), view->pieces.end(), [&](const Range& p) { return p.end() <= offset; });
    if (piece != view->pieces.end() && piece->offset <= offset) return true;
  }
  return false;
}

void begin_session(View& view) {
  view.reported.clear();
  library.writers.push_back(&view);
  own(library.slot(view.id).whole).store(0, std::memory_order_relaxed);
  if (view.declared) begin_declared(view);
  else begin_detected(view);
}

void end_session(View& view) {
  Slot& slot = library.slot(view.id);
  const uint64_t version = own(slot.version).load(std::memory_order_relaxed) + 1;
  if (library.writers.back() == &view) library.writers.pop_back();
  else std::erase(library.writers, &view);
  if (view.declared) {
    end_declared(view, version);
    // Page twins serve all sessions by faults, and go with the last.
    if (window.twin_count() &&
        std::none_of(library.writers.begin(), library.writers.end(), [](const View* v) { return v->how == VDCX_FAULT; })) {
      std::vector<uint32_t> pages(window.twinned().begin(), window.twinned().begin() + static_cast<ptrdiff_t>(window.twin_count()));
      std::sort(pages.begin(), pages.end());
      bool others = !library.writers.empty();
      window.drop_twins();
      if (!others) for_ranges(pages, &Window::close_pages);
    }
  } else {
    end_detected(view, version);
  }
  own(slot.version).store(version, std::memory_order_relaxed);
  own(slot.whole).store(1, std::memory_order_release);
}

void hide_unheld(const View& view) {
  if (!library.check || !view.declared || view.stream || view.held || view.reads || (library.me == 0 && !library.image_done)) return;
  for (const Range& piece : view.pieces) window.hide_pages((piece.offset + kPage - 1) / kPage, piece.end() / kPage);
}

void show_held(const View& view) {
  if (!library.check || !view.declared) return;
  for (const Range& piece : view.pieces) window.show_pages(piece.offset / kPage, (piece.end() + kPage - 1) / kPage);
}

void wrote(View& view, size_t offset, size_t bytes) {
  view.reported.push_back({offset, bytes});
  const size_t first = offset / kPage, end = (offset + bytes + kPage - 1) / kPage;
  if (!view.declared || view.how == VDCX_FAULT)
    for (size_t page = first; page < end; ++page)
      if (!window.is_open(page)) window.make_twin(page);
  window.open_pages(first, end);
}

}  // namespace portunus::views
