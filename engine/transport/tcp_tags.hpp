// tcp_tags.hpp: what epoll's word names. Thread: pure functions.
#pragma once

#include <cstdint>

namespace portunus::tcp {

enum class Tag : uint32_t { guard, door, guest, link };

constexpr uint64_t tag_of(Tag tag, uint32_t number = 0) { return uint64_t{static_cast<uint32_t>(tag)} << 32 | number; }
constexpr Tag tag_in(uint64_t word) { return static_cast<Tag>(word >> 32); }
constexpr uint32_t number_of(uint64_t word) { return static_cast<uint32_t>(word); }

}  // namespace portunus::tcp
