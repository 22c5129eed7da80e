// calls.cpp: the calls of ccc.h about one axis: check, then axis.hpp.
#include <algorithm>
#include <cinttypes>

#include "shmem/distribution/axis/axis.hpp"
#include "shmem/distribution/axis/transpose.hpp"
#include "shmem/distribution/explain.hpp"

namespace portunus::distribution {

thread_local char last_sentence[kMostText] = "no error";

namespace {

int make(ccc_axis* axis, int64_t n, int64_t block, int64_t count, bool balanced = false) {
  if (!axis) return refuse(CCC_ERR_ARG, "there is no axis to fill: the pointer is NULL");
  if (n < 0) return refuse(CCC_ERR_ARG, "an axis cannot have %" PRId64 " indices", n);
  if (block < 1) return refuse(CCC_ERR_ARG, "a block cannot have %" PRId64 " indices; it needs one or more", block);
  if (count < 1) return refuse(CCC_ERR_ARG, "indices cannot be dealt out to %" PRId64 " processors; it takes one or more", count);
  ccc_axis made{};
  made.n = n;
  made.steps = 1;
  made.step[0] = {block, count};
  if (!(balanced ? finish_balanced(made) : finish(made)))
    return refuse(CCC_ERR_ARG, "blocks of %" PRId64 " on %" PRId64 " processors do not fit in 63 bits", block, count);
  *axis = made;
  return CCC_SUCCESS;
}
int64_t even_block(int64_t n, int64_t count) { return n > 0 && count > 0 ? ceil_div(n, count) : 1; }

bool usable(const ccc_axis* axis) { return axis && is_made(*axis); }

int redeploy(const ccc_axis* axis, int64_t t, size_t size, void* to, const void* from, Order order) {
  if (!usable(axis)) return refuse(CCC_ERR_ARG, "this is no axis that ccc_block_cyclic or one of its kin has made");
  if (t < 0 || t >= processors(*axis))
    return refuse(CCC_ERR_ARG, "there is no processor %" PRId64 "; the axis has %" PRId64, t, processors(*axis));
  int64_t bytes = 0;
  if (size == 0 || size > INT64_MAX || __builtin_mul_overflow(room(*axis), static_cast<int64_t>(size), &bytes))
    return refuse(CCC_ERR_ARG, "elements of %zu bytes do not do: %" PRId64 " of them must fit in 63 bits, and be more than nothing", size,
                  room(*axis));
  ccc_axis merged;
  if (!ccc_merges(axis, &merged))
    return refuse(CCC_ERR_STATE,
                  "the cascade does not merge: one block-cyclic distribution has other targets, so there is no merged order");
  if (bytes != 0 && (!to || !from)) return refuse(CCC_ERR_ARG, "an array is NULL");
  const int64_t plain = room(merged) * static_cast<int64_t>(size);
  const auto a = reinterpret_cast<uintptr_t>(to), b = reinterpret_cast<uintptr_t>(from);
  const bool forth = order == Order::kToVirtual;
  if (a < b + static_cast<uintptr_t>(forth ? plain : bytes) && b < a + static_cast<uintptr_t>(forth ? bytes : plain))
    return refuse(CCC_ERR_ARG, "the two arrays overlap");
  transpose(*axis, merged, t, size, order, static_cast<std::byte*>(to), static_cast<const std::byte*>(from));
  return CCC_SUCCESS;
}

// Position within a matrix of `rows` x `columns` blocks of b, after it was transposed; -1 where the numbers are none.
int64_t transposed(int64_t i, int64_t b, int64_t rows, int64_t columns) {
  int64_t blocks = 0, all = 0;
  if (i < 0 || b < 1 || rows < 1 || columns < 1 || __builtin_mul_overflow(rows, columns, &blocks) ||
      __builtin_mul_overflow(blocks, b, &all) || i >= all)
    return -1;
  return (i / b % columns * rows + i / b / columns) * b + i % b;
}

}  // namespace
}  // namespace portunus::distribution

using namespace portunus::distribution;

