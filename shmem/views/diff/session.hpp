// session.hpp: from the acquire of a view for writing to its release: which pages are open, and what was written.
//
// Thread: the one that calls; may_write also in the handler of faults.
#pragma once

#include "shmem/views/library.hpp"

namespace portunus::views {

// Pages of the view become writable, and what is needed to find what is written is kept.
void begin_session(View& view);
// The index says what was written; the copy here has a new version. Pages are closed again.
void end_session(View& view);
// Some view that is held for writing may own the byte.
bool may_write(size_t offset);
// PTL_DEBUG=views: pages that are a declared view's alone cannot be accessed while it is not held. Nothing without it, and for streams.
void hide_unheld(const View& view);
void show_held(const View& view);
void wrote(View& view, size_t offset, size_t bytes);

}  // namespace portunus::views
