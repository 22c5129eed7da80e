// request_notice.hpp: what a process of another node says before it asks for data to be brought, so that who releases need not ask what it
// has.
//
// It is put to a place of its own at the other process, one for all views, before the bit or the announcement: in order. A later request of
// the same process, for another view, may overwrite it at any time; whoever finds something else there, or a part of each, asks.
//
// Thread: any; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace portunus::views {

struct RequestNotice {
  uint64_t view, version, index_at, meaning, generation;
  uint64_t sum;  // of all the others
  uint64_t spare[2];

  static constexpr RequestNotice of(uint64_t view, uint64_t version, uint64_t index_at, uint64_t meaning, uint64_t generation) {
    RequestNotice notice{view + 1, version, index_at, meaning, generation, 0, {}};
    notice.sum = notice.right_sum();
    return notice;
  }
  constexpr bool is_for(uint64_t id) const { return view == id + 1 && sum == right_sum(); }

 private:
  // FNV-1a over words, with their upper halves folded in.
  constexpr uint64_t right_sum() const {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const uint64_t word : {view, version, index_at, meaning, generation}) {
      hash = (hash ^ word) * 0x100000001b3u;
      hash ^= hash >> 32;
    }
    return hash;
  }
};
static_assert(sizeof(RequestNotice) == 64);

}  // namespace portunus::views
