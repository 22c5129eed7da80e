// settings.hpp: what the environment decides about this library, in one table.
//
// Thread: read by MPI_Init, constant afterwards. Source: Cray's MPI on the XT3, table 1, in today's terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

namespace portunus::mpi {

struct Settings {
  uint64_t eager_limit;       // bytes; longer messages send their header alone first
  uint64_t unexpected_limit;  // bytes of messages without a receive; they are never exceeded, for senders wait before
  uint64_t info;              // 1: MPI_Init prints this table on rank 0

  static constexpr uint64_t kNoLimit = uint64_t{1} << 50;  // of eager_limit, where none was named
  // Bytes of messages without a receive beyond which senders send headers alone.
  [[nodiscard]] uint64_t unexpected_buffer() const { return unexpected_limit / 4; }
  // The longest messages that go with their headers have 64 KiB: after some of them there still is room for many headers.
  static constexpr uint64_t kLeastUnexpected = 512 << 10;
};
extern constinit Settings settings;

struct Setting {
  const char* name;  // of the environment variable
  uint64_t Settings::*value;
  uint64_t otherwise, least, most;
  const char* meaning;
};
std::span<const Setting> all_settings();

// nullptr, or a sentence with what is wrong in the environment.
const char* read_settings();
void print_settings(std::FILE* to);

}  // namespace portunus::mpi
