// How much memory each kind of collective has on a node.
//
// Thread: any; pure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "engine/goal/node/arena.hpp"
#include "engine/goal/node/slots.hpp"

namespace portunus::goal::node {

// Short ones of all kinds.
inline constexpr size_t kShortBuffer = 1008, kShortSlots = 32;

// Slots for started collectives that are not short: 1 MiB a rank, less where many share a node; and more of them where few do, so that
// what lay in a slot has left the caches of both cores when it is written again (exchange_buffers.hpp). What is not long has slots of its
// own, small enough to stay in the caches, and so many that ranks which only give run far ahead of those which take; fewer where groups
// come and go, since each page that a group takes is zeroed first.
inline constexpr size_t kMostLong = 256 * 1024, kMiddle = Slots::kMiddle, kMiddleSlots = 16, kMiddleSlotsOfPart = 4;
inline size_t long_slots(size_t size) { return size <= 2 ? 16 : size <= 4 ? 8 : 4; }
inline size_t long_buffer(size_t size) { return std::clamp((size_t{1} << 20) / size / 64 * 64, kMiddle, kMostLong); }
// Bytes of the longest contributions of all ranks to a call that is made where ranks outnumber the cores: engines have none of their own
// there.
inline constexpr size_t kMostMadeRooms = size_t{6} << 20;
// Slots of a call that is made, of which ranks may be as many runs apart. What is not long stays in the nearest cache; of the memory that
// is free they take an eighth at most.
inline size_t made_slots(size_t room, size_t size, size_t free) {
  const size_t all = room <= kMiddle ? kShortBuffer * kShortSlots : Slots::kAllLong / size;
  size_t slots = std::clamp(std::bit_floor(all / std::max<size_t>(room, 1)), size_t{2}, kShortSlots);
  while (slots > 2 && slots * room * size > free / 8) slots /= 2;
  return slots;
}

// A rank's part of a place in another group's memory: short slots, and middle ones. It is the same for groups of any size, so that the next
// group finds numbers where the last one had numbers.
inline constexpr size_t kShortPart = Slots::bytes_each(kShortBuffer, kShortSlots);
inline constexpr size_t kPart = kShortPart + Slots::bytes_each(kMiddle, kMiddleSlotsOfPart);
// A group's memory has places for 64 parts, or for 16 groups of as many ranks, in 32 MiB at most; and for the buffers of 16 such groups,
// whose pages come when a group takes them.
inline constexpr size_t kMostPlaces = size_t{32} << 20;
inline size_t parts_per_unit(size_t size) { return std::clamp<size_t>(size / 4, 1, kMostPlaces / kPart / Arena::kUnits); }
inline size_t unit_of_buffers(size_t all) { return (all / 4 + 63) / 64 * 64; }

}  // namespace portunus::goal::node
