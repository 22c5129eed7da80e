// ccc_array.hpp: the part of ccc.hpp about layouts, plans and arrays. Include ccc.hpp.
//
// An Array owns symmetric memory of its layout's room on every PE, made and freed collectively. Its own elements are plain
// memory; others are reached by put and get. Elements in holes are never read.
#ifndef CCC_ARRAY_HPP
#define CCC_ARRAY_HPP

#include <shmem.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "ccc.h"

namespace ccc {

using index_t = int64_t;

class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  int code() const { return code_; }  // CCC_ERR_*

 private:
  int code_;
};
inline void check(int code) {
  if (code != CCC_SUCCESS) throw Error(code, ccc_explain());
}

// How an axis is dealt out.
struct Function {
  enum Kind { kBlock, kCyclic, kBalanced, kWhole, kBlockCyclic } kind;
  index_t size = 0;  // of a block, kBlockCyclic
};
inline constexpr Function block{Function::kBlock}, cyclic{Function::kCyclic}, balanced{Function::kBalanced}, whole{Function::kWhole};
constexpr Function block_cyclic(index_t size) { return {Function::kBlockCyclic, size}; }

inline ccc_axis make_axis(index_t n, Function function, index_t processors) {
  ccc_axis axis{};
  switch (function.kind) {
    case Function::kBlock: check(ccc_block(&axis, n, processors)); break;
    case Function::kCyclic: check(ccc_cyclic(&axis, n, processors)); break;
    case Function::kBalanced: check(ccc_balanced(&axis, n, processors)); break;
    case Function::kWhole: check(ccc_compress(&axis, n)); break;
    case Function::kBlockCyclic: check(ccc_block_cyclic(&axis, n, function.size, processors)); break;
  }
  return axis;
}

struct Dimension {
  index_t n;
  Function function = whole;
  index_t processors = 1;
};

// A grid of PEs, one axis for each dimension. A value.
template <size_t R>
class Layout {
  static_assert(R >= 1 && R <= CCC_MOST_AXES);

 public:
  template <class... D>
  requires(sizeof...(D) == R) explicit Layout(D... dimensions) : Layout(std::array<Dimension, R>{dimensions...}) {}
  explicit Layout(const Dimension (&dimensions)[R]) { assign(dimensions); }
  explicit Layout(const std::array<Dimension, R>& dimensions) { assign(dimensions.data()); }
  explicit Layout(const ccc_layout& layout) : layout_(layout) {}

  const ccc_layout& c() const { return layout_; }
  void first_pe(int pe) { layout_.first_pe = pe; }
  index_t n(size_t axis) const { return layout_.axis[axis].n; }
  index_t room(size_t axis) const { return ccc_room(&layout_.axis[axis]); }
  // Elements of a local array.
  index_t rooms() const {
    index_t all = 1;
    for (size_t d = 0; d < R; ++d) all *= room(d);
    return all;
  }
  // -1: outside.
  int pe_of(const std::array<index_t, R>& at) const { return ccc_pe(&layout_, at.data(), nullptr); }
  int pe_of(std::integral auto... i) const { return pe_of(std::array<index_t, R>{static_cast<index_t>(i)...}); }
  index_t offset_of(const std::array<index_t, R>& at) const {
    index_t offset = -1;
    return ccc_pe(&layout_, at.data(), &offset) < 0 ? -1 : offset;
  }
  index_t offset_of(std::integral auto... i) const { return offset_of(std::array<index_t, R>{static_cast<index_t>(i)...}); }

  // f(index, offset) for the elements of a PE, in the order of their offsets.
  template <class F>
  void each(int pe, F f) const {
    std::array<index_t, R> target{}, at{};
    index_t number = pe - layout_.first_pe, all = 1;
    for (size_t d = 0; d < R; ++d) all *= processors(d);
    if (layout_.pes)
      for (number = 0; number < all && layout_.pes[number] != pe;) ++number;
    if (number < 0 || number >= all) return;
    for (size_t d = R; d-- > 0; number /= processors(d)) target[d] = number % processors(d);
    walk<0>(target, at, 0, f);
  }

 private:
  void assign(const Dimension* dimensions) {
    layout_.axes = static_cast<int>(R);
    for (size_t d = 0; d < R; ++d) layout_.axis[d] = make_axis(dimensions[d].n, dimensions[d].function, dimensions[d].processors);
  }
  index_t processors(size_t d) const { return layout_.axis[d].step[layout_.axis[d].steps - 1].processors; }
  template <size_t D, class F>
  void walk(const std::array<index_t, R>& target, std::array<index_t, R>& at, index_t offset, F& f) const {
    const index_t here = room(D);
    for (index_t o = 0; o < here; ++o) {
      at[D] = ccc_global(&layout_.axis[D], target[D], o);
      if (at[D] < 0) continue;
      if constexpr (D + 1 < R) walk<D + 1>(target, at, (offset * here + o), f);
      else f(at, offset * here + o);
    }
  }

