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
  uint64_t eager_limit;        // bytes; longer messages send their header alone first
  uint64_t very_short_limit;   // bytes; up to these a message is copied by the call, which is then complete
  uint64_t unexpected_buffer;  // bytes of messages without a receive, beyond which senders send headers alone
  uint64_t unexpected_limit;   // bytes of these, that are never exceeded, for senders wait before
  uint64_t node_collectives;   // 1: small blocking collectives of ranks on one node go by memory that they share
  uint64_t info;               // 1: MPI_Init prints this table on rank 0
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
