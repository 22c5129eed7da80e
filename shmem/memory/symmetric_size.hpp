// symmetric_size.hpp: reads the value of SHMEM_SYMMETRIC_SIZE.
//
// Thread: any; pure.
// Source: OpenSHMEM 1.6, section "Environment Variables".
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace portunus::shmem {

// "64m", ".5G", "1048576", "1.5kB": a non-negative decimal number, then perhaps one of kKmMgGtT (powers of 1024) whose
// followers are ignored. Returns bytes, rounded up; nothing if the text is no such number or the size cannot exist.
std::optional<size_t> parse_symmetric_size(std::string_view text);

}  // namespace portunus::shmem
