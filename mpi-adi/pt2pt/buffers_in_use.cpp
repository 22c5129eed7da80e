// buffers_in_use.cpp: see buffers_in_use.hpp.
#include "mpi-adi/pt2pt/buffers_in_use.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/types/layout.hpp"

namespace portunus::mpi::buffers_in_use {
namespace {

struct Block {
  uintptr_t begin, end;
};
using Blocks = std::vector<Block>;

// A request's memory.
struct Held {
  Arguments given;
  Datatype* type;  // retained: the user may free it
  uint64_t sum = 0;
  Blocks blocks;
};

struct Owned {
  uintptr_t end;
  const Request* owner;
};

std::mutex guard;
std::unordered_map<const Request*, Held> all_held;
std::multimap<uintptr_t, Owned> written, read;  // by where a block begins
uintptr_t longest = 0;                          // block there has been

// The blocks of the data, in their order; none where they are too many.
Blocks blocks_of(const Arguments& given, const Datatype& type) {
  const auto base = reinterpret_cast<int64_t>(given.buf);
  const auto first = static_cast<uintptr_t>(base), dense = static_cast<uintptr_t>(given.count * type.size);
  if (dense == 0) return {};
  if (type.dense) return {{first, first + dense}};
  Blocks blocks;
  for (MPI_Count i = 0; i < given.count && blocks.size() <= kMostBlocks; ++i)
    each_block(type.layout, base + i * type.extent, 0, type.size, [&](int64_t place, int64_t bytes) {
      const auto begin = static_cast<uintptr_t>(place), end = begin + static_cast<uintptr_t>(bytes);
      if (!blocks.empty() && blocks.back().end == begin) blocks.back().end = end;
      else if (blocks.size() <= kMostBlocks) blocks.push_back({begin, end});
    });
  if (blocks.size() > kMostBlocks) blocks.clear();
  return blocks;
}

// FNV-1a over words, and over the bytes that are left.
uint64_t sum_of(const Blocks& blocks) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t sum = 0xcbf29ce484222325;
  for (const Block& block : blocks) {
    const auto* at = reinterpret_cast<const unsigned char*>(block.begin);
    size_t left = block.end - block.begin;
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, at, sizeof word);
      sum = (sum ^ word) * kPrime;
    }
    for (; left > 0; --left) sum = (sum ^ *at++) * kPrime;
  }
  return sum;
}

// Whose block among these lies in one of `blocks`; nullptr: nobody's.
const Request* owner_of(const std::multimap<uintptr_t, Owned>& among, const Blocks& blocks) {
  for (const Block& block : blocks) {
    for (auto each = among.lower_bound(block.begin - std::min(block.begin, longest)); each != among.end() && each->first < block.end;
         ++each)
      if (each->second.end > block.begin) return each->second.owner;
  }
  return nullptr;
}

void drop(Request& request) {
  const auto found = all_held.find(&request);
  request.holds = false;
  if (found == all_held.end()) return;
  auto& among = request.receives ? written : read;
  for (const Block& block : found->second.blocks) {
    const auto [first, last] = among.equal_range(block.begin);
    const auto own = std::find_if(first, last, [&](const auto& each) { return each.second.owner == &request; });
    if (own != last) among.erase(own);
  }
  mpi::release(found->second.type);
  all_held.erase(found);
}

}  // namespace

int check(const Arguments& given, const Communicator& comm, bool writes) {
  const Blocks blocks = blocks_of(given, *find_type(given.datatype, given.count));
  const char *use = nullptr, *function = nullptr;
  int peer = 0, tag = 0;
  {
    const std::lock_guard lock(guard);
    const Request* owner = owner_of(written, blocks);
    if (owner == nullptr && writes) owner = owner_of(read, blocks);
    if (owner == nullptr) return MPI_SUCCESS;
    const Held& held = all_held.at(owner);
    use = owner->receives ? "receives from" : "sends to";
    function = held.given.function;
    peer = held.given.peer;
    tag = held.given.tag;
  }
  const bool any = peer == MPI_ANY_SOURCE;
  return raise(given.function, &comm, MPI_ERR_BUFFER, "the memory at %p is in use: %s %s %s%s with tag %d, and no call has completed that",
               given.buf, function, use, any ? "any source" : "rank ", any ? "" : std::to_string(peer).c_str(), tag);
}

void hold(Request& request, const Arguments& given) {
  Datatype* const type = find_type(given.datatype, given.count);
  Blocks blocks = blocks_of(given, *type);
  const uint64_t sum = request.receives ? 0 : sum_of(blocks);
  const std::lock_guard lock(guard);
  drop(request);
  for (const Block& block : blocks) {
    (request.receives ? written : read).insert({block.begin, {block.end, &request}});
    longest = std::max(longest, block.end - block.begin);
  }
  all_held.emplace(&request, Held{given, retain(type), sum, std::move(blocks)});
  request.special = request.holds = true;
}

void compare(Request& request) {
  if (request.receives || request.cancelled || request.failed()) return;
  const std::lock_guard lock(guard);
  const Held& held = all_held.at(&request);
  if (sum_of(held.blocks) != held.sum) request.failure = kChanged;
}

void release(Request& request) {
  const std::lock_guard lock(guard);
  drop(request);
}

}  // namespace portunus::mpi::buffers_in_use
