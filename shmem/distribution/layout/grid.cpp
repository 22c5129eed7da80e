// grid.cpp: row-major numbers of targets, and the checks.
#include "shmem/distribution/layout/grid.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <vector>

#include "shmem/distribution/explain.hpp"

namespace portunus::distribution {

int64_t targets_of(const ccc_layout& layout) {
  int64_t all = 1;
  for (int i = 0; i < layout.axes; ++i) all *= processors(layout.axis[i]);
  return all;
}
int64_t elements_of_room(const ccc_layout& layout) {
  int64_t all = 1;
  for (int i = 0; i < layout.axes; ++i) all *= room(layout.axis[i]);
  return all;
}

Coordinates coordinates_of(const ccc_layout& layout, int64_t number) {
  Coordinates found{};
  for (int i = layout.axes - 1; i >= 0; --i) {
    found[static_cast<size_t>(i)] = number % processors(layout.axis[i]);
    number /= processors(layout.axis[i]);
  }
  return found;
}
int64_t number_of(const ccc_layout& layout, const Coordinates& coordinates) {
  int64_t number = 0;
  for (int i = 0; i < layout.axes; ++i) number = number * processors(layout.axis[i]) + coordinates[static_cast<size_t>(i)];
  return number;
}

std::optional<int64_t> target_on(const ccc_layout& layout, int pe) {
  const int64_t all = targets_of(layout);
  if (!layout.pes) {
    if (pe < layout.first_pe || pe - layout.first_pe >= all) return std::nullopt;
    return pe - layout.first_pe;
  }
  const int* const found = std::find(layout.pes, layout.pes + all, pe);
  if (found == layout.pes + all) return std::nullopt;
  return found - layout.pes;
}

Coordinates strides_of(const ccc_layout& layout) {
  Coordinates strides{};
  int64_t stride = 1;
  for (int i = layout.axes - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= room(layout.axis[i]);
  }
  return strides;
}

bool has_elements(const ccc_layout& layout, int64_t number) {
  const Coordinates at = coordinates_of(layout, number);
  for (int i = 0; i < layout.axes; ++i)
    if (count(layout.axis[i], at[static_cast<size_t>(i)]) == 0) return false;
  return true;
}

namespace {

// The calls that make axes leave them as `finish` does: what else is written there was written by hand.
bool untouched(const ccc_axis& axis) {
  if (!is_made(axis) || axis.steps < 1 || axis.steps > CCC_MOST_STEPS || axis.n < 0) return false;
  for (int i = 0; i < axis.steps; ++i)
    if (axis.step[i].block < 1 || axis.step[i].processors < 1) return false;
  ccc_axis again{};
  again.n = axis.n;
  again.steps = axis.steps;
  std::copy(axis.step, axis.step + axis.steps, again.step);
  if (!(is_balanced(axis) ? finish_balanced(again) : finish(again))) return false;
  return std::equal(std::begin(axis.hidden), std::end(axis.hidden), std::begin(again.hidden));
}

int check_pes(const ccc_layout& layout, const char* which, int64_t targets, int pes) {
  if (!layout.pes) {
    if (layout.first_pe < 0 || targets > pes - int64_t{layout.first_pe})
      return refuse(CCC_ERR_ARG, "layout `%s` wants PEs %d to %" PRId64 ", and the job has %d", which, layout.first_pe,
                    layout.first_pe + targets - 1, pes);
    return CCC_SUCCESS;
  }
  std::vector<int> sorted(layout.pes, layout.pes + targets);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= pes)
    return refuse(CCC_ERR_ARG, "layout `%s` names PE %d, and the job has PEs 0 to %d", which,
                  sorted.front() < 0 ? sorted.front() : sorted.back(), pes - 1);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return refuse(CCC_ERR_ARG, "layout `%s` names PE %d twice", which, *twice);
  return CCC_SUCCESS;
}

}  // namespace

int check_layout(const ccc_layout* layout, const char* which, int pes) {
  if (!layout) return refuse(CCC_ERR_ARG, "layout `%s` is NULL", which);
  if (layout->axes < 1 || layout->axes > CCC_MOST_AXES)
    return refuse(CCC_ERR_ARG, "layout `%s` has %d axes; it may have 1 to %d", which, layout->axes, CCC_MOST_AXES);
  int64_t targets = 1, elements = 1, indices = 1;
  for (int i = 0; i < layout->axes; ++i) {
    const ccc_axis& axis = layout->axis[i];
    if (!untouched(axis))
      return refuse(CCC_ERR_ARG, "axis %d of layout `%s` was not made by ccc_block_cyclic or one of its kin, or was changed since", i,
                    which);
    if (__builtin_mul_overflow(targets, processors(axis), &targets) ||
        __builtin_mul_overflow(elements, std::max<int64_t>(1, room(axis)), &elements) ||
        __builtin_mul_overflow(indices, std::max<int64_t>(1, axis.n), &indices))
      return refuse(CCC_ERR_ARG, "layout `%s` has more elements or targets than 63 bits count", which);
  }
  if (targets > pes) return refuse(CCC_ERR_ARG, "layout `%s` has %" PRId64 " targets, and there are %d PEs", which, targets, pes);
  return check_pes(*layout, which, targets, pes);
}

int check_pair(const ccc_layout* from, const ccc_layout* to, const int* permutation, size_t size, int pes,
               std::array<int, CCC_MOST_AXES>* order) {
  if (const int code = check_layout(from, "from", pes); code != CCC_SUCCESS) return code;
  if (const int code = check_layout(to, "to", pes); code != CCC_SUCCESS) return code;
  if (from->axes != to->axes) return refuse(CCC_ERR_ARG, "`from` has %d axes and `to` has %d", from->axes, to->axes);
  unsigned taken = 0;
  for (int i = 0; i < from->axes; ++i) {
    const int there = permutation ? permutation[i] : i;
    if (there < 0 || there >= from->axes || (taken >> there & 1))
      return refuse(CCC_ERR_ARG, "this is no permutation of %d axes: place %d says %d", from->axes, i, there);
    taken |= 1u << there;
    (*order)[static_cast<size_t>(i)] = there;
    if (from->axis[i].n != to->axis[there].n)
      return refuse(CCC_ERR_ARG, "axis %d of `from` has %" PRId64 " indices and axis %d of `to` has %" PRId64, i, from->axis[i].n, there,
                    to->axis[there].n);
  }
  int64_t bytes = 0;
  if (size == 0) return refuse(CCC_ERR_ARG, "elements of 0 bytes cannot be moved");
  for (const ccc_layout* layout : {from, to})
    if (size > INT64_MAX || __builtin_mul_overflow(std::max<int64_t>(1, elements_of_room(*layout)), static_cast<int64_t>(size), &bytes))
      return refuse(CCC_ERR_ARG, "an array of elements of %zu bytes does not fit in 63 bits", size);
  return CCC_SUCCESS;
}

}  // namespace portunus::distribution
