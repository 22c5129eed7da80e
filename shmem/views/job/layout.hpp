// layout.hpp: what lies where in the one block of the symmetric heap that the library keeps: the same offsets in every
// process.
//
//      | Header | turns | stage | page owners | sizes of blocks | Slots | readers' bits | what they have | data of
//      released views | index pool | arena: the shared pages |
//
// Thread: words are read and written by other processes: atomics only, but for data that the hand-over protects.
// Invariants: all starts at zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmem/views/handover/released_data.hpp"
#include "shmem/views/handover/request_notice.hpp"

namespace portunus::views {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kBlock = 256;         // what is allocated, and the least that has a version in a declared view
inline constexpr size_t kStage = 16 * kPage;  // for what is passed on outside of views
inline constexpr unsigned kRounds = 10;       // of a barrier of 1024

struct Header {
  uint64_t image;      // 1 + bytes of process 0's first image; 0: not yet
  uint64_t blocked;    // turn << 32 | view << 16 | 1 + the process that this one waits for; 0: for nobody
  uint64_t next_page;  // at process 0: pages given out
  uint64_t next_id;    // at process 0: unique views given out
  uint64_t recovers;   // the turn of the recovery that this process has reached
  uint64_t scratch[3];
  alignas(64) uint64_t arrived[kRounds];  // barriers, by round
  alignas(64) uint64_t barrier_id[2][kRounds];
};

// The facts that a process tells of one view.
struct alignas(128) Slot {
  uint64_t word;          // word.hpp
  uint64_t tail;          // at the manager: 1 + the last in the queue
  uint64_t notice;        // to this process, by whom it waits for: release_notice.hpp
  uint64_t version;       // of the copy here
  uint64_t uniform;       // if it is `version`: so are all blocks of a declared view
  uint64_t index_at;      // offset of the index
  uint64_t index_length;  // entries
  uint64_t meaning;       // of the declaration; 0: detected
  uint64_t generation;    // how often it had been destroyed when the copy here was made
  uint64_t whole;         // 1 while the copy here is not being changed: it may be recovered
  uint64_t recover;       // what is exchanged then
  uint64_t destroyed;     // at the manager: how often
  uint64_t place;         // of a stream's newest version, for a reader on its writer's node: stream/place.hpp
  uint64_t ring;          // of a stream, from its writer: the ring's offset and 2; 1: there was no room
  uint64_t died;          // 1 + the process by whose death the word here is lost
  uint64_t spare;
};
static_assert(sizeof(Slot) == 128);

struct Layout {
  size_t turns, stage, owners, sizes, slots, bits, pushes, request_notices, released_data, pool, pool_bytes, arena, arena_bytes, total;
  size_t bit_words;  // per view: 32 processes each, those who asked below, those who are served above

  Layout() = default;
  Layout(size_t pages, unsigned processes);
  size_t slot(int view) const { return slots + static_cast<size_t>(view) * sizeof(Slot); }
  size_t bit_word(int view, unsigned process) const { return bits + (static_cast<size_t>(view) * bit_words + process / 32) * 8; }
  size_t request_notice_of(unsigned process) const { return request_notices + process * sizeof(RequestNotice); }
  size_t released_data_of(unsigned process) const { return released_data + process * sizeof(ReleasedData); }
  size_t push_word(int view, unsigned process) const { return pushes + (static_cast<size_t>(view) * bit_words + process / 32) * 8; }
};

}  // namespace portunus::views
