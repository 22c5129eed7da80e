// Output of goaltune: a line for each point, what the choice in force loses, and the file of rules.
//
// Thread: one, of rank 0.
#pragma once

#include <span>
#include <string>

#include "engine/goal/collectives/choice.hpp"
#include "engine/tools/goaltune/points.hpp"

namespace portunus::goaltune {

// The machine on which it was measured.
struct Facts {
  std::string machine;  // name and processors
  int ranks = 0, least_per_node = 0, most_per_node = 0;
  std::string transport;
  bool crowded = false;
  std::string date;
  double margin = 0;
};

// Prints the times of each point; what `choices` would take and how much longer than the best that took, with a mark where it is more than
// the margin beyond doubt; the same of the new rules.
void print_table(std::span<const Point> points, goal::collectives::Choices choices, const char* name_of_choices,
                 std::span<const goal::collectives::Rule> rules, double margin);

[[nodiscard]] std::string file_text(const Facts& facts, std::span<const goal::collectives::Rule> rules);

// Empty, or a sentence: why a file cannot lie there.
[[nodiscard]] std::string cannot_write(const std::string& path);
// Writes a file beside it and renames that, so that nobody reads half of one. Empty, or a sentence.
[[nodiscard]] std::string write_file(const std::string& path, const std::string& text);

}  // namespace portunus::goaltune
