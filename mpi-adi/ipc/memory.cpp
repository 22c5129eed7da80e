// memory.cpp: peace_alloc: one block of node memory, cut first fit.
//
// Invariants: pieces lie in the map in order of address, cover the block, and no two free ones touch.
#include "mpi-adi/ipc/memory.hpp"

#include <cctype>
#include <cstdlib>
#include <map>

#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

struct Piece {
  size_t bytes;
  bool free;
};

Mutex mutex;
std::byte* base = nullptr;
size_t total = 0;
unsigned block = 0;
std::map<size_t, Piece>& pieces() {
  static auto& all = *new std::map<size_t, Piece>;
  return all;
}

constexpr size_t kAlign = 64;

// False: not a number of bytes.
bool read_size(const char* text, size_t& size) {
  char* end;
  if (!std::isdigit(static_cast<unsigned char>(*text))) return false;
  size = std::strtoull(text, &end, 10);
  unsigned shift = 0;
  switch (std::tolower(static_cast<unsigned char>(*end))) {
    case 'k': shift = 10; break;
    case 'm': shift = 20; break;
    case 'g': shift = 30; break;
    case 0: return true;
    default: return false;
  }
  if (end[1] != 0 || size > PTL_SIZE_MAX >> 3 >> shift) return false;
  size <<= shift;
  return true;
}

}  // namespace

int open_memory() {
  const char* text = std::getenv("PEACE_SHARED");
  size_t size = 0;
  if (!text || !*text) return PEACE_OK;
  if (!read_size(text, size)) return fail(PEACE_ARG, "PEACE_SHARED=%s is no number of bytes (k, m or g may follow it)", text);
  if (size == 0) return PEACE_OK;
  void* start;
  const int code = PtlxNodeAlloc(interface.ni, size, &start, &block);
  if (code != PTL_OK) return portals_failed("share the memory that PEACE_SHARED asks for", code);
  base = static_cast<std::byte*>(start);
  total = size;
  pieces() = {{0, {size, true}}};
  return PEACE_OK;
}

void close_memory() {
  base = nullptr;
  total = 0;
  pieces().clear();
}

uint64_t place_in_block(const void* memory, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(memory), start = reinterpret_cast<uintptr_t>(base);
  if (!base || at < start || at - start > total || bytes > total - (at - start)) return 0;
  return lies_at(block, at - start);
}

const void* look_in_block(uint64_t process, uint64_t place, size_t bytes) {
  void* start;
  ptl_size_t size;
  if (place == 0 || PtlxNodeMap(interface.ni, process_of(process), block_of(place), &start, &size) != PTL_OK ||
      !lies_within(offset_in_block(place), bytes, size))
    return nullptr;
  return static_cast<std::byte*>(start) + offset_in_block(place);
}

}  // namespace portunus::peace

using namespace portunus::peace;

void* peace_alloc(size_t bytes) {
  if (base && bytes <= total) {
    const std::lock_guard lock(mutex);
    const size_t wanted = (bytes + kAlign - 1) / kAlign * kAlign + (bytes == 0 ? kAlign : 0);
    for (auto& [at, piece] : pieces()) {
      if (!piece.free || piece.bytes < wanted) continue;
      const size_t rest = piece.bytes - wanted, begin = at;
      piece = {wanted, false};
      if (rest) pieces()[begin + wanted] = {rest, true};
      return base + begin;
    }
  }
  return std::malloc(bytes ? bytes : 1);
}

void peace_free(void* memory) {
  if (!memory) return;
  if (place_in_block(memory, 0) == 0) {
    std::free(memory);
    return;
  }
  const std::lock_guard lock(mutex);
  auto found = pieces().find(static_cast<size_t>(static_cast<std::byte*>(memory) - base));
  if (found == pieces().end() || found->second.free) return;
  found->second.free = true;
  const auto next = std::next(found);
  if (next != pieces().end() && next->second.free) {
    found->second.bytes += next->second.bytes;
    pieces().erase(next);
  }
  if (found == pieces().begin()) return;
  const auto before = std::prev(found);
  if (before->second.free) {
    before->second.bytes += found->second.bytes;
    pieces().erase(found);
  }
}
