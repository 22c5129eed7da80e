// far_copy.hpp: copies from and to processes that are not on this node, by gets and puts that go on while the program
// computes.
//
// Thread: the one that calls.
#pragma once

#include "shmem/views/arena/window.hpp"
#include "shmem/views/library.hpp"

namespace portunus::views {

Copied copy_from_far(View& view, int q);
bool bring_far(View& view, int p, bool reader);
// Puts the data of a short declared view, all of whose blocks are of its version, to where process p finds them when it has been told.
void send_released(const View& view, int p);
// The data that came so from q, packed in far.staged and listed in far.fetched; false: there are none of what the notice says.
bool take_released(const View& view, int q, const ReleaseNotice& notice, FarCopy& far);
// Refuses when the two processes mean different things by the view's number; forgets what is older than a destruction.
bool same_view(View& view, int q, const Slot& theirs);
PageEntry& detected_entry(View& view, uint64_t page);

// Looks at the word of process q; what a copy from there needs comes along, as far as it is known where it lies and it is likely to be new.
// The copy that follows uses it, and last_look() is the word as it was after that.
Word look_far(View& view, int q);
// Announces this process at q's word; the same comes along, and is good if q was the idle owner.
Word announce_far(View& view, int q, uint64_t announcement);
// This process waits to be told, and what is here will be written over.
void save_while_waiting(View& view);
// The word as it was after what copy_from_far used; false: it must be looked at.
bool last_look(View& view, int q, Word& word);

// Takes over the bytes of `fresh` from pages that page_at(number) finds.
template <class PageAt>
void apply_detected(View& view, const std::vector<PageEntry>& fresh, PageAt&& page_at) {
  // Bytes between those of this view may be written with what they hold if nobody else can be writing them.
  const bool alone = library.writers.empty() && library.prefetches.empty() && library.written_by_others.empty();
  for (const PageEntry& entry : fresh) {
    const char* const from = page_at(entry.page);
    char* const to = library.arena() + entry.page * kPage;
    if (alone) blend_by_map(to, from, entry.map);
    else copy_by_map(to, from, entry.map);
    if (char* const twin = window.twin(entry.page)) blend_by_map(twin, from, entry.map);
    PageEntry& mine = detected_entry(view, entry.page);
    for (size_t i = 0; i < kMapWords; ++i) mine.map[i] |= entry.map[i];
    library.counters.copied_bytes += bits_in(entry.map);
    mine.version = entry.version;
  }
}

}  // namespace portunus::views
