// release_notice.hpp: the word by which a process that has released tells the one that waits for it. It says, too, what is to be copied, so
// that nobody has to ask for that first.
//
// Thread: any; pure.
#pragma once

#include <cstdint>

namespace portunus::views {

enum class Notice : uint8_t { not_yet, yes, brought, lost };  // brought: and the data, too

struct ReleaseNotice {
  uint64_t bits = 0;
  static constexpr unsigned kVersionAt = 24, kGenerationAt = 3;

  // Numbers that do not fit are left out: who is told asks for them then. `uniform`: all blocks are of this version.
  static constexpr ReleaseNotice yes(uint64_t version, bool uniform, uint64_t generation) {
    ReleaseNotice word{static_cast<uint64_t>(Notice::yes)};
    if (version >> (64 - kVersionAt) == 0 && generation >> (kVersionAt - kGenerationAt) == 0)
      word.bits |= version << kVersionAt | generation << kGenerationAt | (uniform ? 4u : 0u);
    return word;
  }
  constexpr Notice notice() const { return static_cast<Notice>(bits & 3); }
  constexpr bool says_version() const { return version() != 0; }
  constexpr uint64_t version() const { return bits >> kVersionAt; }
  constexpr uint64_t generation() const { return bits >> kGenerationAt & ((uint64_t{1} << (kVersionAt - kGenerationAt)) - 1); }
  constexpr bool uniform() const { return bits & 4; }
};

}  // namespace portunus::views
