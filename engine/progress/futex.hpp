// futex.hpp: sleeping on a word of memory. Thread: any, of any process that maps the word.
#pragma once

#include <cstdint>

namespace portunus {

enum class Sleeper : uint32_t { nobody = 0, waiter = 1, engine = 2 };

// Sleeps while *word == value, until woken for `who` or `timeout_ns` passed (negative = no limit). May return for no reason.
void futex_wait(uint32_t* word, uint32_t value, Sleeper who, int64_t timeout_ns);
// Wakes all who sleep there as `who`.
void futex_wake(uint32_t* word, Sleeper who);

}  // namespace portunus
