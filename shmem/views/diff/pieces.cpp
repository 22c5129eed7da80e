// pieces.cpp: packing and unpacking.
#include "shmem/views/diff/pieces.hpp"

#include "engine/goal/copy.hpp"
#include "shmem/views/arena/window.hpp"

namespace portunus::views {

void pack(const View& view, char* to) {
  for (const Range& piece : view.pieces) {
    copy_run(to, library.arena() + piece.offset, piece.bytes);
    to += piece.bytes;
  }
}

void unpack(const View& view, const char* from) {
  for (const Range& piece : view.pieces) {
    copy_run(library.arena() + piece.offset, from, piece.bytes);
    from += piece.bytes;
  }
  patch_twins(view);
}

void patch_twins(const View& view) {
  for (const Range& piece : view.pieces) window.patch_twins(piece.offset, piece.bytes);
}

}  // namespace portunus::views