int ccc_block_cyclic(ccc_axis* axis, int64_t n, int64_t block, int64_t processors) { return make(axis, n, block, processors); }
int ccc_block(ccc_axis* axis, int64_t n, int64_t processors) { return make(axis, n, even_block(n, processors), processors); }
int ccc_balanced(ccc_axis* axis, int64_t n, int64_t processors) { return make(axis, n, even_block(n, processors), processors, true); }
int ccc_cyclic(ccc_axis* axis, int64_t n, int64_t processors) { return make(axis, n, 1, processors); }
int ccc_compress(ccc_axis* axis, int64_t n) { return make(axis, n, even_block(n, 1), 1); }

int ccc_cascade(ccc_axis* axis, int64_t block, int64_t count) {
  if (!usable(axis)) return refuse(CCC_ERR_ARG, "this is no axis that ccc_block_cyclic or one of its kin has made");
  if (is_balanced(*axis)) return refuse(CCC_ERR_ARG, "a balanced axis is not block-cyclic, so it cannot be dealt out further");
  if (axis->steps == CCC_MOST_STEPS) return refuse(CCC_ERR_ARG, "the axis has %d steps already, which is the most", CCC_MOST_STEPS);
  if (block < 0 || count < 1)
    return refuse(CCC_ERR_ARG, "blocks of %" PRId64 " on %" PRId64 " processors do not do: it takes one or more of each (or block 0)",
                  block, count);
  ccc_axis made = *axis;
  made.step[made.steps++] = {block != 0 ? block : even_block(processors(*axis), count), count};
  if (!finish(made))
    return refuse(CCC_ERR_ARG,
                  "the cascade's room or period does not fit in 63 bits: blocks of %" PRId64 " on %" PRId64 " processors are too many",
                  block, count);
  *axis = made;
  return CCC_SUCCESS;
}

int64_t ccc_target(const ccc_axis* axis, int64_t s) {
  if (!usable(axis) || static_cast<uint64_t>(s) >= static_cast<uint64_t>(axis->n)) [[unlikely]]
    return -1;
  return target(*axis, s);
}
int64_t ccc_offset(const ccc_axis* axis, int64_t s) {
  if (!usable(axis) || static_cast<uint64_t>(s) >= static_cast<uint64_t>(axis->n)) [[unlikely]]
    return -1;
  return offset(*axis, s);
}
int64_t ccc_global(const ccc_axis* axis, int64_t t, int64_t o) {
  if (!usable(axis) || t < 0 || t >= processors(*axis) || o < 0 || o >= room(*axis)) return -1;
  return global(*axis, t, o);
}
int64_t ccc_count(const ccc_axis* axis, int64_t t) {
  if (!usable(axis) || t < 0 || t >= processors(*axis)) return -1;
  return count(*axis, t);
}
int64_t ccc_room(const ccc_axis* axis) { return usable(axis) ? room(*axis) : -1; }

int ccc_merges(const ccc_axis* axis, ccc_axis* merged) {
  if (!usable(axis) || !merges(*axis)) return 0;
  if (!merged) return 1;
  if (axis->steps == 1) return *merged = *axis, 1;
  ccc_axis made{};
  made.n = axis->n;
  made.steps = 1;
  made.step[0] = {axis->hidden[kBlock], processors(*axis)};
  if (!finish(made)) return 0;
  *merged = made;
  return 1;
}

int64_t ccc_map(int64_t i, int64_t b1, int64_t c1, int64_t b2, int64_t c2) {
  int64_t q = 0;
  if (b2 < 1 || c2 < 1 || __builtin_mul_overflow(b2, c2, &q)) return -1;
  return transposed(i, b1, c1, q);
}
int64_t ccc_unmap(int64_t i, int64_t b1, int64_t c1, int64_t b2, int64_t c2) {
  int64_t q = 0;
  if (b2 < 1 || c2 < 1 || __builtin_mul_overflow(b2, c2, &q)) return -1;
  return transposed(i, b1, q, c1);
}

int ccc_to_virtual(const ccc_axis* axis, int64_t t, size_t size, void* to, const void* from) {
  return redeploy(axis, t, size, to, from, Order::kToVirtual);
}
int ccc_from_virtual(const ccc_axis* axis, int64_t t, size_t size, void* to, const void* from) {
  return redeploy(axis, t, size, to, from, Order::kFromVirtual);
}

const char* ccc_explain(void) { return last_sentence; }
