// data_segment.hpp: finds the globals of the executable.
//
// Thread: set-up, one thread.
// Source: OpenSHMEM 1.6, chapter "Memory Model" (globals and statics are symmetric); System V ABI, program headers, notes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace portunus::shmem {

struct Range {
  void* start = nullptr;
  size_t size = 0;
};

// The whole pages of this process that hold the executable's .data and .bss, without those that the dynamic linker
// made read-only. Equal in size and layout in all processes that run the same file; the start differs (ASLR). Empty
// if the executable has no writable data.
Range data_segment();

// A number that two processes share if they run the same executable: of its program headers and its notes, among which is the
// build id that linkers write unless they are told not to. Where it lies in memory and on disk does not count.
uint64_t executable_hash();

}  // namespace portunus::shmem
