// settings.cpp: the table of settings.hpp.
#include "mpi-adi/core/settings.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

namespace portunus::mpi {

constinit Settings settings{};

namespace {

constexpr uint64_t kMost = Settings::kNoLimit;

constexpr Setting kSettings[] = {
    {"MPIADI_EAGER_LIMIT", &Settings::eager_limit, Settings::kNoLimit, 0, kMost,
     "bytes above which a message sends its header alone; above the transport's own limit, shorter ones are copied at the sender"},
    {"MPIADI_UNEXPECTED_LIMIT", &Settings::unexpected_limit, 256 << 20, Settings::kLeastUnexpected, kMost,
     "bytes of messages without a receive, above which senders wait; above a quarter of them they send headers alone"},
    {"PTL_INFO", &Settings::info, 0, 0, 1, "1: MPI_Init prints this table on rank 0, MPI_Finalize what is left behind"},
};

// Digits, and k, m, g or t for powers of 1024.
bool parse(const char* text, uint64_t& value) {
  if (*text < '0' || *text > '9') return false;
  char* end;
  errno = 0;
  value = std::strtoull(text, &end, 10);
  if (errno != 0) return false;
  constexpr char kUnits[] = "kmgt";
  if (*end != '\0') {
    const char* unit = std::strchr(kUnits, *end | 0x20);
    const unsigned shift = unit ? 10 * static_cast<unsigned>(unit - kUnits + 1) : 64;
    if (unit == nullptr || end[1] != '\0' || value > kMost >> shift) return false;
    value <<= shift;
  }
  return true;
}

char complaint[256];

}  // namespace

std::span<const Setting> all_settings() { return kSettings; }

const char* read_settings() {
  for (const Setting& each : kSettings) {
    uint64_t& value = settings.*each.value;
    value = each.otherwise;
    const char* text = std::getenv(each.name);
    if (text == nullptr || *text == '\0') continue;
    if (parse(text, value) && value >= each.least && value <= each.most) continue;
    std::snprintf(complaint, sizeof complaint, "%s is \"%.40s\"; it must be a number from %" PRIu64 " to %" PRIu64 ", with k, m, g or t",
                  each.name, text, each.least, each.most);
    return complaint;
  }
  return nullptr;
}

void print_settings(std::FILE* to) {
  for (const Setting& each : kSettings) {
    const uint64_t value = settings.*each.value;
    if (value == kMost) std::fprintf(to, "%-24s %12s  %s\n", each.name, "unlimited", each.meaning);
    else std::fprintf(to, "%-24s %12" PRIu64 "  %s\n", each.name, value, each.meaning);
  }
  const char* collectives = std::getenv("PTL_COLLECTIVES");
  std::fprintf(to, "%-24s %12s  algorithms of the collectives\n", "PTL_COLLECTIVES", collectives ? collectives : "by size");
}

}  // namespace portunus::mpi
