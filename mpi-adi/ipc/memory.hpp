// memory.hpp: memory that the processes of this node share. Thread: open and close: one at a time; the rest: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace portunus::peace {

int open_memory();
void close_memory();
// 1 + where in the shared block of this process these bytes lie; 0: not there.
uint64_t place_in_block(const void* memory, size_t bytes);
// Those bytes of another process's block; nullptr: it has none, or they are not in it.
const void* look_in_block(uint64_t process, uint64_t place, size_t bytes);

}  // namespace portunus::peace
