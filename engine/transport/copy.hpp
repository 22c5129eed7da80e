// copy.hpp: copying a message's data, which is most often one word. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/host/copy_run.hpp"

namespace portunus {

// As memcpy; a call for eight bytes costs more than the bytes. `size` > 0.
inline void copy_data(void* to, const void* from, size_t size) {
  if (size == sizeof(uint64_t)) std::memcpy(to, from, sizeof(uint64_t));
  else if (size < kLongRun) std::memcpy(to, from, size);
  else copy_long_run(to, from, size);
}

}  // namespace portunus
