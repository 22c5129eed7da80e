// From measured points to few rules.
//
// An algorithm is good at a point if it takes at most `margin` longer than the best one there, or if that may be doubted. Of each
// collective the rules are as few as make a good choice at every point: sizes, and group sizes, are taken together as long as there is one
// algorithm that is good for all of them, so that noise makes no line of its own. Between two sizes that were measured a rule ends halfway,
// by powers of two; the last one holds for all sizes. Nothing is said of more ranks than were measured, nor of other
// places.
//
// Thread: any; pure.
#pragma once

#include <span>
#include <vector>

#include "engine/goal/collectives/rules.hpp"
#include "engine/tools/goaltune/points.hpp"

namespace portunus::goaltune {

// margin: 0.05 is 5 percent. Points without times are left out.
[[nodiscard]] std::vector<goal::collectives::Rule> rules_from(std::span<const Point> points, double margin);

// How much longer than the best one this algorithm took there, 0.05 is 5 percent; and how much of that is beyond doubt.
struct Loss {
  double seen, sure;
};
[[nodiscard]] Loss loss_of(const Point& point, goal::collectives::Algorithm algorithm);

}  // namespace portunus::goaltune
