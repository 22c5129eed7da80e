// released_data.hpp: the data of a short view, put to a process of another node in front of the word by which it is told of a release, so
// that it need not ask for them.
//
// They go to a place of their own there, one for all views that the sender releases, and are copied to where they belong by who was told:
// until then the copy that he has is whole. A later release of the same sender, of another view, may overwrite them at any time; whoever
// finds something else there, or a part of each, asks.
//
// Thread: any; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace portunus::views {

struct ReleasedData {
  static constexpr size_t kMostWords = 121;

  uint64_t view = 0, version = 0, generation = 0, meaning = 0;  // `view` counts from 1
  uint64_t index_at = 0;                                        // of the sender
  uint64_t bytes = 0;
  uint64_t sum = 0;  // of all the others, and of the data
  uint64_t data[kMostWords];

  static constexpr size_t kMostBytes = kMostWords * sizeof(uint64_t);
  static constexpr size_t kHeader = 7 * sizeof(uint64_t);
  // The bytes that are put; the last word of the data is filled with zeros.
  size_t size() const { return kHeader + words() * sizeof(uint64_t); }
  size_t words() const { return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t); }
  bool is_right() const { return bytes <= kMostBytes && sum == right_sum(); }
  // FNV-1a over words, with their upper halves folded in.
  uint64_t right_sum() const {
    uint64_t hash = 0xcbf29ce484222325u;
    const auto add = [&](uint64_t word) {
      hash = (hash ^ word) * 0x100000001b3u;
      hash ^= hash >> 32;
    };
    for (const uint64_t word : {view, version, generation, meaning, index_at, bytes}) add(word);
    for (size_t i = 0; i < words(); ++i) add(data[i]);
    return hash;
  }
};
static_assert(sizeof(ReleasedData) == 1024);

}  // namespace portunus::views
