// calls.cpp: the calls of ccc.h about layouts.
#include <algorithm>
#include <climits>
#include <cstdint>
#include <new>

#include "shmem/distribution/explain.hpp"
#include "shmem/distribution/layout/grid.hpp"
#include "shmem/distribution/layout/overlaps.hpp"
#include "shmem/distribution/layout/relabel.hpp"

using namespace portunus::distribution;

int ccc_pe(const ccc_layout* layout, const int64_t* index, int64_t* offset) {
  if (!layout || !index || layout->axes < 1 || layout->axes > CCC_MOST_AXES) return -1;
  int64_t number = 0, place = 0;
  for (int i = 0; i < layout->axes; ++i) {
    const ccc_axis& axis = layout->axis[i];
    if (!is_made(axis) || index[i] < 0 || index[i] >= axis.n) return -1;
    number = number * processors(axis) + target(axis, index[i]);
    place = place * room(axis) + portunus::distribution::offset(axis, index[i]);
  }
  if (offset) *offset = place;
  return pe_of(*layout, number);
}

int ccc_cost_of(const ccc_layout* from, const ccc_layout* to, const int* permutation, size_t size, ccc_cost* cost) try {
  std::array<int, CCC_MOST_AXES> order{};
  if (const int code = check_pair(from, to, permutation, size, INT_MAX, &order); code != CCC_SUCCESS) return code;
  if (!cost) return refuse(CCC_ERR_ARG, "there is no cost to fill: the pointer is NULL");
  constexpr int64_t kMostPairs = int64_t{1} << 24;
  if (targets_of(*from) > kMostPairs / targets_of(*to))
    return refuse(CCC_ERR_ARG, "the layouts have more than %lld pairs of targets: their cost would take too long to add up",
                  static_cast<long long>(kMostPairs));
  // A PE may be source and sink of all of it.
  int64_t most = 2;
  for (int i = 0; i < from->axes; ++i)
    if (__builtin_mul_overflow(most, std::max<int64_t>(1, from->axis[i].n), &most)) most = INT64_MAX;
  if (most > INT64_MAX / static_cast<int64_t>(size))
    return refuse(CCC_ERR_ARG, "arrays of these layouts have more bytes than can be counted, with %zu bytes for each element", size);
  *cost = cost_of(*from, *to, order, size);
  return CCC_SUCCESS;
} catch (const std::bad_alloc&) {
  return refuse(CCC_ERR_NO_SPACE, "there is no memory for the lists of pieces");
}

int ccc_relabel(const ccc_layout* from, const ccc_layout* to, const int* permutation, int* pe_of_target) try {
  constexpr int64_t kMost = 1024;
  std::array<int, CCC_MOST_AXES> order{};
  if (const int code = check_pair(from, to, permutation, 1, INT_MAX, &order); code != CCC_SUCCESS) return code;
  if (!pe_of_target) return refuse(CCC_ERR_ARG, "there is no array to fill: the pointer is NULL");
  const int64_t n = targets_of(*to);
  if (n > kMost)
    return refuse(CCC_ERR_ARG, "`to` has %lld targets, and at most %lld are relabelled", static_cast<long long>(n),
                  static_cast<long long>(kMost));
  const Overlaps overlaps(*from, *to, order, 1);
  // weights[i * n + j]: what the PE that is target i of `to` now has, in `from`, of target j.
  std::vector<int64_t> weights(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i) {
    const auto source = target_on(*from, pe_of(*to, i));
    for (int64_t j = 0; source && j < n; ++j) {
      const Move move = overlaps.move(*source, j);
      weights[static_cast<size_t>(i * n + j)] = move.empty() ? 0 : move.bytes();
    }
  }
  const std::vector<int> rows = assign_most(weights, static_cast<int>(n));
  std::vector<int> pes(rows.size());
  for (size_t j = 0; j < rows.size(); ++j) pes[j] = pe_of(*to, rows[j]);
  std::copy(pes.begin(), pes.end(), pe_of_target);
  return CCC_SUCCESS;
} catch (const std::bad_alloc&) {
  return refuse(CCC_ERR_NO_SPACE, "there is no memory for the lists of pieces");
}
