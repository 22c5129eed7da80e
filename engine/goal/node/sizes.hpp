// How much memory each kind of collective has on a node.
//
// Thread: any; pure.
#pragma once

#include <algorithm>
#include <cstddef>

#include "engine/goal/node/arena.hpp"
#include "engine/goal/node/slots.hpp"

namespace portunus::goal::node {

// Short ones of all kinds.
inline constexpr size_t kShortBuffer = 1008, kShortSlots = 32;

// Slots for started collectives that are not short: 1 MiB a rank, less where many share a node; and more of them where few do, so that
// what lay in a slot has left the caches of both cores when it is written again (exchange_buffers.hpp). What is not long has slots of its
// own, small enough to stay in the caches.
inline size_t long_slots(size_t size) { return size <= 2 ? 16 : size <= 4 ? 8 : 4; }
inline constexpr size_t kStartedSlots = 4, kMostLong = 256 * 1024, kMiddle = 16 * 1024;
inline size_t long_buffer(size_t size) { return std::clamp((size_t{4} << 20) / kStartedSlots / size / 64 * 64, kMiddle, kMostLong) + 48; }
inline constexpr size_t kMiddleBuffer = kMiddle + 48;
// Slots of a call that is made: the ranks may be one run apart, and more while that costs little.
inline size_t made_slots(size_t room) { return room <= kMiddle ? kStartedSlots : 2; }
// A contribution of parts to a call that is made; what does not fit is read where it lies.
inline constexpr size_t kPartsRoom = 4096;

// A rank's part of a place in another group's memory: short slots, and middle ones. It is the same for groups of any size, so that the next
// group finds numbers where the last one had numbers.
inline constexpr size_t kShortPart = Slots::bytes_each(kShortBuffer, kShortSlots);
inline constexpr size_t kPart = kShortPart + Slots::bytes_each(kMiddleBuffer, kStartedSlots);
// A group's memory has places for 64 parts, or for 16 groups of as many ranks, in 32 MiB at most; and for the buffers of 16 such groups,
// whose pages come when a group takes them.
inline constexpr size_t kMostPlaces = size_t{32} << 20;
inline size_t parts_per_unit(size_t size) { return std::clamp<size_t>(size / 4, 1, kMostPlaces / kPart / Arena::kUnits); }
inline size_t unit_of_buffers(size_t all) { return (all / 4 + 63) / 64 * 64; }

}  // namespace portunus::goal::node
