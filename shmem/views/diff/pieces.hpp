// pieces.hpp: all bytes of a declared view at once, in the order of its pieces.
//
// Thread: the one that calls. Cost: a copy of the view.
#pragma once

#include "shmem/views/library.hpp"

namespace portunus::views {

// One piece behind the other; `to` has room for view.bytes.
void pack(const View& view, char* to);
// The reverse. Twins get them, too, or they would count as written here.
void unpack(const View& view, const char* from);
// Copies what has arrived in the view, in part or whole, into the twins.
void patch_twins(const View& view);

}  // namespace portunus::views
