// far_copy.hpp: copies from and to processes that are not on this node, by gets and puts that go on while the program
// computes.
//
// **Thread:** the one that calls.
#pragma once

#include "shmem/views/arena/window.hpp"
#include "shmem/views/library.hpp"

namespace portunus::views {

Copied copy_from_far(View& view, int q);
bool bring_far(View& view, int p, bool reader);
// Refuses when the two processes mean different things by the view's number; forgets what is older than a destruction.
bool same_view(View& view, int q, const Slot& theirs);
PageEntry& detected_entry(View& view, uint64_t page);

// Takes over the bytes of `fresh` from pages that page(number) finds. False: the copy it was made from has changed
// meanwhile, and nothing was done: a bitmap that is read while it changes could name bytes of others.
template <class PageAt>
bool apply_detected(View& view, int q, const std::vector<PageEntry>& fresh, PageAt&& page_at) {
  if (view.request.at == At::copy_idle) {
    std::atomic_thread_fence(std::memory_order_acquire);
    const Word word{library.net.load(q, library.layout.slot(view.id) + offsetof(Slot, word))};
    if (library.net.failed() || word.epoch() != view.request.epoch) return false;
  }
  for (const PageEntry& entry : fresh) {
    const char* const from = page_at(entry.page);
    runs_of(entry.map, [&](size_t at, size_t bytes) {
      memcpy(library.arena() + entry.page * kPage + at, from + at, bytes);
      window.patch_twins(entry.page * kPage + at, bytes);
      library.counters.copied_bytes += bytes;
    });
    PageEntry& mine = detected_entry(view, entry.page);
    for (size_t i = 0; i < kMapWords; ++i) mine.map[i] |= entry.map[i];
    mine.version = entry.version;
  }
  return true;
}

}  // namespace portunus::views
