// Those who take part in a step of a collective, numbered 0 .. size-1, and what number each has in the script.
//
// Thread: any; plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace portunus::goal::collectives {

class Team {
 public:
  // `members`: the script's number of each; empty: they are 0 .. size-1 themselves. Must outlive the team.
  Team(uint32_t rank, uint32_t size, std::span<const uint32_t> members = {}) : rank(rank), size(size), full_(size), members_(members) {}

  // The same ranks counted from `root` on: root is 0.
  [[nodiscard]] Team from(uint32_t root) const {
    Team team = *this;
    team.shift_ = root;
    team.rank = (rank + size - root) % size;
    return team;
  }

  // The largest power of two of ranks, for algorithms that need one: of the first 2 * folded() ranks only the even ones
  // stay. Whoever is left out (stays() is false) has no rank in it.
  [[nodiscard]] uint32_t folded() const { return size - std::bit_floor(size); }
  [[nodiscard]] bool stays() const { return rank >= 2 * folded() || rank % 2 == 0; }
  [[nodiscard]] bool has_left_out() const { return rank < 2 * folded() && rank % 2 == 0; }  // rank + 1
  [[nodiscard]] Team core() const {
    Team team = *this;
    team.fold_ = folded();
    team.size = std::bit_floor(size);
    team.rank = rank < 2 * folded() ? rank / 2 : rank - folded();
    return team;
  }
  // The rank before folding of a rank of the core.
  [[nodiscard]] uint32_t unfold(uint32_t i) const { return i < fold_ ? 2 * i : i + fold_; }

  // The script's number of rank i.
  [[nodiscard]] uint32_t peer(uint32_t i) const {
    i = unfold(i) + shift_;
    if (i >= full_) i -= full_;
    return members_.empty() ? i : members_[i];
  }

  uint32_t rank, size;

 private:
  uint32_t full_;
  uint32_t shift_ = 0, fold_ = 0;
  std::span<const uint32_t> members_;
};

}  // namespace portunus::goal::collectives
