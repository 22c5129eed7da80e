// allocator.hpp: Vdc_malloc: ranges of the shared pages, by any process at any time, without a central process that would
// have to run.
//
// Process 0's block has a word from which pages are taken, and a table of whose they are. Each process cuts its own pages
// into blocks of a multiple of 256 bytes; what a block is stands in the table of the process that took the pages, so that
// anybody can free it: it becomes the freeing process's to give out again. A block that was got inside a write-held view is
// that view's: freed, it serves the view alone, since the view's index goes on naming its bytes.
//
// Thread: the one that calls. Cost: some words of local memory; one atomic at process 0 for 64 pages.
#pragma once

#include <cstddef>

namespace portunus::views {

void allocator_open();
// The offset of a block; SIZE_MAX when there is no room. `view`: of whom it is, or -1.
size_t allocate(size_t bytes, int view);
// Refuses what is no block.
void give_back(size_t offset);
// Blocks that were freed of the view may serve anybody.
void release_blocks_of(int view);

}  // namespace portunus::views
