// allocator.cpp: pages from process 0, blocks from pages.
#include "shmem/views/arena/allocator.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "shmem/views/library.hpp"

namespace portunus::views {
namespace {

constexpr size_t kPagesAtOnce = 16;

// Free ranges by view, by length in blocks: first those that fit best.
struct Free {
  std::multimap<size_t, size_t> by_blocks;  // blocks -> first block
};
std::map<int, Free> free_of;

constexpr int kFresh = -2;  // never given out: no index names its bytes

// In the table of who took the page: for the first block of an allocation, its length and view; 0: none begins here.
struct Entry {
  uint32_t blocks;
  int32_t view_and_1;
};
uint64_t packed(Entry entry) { return uint64_t{entry.blocks} | static_cast<uint64_t>(static_cast<uint32_t>(entry.view_and_1)) << 32; }
Entry unpacked(uint64_t word) { return {static_cast<uint32_t>(word), static_cast<int32_t>(word >> 32)}; }

size_t entry_at(size_t block) { return library.layout.sizes + block * 8; }

// The owner of the page: 1 + the process, in 16 bits of process 0's table.
int owner_of(size_t page) {
  const size_t word = library.layout.owners + page * 2 / 8 * 8;
  const int owner = static_cast<int>(library.net.load(0, word) >> page % 4 * 16 & 0xffff);
  library.net.clear();
  return owner - 1;
}

size_t take_pages(size_t pages) {
  const size_t most = library.layout.arena_bytes / kPage;
  const size_t first = library.net.fetch(0, offsetof(Header, next_page), PTL_SUM, pages);
  if (library.net.failed()) {
    library.net.clear();
    return SIZE_MAX;
  }
  if (first + pages > most) {
    library.net.fetch(0, offsetof(Header, next_page), PTL_SUM, -static_cast<uint64_t>(pages));
    library.net.clear();
    return SIZE_MAX;
  }
  for (size_t page = first; page < first + pages;) {
    uint64_t bits = 0;
    const size_t word = page * 2 / 8;
    for (; page < first + pages && page * 2 / 8 == word; ++page) bits |= static_cast<uint64_t>(library.me + 1) << page % 4 * 16;
    library.net.fetch(0, library.layout.owners + word * 8, PTL_BOR, bits);
  }
  library.net.clear();
  return first;
}

}  // namespace

void allocator_open() { free_of.clear(); }

size_t allocate(size_t bytes, int view) {
  if (bytes > library.layout.arena_bytes) return SIZE_MAX;
  const size_t blocks = std::max<size_t>((bytes + kBlock - 1) / kBlock, 1);
  size_t first = SIZE_MAX, room = 0;
  for (const int from : {view, kFresh}) {
    auto& some = free_of[from].by_blocks;
    const auto fits = some.lower_bound(blocks);
    if (fits == some.end()) continue;
    room = fits->first, first = fits->second;
    some.erase(fits);
    break;
  }
  if (first == SIZE_MAX) {
    const size_t per_page = kPage / kBlock, needed = (blocks + per_page - 1) / per_page;
    size_t pages = std::max(needed, kPagesAtOnce), page = take_pages(pages);
    if (page == SIZE_MAX && pages > needed) page = take_pages(pages = needed);
    if (page == SIZE_MAX) return SIZE_MAX;
    first = page * per_page, room = pages * per_page;
  }
  // The rest keeps its kind: a freed block of a view is given out whole.
  if (room > blocks) {
    const int owner = owner_of(first / (kPage / kBlock));
    const bool used = owner >= 0 && library.net.load(owner, entry_at(first)) != 0;
    if (!used) free_of[kFresh].by_blocks.emplace(room - blocks, first + blocks), room = blocks;
  }
  const int owner = owner_of(first / (kPage / kBlock));
  if (owner < 0) return SIZE_MAX;
  const uint64_t entry = packed({static_cast<uint32_t>(room), view + 1});
  library.net.fetch(owner, entry_at(first), PTL_SWAP, entry);
  library.net.clear();
  return first * kBlock;
}

void give_back(size_t offset) {
  const size_t block = offset / kBlock;
  const int owner = offset % kBlock == 0 ? owner_of(block / (kPage / kBlock)) : -1;
  if (owner < 0) refuse(VDCX_ERR_ARG, "byte %zu of the shared pages is not the start of a block", offset);
  constexpr uint64_t kFreed = uint64_t{1} << 63;
  const uint64_t word = library.net.fetch(owner, entry_at(block), PTL_BOR, kFreed);
  library.net.clear();
  if (word == 0) {
    library.net.fetch(owner, entry_at(block), PTL_BAND, ~kFreed);
    library.net.clear();
    refuse(VDCX_ERR_ARG, "byte %zu of the shared pages is not the start of a block", offset);
  }
  if (word & kFreed) refuse(VDCX_ERR_STATE, "the block at byte %zu of the shared pages was freed before", offset);
  const Entry entry = unpacked(word);
  free_of[entry.view_and_1 - 1].by_blocks.emplace(entry.blocks, block);
}

void release_blocks_of(int view) {
  const auto found = free_of.find(view);
  if (found == free_of.end()) return;
  for (const auto& [blocks, first] : found->second.by_blocks) free_of[-1].by_blocks.emplace(blocks, first);
  free_of.erase(found);
}

}  // namespace portunus::views
