// relabel.cpp: one shortest augmenting path for each row.
#include "shmem/distribution/layout/relabel.hpp"

#include <cstddef>
#include <limits>

namespace portunus::distribution {

std::vector<int> assign_most(const std::vector<int64_t>& weights, int n) {
  const auto columns = static_cast<size_t>(n) + 1;
  std::vector<int64_t> of_row(columns), of_column(columns);
  std::vector<size_t> row_of(columns), way(columns);
  for (size_t row = 1; row < columns; ++row) {
    row_of[0] = row;
    size_t column = 0;
    std::vector<int64_t> least(columns, std::numeric_limits<int64_t>::max());
    std::vector<bool> used(columns);
    do {
      used[column] = true;
      const size_t here = row_of[column];
      int64_t delta = std::numeric_limits<int64_t>::max();
      size_t next = 0;
      for (size_t c = 1; c < columns; ++c) {
        if (used[c]) continue;
        const int64_t cost = -weights[(here - 1) * (columns - 1) + c - 1] - of_row[here] - of_column[c];
        if (cost < least[c]) least[c] = cost, way[c] = column;
        if (least[c] < delta) delta = least[c], next = c;
      }
      for (size_t c = 0; c < columns; ++c) {
        if (used[c]) of_row[row_of[c]] += delta, of_column[c] -= delta;
        else least[c] -= delta;
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = way[column]) row_of[column] = row_of[way[column]];
  }
  std::vector<int> rows(static_cast<size_t>(n));
  for (size_t c = 1; c < columns; ++c) rows[c - 1] = static_cast<int>(row_of[c]) - 1;
  return rows;
}

}  // namespace portunus::distribution
