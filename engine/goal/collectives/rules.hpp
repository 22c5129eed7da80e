// Rules that say which algorithm a collective uses, as text: the files that PTL_COLLECTIVES names and goaltune writes.
//
// A rule is a line of four words; what follows a '#' is a comment:
//
//     allreduce  8k   any  doubling    # vectors of up to 8 KiB, any number of ranks
//     allreduce  any  16   ring        # longer ones of up to 16 ranks
//
// that is the collective, up to how many bytes (as algorithms.hpp counts them; k, m and g are powers of 1024) and up to how many ranks it
// holds, and the algorithm. More words say where it holds (rank_placement.hpp): node or network, single or several, uncrowded or crowded,
// fast or slow. Of each collective the first line that holds is used; what no line covers is as the built-in table says.
//
// Thread: any; pure but for read_rules, which reads a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/goal/collectives/algorithms.hpp"
#include "engine/goal/collectives/rank_placement.hpp"

namespace portunus::goal::collectives {

constexpr uint64_t kAnySize = ~uint64_t{0};
constexpr uint32_t kAnyRanks = ~uint32_t{0};

struct Rule {
  Collective collective;
  uint64_t up_to_bytes;
  uint32_t up_to_ranks;
  Algorithm algorithm;
  Where where = {};

  [[nodiscard]] bool holds(Collective which, uint64_t bytes, uint32_t ranks, RankPlacement place) const {
    return which == collective && bytes <= up_to_bytes && ranks <= up_to_ranks && where.holds(place);
  }
  bool operator==(const Rule&) const = default;
};

constexpr size_t kMostRuleBytes = 64 * 1024;  // of a file

// Throws std::invalid_argument: which line, what is wrong, and what to write.
[[nodiscard]] std::vector<Rule> parse_rules(std::string_view text);
// One line, without its end; parse_rules reads it again.
[[nodiscard]] std::string line_of(const Rule& rule);
[[nodiscard]] std::string size_text(uint64_t bytes);  // "any", "8k"

// The text of a file. Throws std::invalid_argument if it cannot be had, or is longer than kMostRuleBytes.
[[nodiscard]] std::string read_rules(const std::string& path);

}  // namespace portunus::goal::collectives