  ccc_layout layout_{};
};
template <size_t R>
Layout(const Dimension (&)[R]) -> Layout<R>;

// A plan that frees itself; made and freed collectively.
class Plan {
 public:
  Plan(const ccc_layout& from, const ccc_layout& to, size_t size, const int* permutation = nullptr) {
    check(ccc_plan_create(&from, &to, permutation, size, &plan_));
  }
  Plan(Plan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  Plan& operator=(Plan other) noexcept { return std::swap(plan_, other.plan_), *this; }
  ~Plan() {
    if (!plan_) return;
    ccc_plan_wait(plan_);
    ccc_plan_free(&plan_);
  }
  void run(const void* from, void* to) { check(ccc_plan_run(plan_, from, to)); }
  void start(const void* from, void* to) { check(ccc_plan_start(plan_, from, to)); }
  void wait() { check(ccc_plan_wait(plan_)); }
  bool done() {
    int done = 0;
    check(ccc_plan_test(plan_, &done));
    return done != 0;
  }
  ccc_cost cost() const {
    ccc_cost cost;
    check(ccc_plan_cost(plan_, &cost));
    return cost;
  }
  ccc_plan get() const { return plan_; }

 private:
  ccc_plan plan_ = nullptr;
};

// Symmetric memory, made and freed collectively.
template <class T>
class Shared {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Shared(size_t count, bool zeroed = true)
      : data_(static_cast<T*>(zeroed ? shmem_calloc(count + 1, sizeof(T)) : shmem_malloc((count + 1) * sizeof(T)))) {
    if (!data_)
      throw Error(CCC_ERR_NO_SPACE, "the symmetric heap has no room for " + std::to_string(count) + " elements; set SHMEM_SYMMETRIC_SIZE");
  }
  Shared() = default;  // no memory
  Shared(Shared&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Shared& operator=(Shared other) noexcept { return std::swap(data_, other.data_), *this; }
  ~Shared() {
    if (data_) shmem_free(data_);
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

// Symmetric memory that is kept for the next time. All PEs make it grow alike.
class Growing {
 public:
  void grow(size_t bytes) {
    if (bytes <= bytes_) return;
    memory_ = Shared<std::byte>();
    memory_ = Shared<std::byte>(bytes, false);
    bytes_ = bytes;
  }
  std::byte* get() const { return memory_.get(); }

 private:
  Shared<std::byte> memory_;
  size_t bytes_ = 0;
};

template <class T, size_t R>
class Array {
 public:
  using Index = std::array<index_t, R>;

  explicit Array(Layout<R> layout) : layout_(layout), data_(static_cast<size_t>(layout.rooms())) {}

  const Layout<R>& layout() const { return layout_; }
  std::span<T> local() { return {data_.get(), static_cast<size_t>(layout_.rooms())}; }
  const T* data() const { return data_.get(); }
  T* data() { return data_.get(); }
  // An element that this PE has; checked.
  T& mine(const Index& at) {
    if (pe_of(at) != shmem_my_pe()) throw Error(CCC_ERR_ARG, "the element is on another PE");
    return data_.get()[layout_.offset_of(at)];
  }
  T& mine(std::integral auto... i) { return mine(Index{static_cast<index_t>(i)...}); }
  // Anybody's; not ordered with others' puts.
  T get(std::integral auto... i) const {
    const Index at{static_cast<index_t>(i)...};
    T value;
    shmem_getmem(&value, data_.get() + layout_.offset_of(at), sizeof value, pe_of(at));
    return value;
  }
  void put(T value, std::integral auto... i) {
    const Index at{static_cast<index_t>(i)...};
    shmem_putmem(data_.get() + layout_.offset_of(at), &value, sizeof value, pe_of(at));
  }
  // f(index, element) for this PE's own.
  template <class F>
  void each(F f) {
    layout_.each(shmem_my_pe(), [&](const Index& at, index_t offset) { f(at, data_.get()[offset]); });
  }
  // From and to a whole array on PE 0, row by row. Collective.
  void scatter(const T* front) { Plan(on_front(), layout_.c(), sizeof(T)).run(front, data_.get()); }
  void gather(T* front) const { Plan(layout_.c(), on_front(), sizeof(T)).run(data_.get(), front); }
  // The same array in another layout; axis i becomes axis permutation[i]. Collective.
  Array redistributed(Layout<R> to, const int* permutation = nullptr) const {
    Array there(to);
    Plan(layout_.c(), to.c(), sizeof(T), permutation).run(data_.get(), there.data());
    return there;
  }

 private:
  int pe_of(const Index& at) const {
    const int pe = layout_.pe_of(at);
    if (pe < 0) throw Error(CCC_ERR_ARG, "the index is outside of the array");
    return pe;
  }
  ccc_layout on_front() const {
    std::array<Dimension, R> dimensions;
    for (size_t d = 0; d < R; ++d) dimensions[d] = {layout_.n(d)};
    return Layout<R>(dimensions).c();
  }

  Layout<R> layout_;
  Shared<T> data_;
};

}  // namespace ccc

#endif
