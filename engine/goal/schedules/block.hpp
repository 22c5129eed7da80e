// A compiled schedule as one block of bytes that holds no addresses of itself: to be saved, sent to another process, loaded
// and executed there.
//
// All numbers are little-endian; offsets are bytes from the start of the block. The graph comes first, in the form of
// ESPGOAL: each operation begins with its type and ends with the offsets of those that wait for it.
//
//     header     see Field in block.cpp: magic, version, sizes of what follows, checksum
//     arguments  u64 bytes used of each
//     pieces     {u32 space, u32 number, u64 place, u64 bytes}
//     independent  u32 offset of each operation that waits for nothing
//     operation  u8 type, u8 local operation, u16 memory (3 bits each for destination, a, b; 5 bits for the type; "needs"; "exact")
//                u32 dependencies, u32 num_dep_ops, arguments (of the lengths that type and memory imply),
//                u32 dep_offset[num_dep_ops], of which bit 0 says: it waits for the start only
//     counters   u32 increments per epoch, of each
//     entries, triggered   u32 action and match class, u32 counter, u32 threshold, u32 counter to increment,
//                the operation's offset, and the message's id, if it has one
//     relays     u32 counter, u32 threshold, u32 counter to increment
//
// Thread: any; pure.
// Invariants: load() accepts exactly what save() makes: what is loaded is compiled anew from the graph, and the result
// must be the block, bit by bit. So a block that is damaged, cut or made up is refused before anything is sent, and one
// that is accepted cannot reach beyond the memory of its instance or wait for ever for itself.
// Source: Schneider, Eckelmann, Hoefler, Rehm, "Kernel-based offload of collective operations", Euro-Par 2011, Fig. 1.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/goal/schedules/compiled.hpp"

namespace portunus::goal {

// Throws ScheduleError if the block would be larger than 4 GiB.
[[nodiscard]] std::vector<std::byte> save(const Compiled& compiled);

// Throws ScheduleError saying what is wrong with the block, or that one of its messages names a rank beyond `ranks`, or
// that it holds addresses of another process.
[[nodiscard]] std::shared_ptr<const Compiled> load(std::span<const std::byte> block, uint32_t ranks);

// Gives a block that was changed the size and the checksum that it would have: what remains wrong is then its content.
void seal(std::span<std::byte> block);

}  // namespace portunus::goal
