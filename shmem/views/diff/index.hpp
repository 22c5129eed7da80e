// index.hpp: which bytes of a view are newer than which version (the integrated diff), and bringing a copy up to date by it.
//
// The values lie in the owner's copy of the pages; the index says where to look. Declared: a version for each block.
// Detected: for each page that was ever written a version and a bitmap. Who has version a takes what is newer, so bytes per
// acquire do not grow with sessions.
//
// Thread: the one that calls. Source: VODCA, section 3.2 (VOUPID: one integrated diff for each page and view).
#pragma once

#include "shmem/views/library.hpp"

namespace portunus::views {

// Brings the copy here up to date with that of process q, which does not change meanwhile unless the request is at
// At::copy_idle.
Copied copy_from(View& view, int q);
// The same done by who has the data: into process p's copy, and tells it. False: it cannot be, p shall copy. `reader`: its
// bit is served then.
bool bring(View& view, int p, bool reader);
void took_delivery(View& view);
// The version of the copy here; 0 where a death has left one that is of no one version.
uint64_t version_here(View& view);
// After a copy: who will write over all of it has its index alone.
inline uint64_t is_whole_then(const View& view) { return view.mode != VDCX_OVERWRITE; }
// A copy that was begun and is not wanted.
void abandon_copy(View& view);

// The index of a declared view, made when it is used first; versions of blocks.
uint64_t* declared_index(View& view);
// The entry of a page of a detected view; made if there is none.
PageEntry& detected_entry(View& view, uint64_t page);
PageEntry* detected_entries(View& view);
// Nothing is known any more: the view was destroyed.
void forget_index(View& view);
void pool_open();

}  // namespace portunus::views
