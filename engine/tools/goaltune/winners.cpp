// Covering what was measured by as few rules as possible: see winners.hpp.
//
// Thread: any; pure.
#include "engine/tools/goaltune/winners.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

namespace portunus::goaltune {

using goal::collectives::Algorithm;
using goal::collectives::Collective;
using goal::collectives::kAnySize;
using goal::collectives::offered;
using goal::collectives::RankPlacement;
using goal::collectives::Rule;
using goal::collectives::Where;

namespace {

using Losses = std::vector<Loss>;        // of each algorithm, in the order of offered()
using Row = std::map<uint64_t, Losses>;  // by size
using Table = std::map<uint32_t, Row>;   // by number of ranks

Losses losses_of(const Point& point) {
  const auto best = static_cast<size_t>(std::ranges::min_element(point.times) - point.times.begin());
  const double fastest = point.times[best], least = std::max(fastest, point.doubts[best]);  // next to nothing is no measure of anything
  Losses losses;
  for (size_t i = 0; i < point.times.size(); ++i) {
    const double more = point.times[i] - fastest, doubt = std::hypot(point.doubts[i], point.doubts[best]);
    losses.push_back(least > 0 ? Loss{more / least, std::max(0.0, more - doubt) / least} : Loss{0, 0});
  }
  return losses;
}

bool has_a_good_one(const Losses& losses, double margin) {
  return std::ranges::any_of(losses, [&](const Loss& loss) { return loss.sure <= margin; });
}

// The row that holds for both: the worse of each. Sizes that only one of them has are as there.
Row together(const Row& a, const Row& b) {
  Row both = a;
  for (const auto& [bytes, losses] : b) {
    const auto [at, is_new] = both.try_emplace(bytes, losses);
    if (!is_new)
      std::ranges::transform(at->second, losses, at->second.begin(), [](const Loss& x, const Loss& y) {
        return Loss{std::max(x.seen, y.seen), std::max(x.sure, y.sure)};
      });
  }
  return both;
}

// Halfway from one size to the next, by powers of two.
uint64_t between(uint64_t size, uint64_t next) {
  uint64_t bound = size;
  for (uint64_t ratio = size == 0 ? 0 : next / size; ratio >= 4; ratio /= 4) bound *= 2;
  return bound;
}

// The algorithm that stays good for the most sizes from `begin` on; of several the one that loses least there.
struct Stretch {
  size_t algorithm = 0, length = 0;
  double loss = 0;
};
Stretch longest(Row::const_iterator begin, Row::const_iterator end, double margin) {
  Stretch best;
  for (size_t i = 0; i < begin->second.size(); ++i) {
    Stretch stretch{i, 0, 0};
    for (auto at = begin; at != end && at->second[i].sure <= margin; ++at) {
      ++stretch.length;
      stretch.loss += at->second[i].seen;
    }
    if (stretch.length > best.length || (stretch.length == best.length && stretch.loss < best.loss)) best = stretch;
  }
  return best;
}

// Through the memory of a node there is no other way than with several ranks on it.
Where where(RankPlacement place) {
  const int asked = RankPlacement::kNetwork | RankPlacement::kCrowded | (place.has(RankPlacement::kNetwork) ? RankPlacement::kSeveral : 0);
  return {static_cast<uint8_t>(asked), static_cast<uint8_t>(place.facts & asked)};
}

void cover(Collective collective, const Row& row, uint32_t ranks, double margin, Where where, std::vector<Rule>& rules) {
  for (auto at = row.begin(); at != row.end();) {
    const Stretch stretch = longest(at, row.end(), margin);
    const auto last = std::next(at, static_cast<std::ptrdiff_t>(stretch.length) - 1);
    at = std::next(last);
    const uint64_t bytes = at == row.end() ? kAnySize : between(last->first, at->first);
    rules.push_back({collective, bytes, ranks, offered(collective)[stretch.algorithm], where});
  }
}

}  // namespace

std::vector<Rule> rules_from(std::span<const Point> points, double margin) {
  std::map<std::pair<Collective, RankPlacement>, Table> tables;
  for (const Point& point : points)
    if (!point.times.empty()) tables[{point.collective, point.place}][point.ranks][point.bytes] = losses_of(point);
  std::vector<Rule> rules;
  for (const auto& [what, table] : tables) {
    for (auto group = table.begin(); group != table.end();) {
      Row row = group->second;
      uint32_t ranks = group->first;
      for (++group; group != table.end(); ++group) {
        Row more = together(row, group->second);
        if (!std::ranges::all_of(more, [&](const auto& size) { return has_a_good_one(size.second, margin); })) break;
        row = std::move(more);
        ranks = group->first;
      }
      cover(what.first, row, ranks, margin, where(what.second), rules);
    }
  }
  return rules;
}

Loss loss_of(const Point& point, Algorithm algorithm) {
  const auto all = offered(point.collective);
  return losses_of(point)[static_cast<size_t>(std::ranges::find(all, algorithm) - all.begin())];
}

}  // namespace portunus::goaltune
