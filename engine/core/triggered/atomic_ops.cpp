// atomic_ops.cpp: one formula per operation, instantiated for each type it goes with; tables of these are both the
// dispatch and the answer to what is allowed.
//
// Thread: any number at once.
// Invariants: a word of 1, 2, 4 or 8 bytes at a multiple of its size is changed by one CPU atomic, so it never tears
// and no change is lost, whoever else works on it with CPU atomics. An operation that leaves a word as it was may read
// only. User memory of unknown alignment and type is otherwise touched by memcpy alone.
// Source: Portals 4.3, atomic operations and datatypes; the GOAL local operations.
#include "engine/core/triggered/atomic_ops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace portunus {
namespace {

// In the order of the ptl_datatype_t values.
using Types = std::tuple<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, float, int64_t, uint64_t, double, std::complex<float>,
                         std::complex<double>, long double, std::complex<long double>>;
template <size_t type>
using TypeAt = std::tuple_element_t<type, Types>;
static_assert(std::tuple_size_v<Types> == PTL_DATATYPE_LAST);
static_assert(std::is_same_v<TypeAt<PTL_FLOAT>, float> && std::is_same_v<TypeAt<PTL_UINT64_T>, uint64_t>);
static_assert(std::is_same_v<TypeAt<PTL_LONG_DOUBLE>, long double> && sizeof(long double) == 16);

template <class T>
constexpr bool is_complex = !std::is_arithmetic_v<T>;
template <class T>
constexpr bool is_word = sizeof(T) <= sizeof(uint64_t);  // has a CPU atomic

// ---- Values in memory -----------------------------------------------------------------------------------------------

template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(void* at, const T& value) {
  std::memcpy(at, &value, sizeof value);
}

// The bytes behind an 80-bit value are no part of it; zero keeps what is sent on reproducible.
template <>
void store(void* at, const long double& value) {
  constexpr size_t kValueBytes = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof value;
  std::memset(at, 0, sizeof value);
  std::memcpy(at, &value, kValueBytes);
}

template <>
void store(void* at, const std::complex<long double>& value) {
  store(at, value.real());
  store(static_cast<std::byte*>(at) + sizeof(long double), value.imag());
}

// ---- Formulas -------------------------------------------------------------------------------------------------------

// The type that sums and products are computed in: signed overflow wraps, and 16-bit factors are not promoted to int.
template <class T>
struct Wrapping {
  using Type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Wrapping<T> {
  using Type = std::common_type_t<unsigned, std::make_unsigned_t<T>>;
};

template <class T>
T sum(T t, T s) {
  using W = typename Wrapping<T>::Type;
  return static_cast<T>(W(t) + W(s));
}
template <class T>
T difference(T t, T s) {
  using W = typename Wrapping<T>::Type;
  return static_cast<T>(W(t) - W(s));
}
template <class T>
T product(T t, T s) {
  using W = typename Wrapping<T>::Type;
  return static_cast<T>(W(t) * W(s));
}

// The quotient; of an integer by zero: 0, which the caller reports.
template <class T>
T quotient(T t, T s) {
  if constexpr (std::is_integral_v<T>) {
    if (s == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (s == -1) return difference(T{0}, t);  // the CPU traps on the one quotient that overflows
  }
  return static_cast<T>(t / s);
}

// The target's new value from target t, initiator data s and operand o.
template <int op, class T>
T combine(T t, T s, [[maybe_unused]] T o) {
  if constexpr (op == PTL_MIN) return s < t ? s : t;
  if constexpr (op == PTL_MAX) return t < s ? s : t;
  if constexpr (op == PTL_SUM) return sum(t, s);
  if constexpr (op == PTL_PROD) return product(t, s);
  if constexpr (op == PTL_LOR) return t != 0 || s != 0;
  if constexpr (op == PTL_LAND) return t != 0 && s != 0;
  if constexpr (op == PTL_LXOR) return (t != 0) != (s != 0);
  if constexpr (op == PTL_BOR) return static_cast<T>(t | s);
  if constexpr (op == PTL_BAND) return static_cast<T>(t & s);
  if constexpr (op == PTL_BXOR) return static_cast<T>(t ^ s);
  if constexpr (op == PTL_SWAP) return s;
  if constexpr (op == PTL_CSWAP) return o == t ? s : t;
  if constexpr (op == PTL_CSWAP_NE) return o != t ? s : t;
  if constexpr (op == PTL_CSWAP_LE) return o <= t ? s : t;
  if constexpr (op == PTL_CSWAP_LT) return o < t ? s : t;
  if constexpr (op == PTL_CSWAP_GE) return o >= t ? s : t;
  if constexpr (op == PTL_CSWAP_GT) return o > t ? s : t;
  if constexpr (op == PTL_MSWAP) return static_cast<T>((o & s) | (~o & t));
}

template <class T>
constexpr bool allowed(int op) {
  switch (op) {
    case PTL_SUM:
    case PTL_PROD:
    case PTL_SWAP:
    case PTL_CSWAP:
    case PTL_CSWAP_NE: return true;
    case PTL_MIN:
    case PTL_MAX:
    case PTL_CSWAP_LE:
    case PTL_CSWAP_LT:
    case PTL_CSWAP_GE:
    case PTL_CSWAP_GT: return !is_complex<T>;
    default: return std::is_integral_v<T>;
  }
}

// ---- Changing one datum ---------------------------------------------------------------------------------------------

// The words of user memory, whatever type the user gave them.
template <size_t size>
struct WordOf;
template <>
struct WordOf<1> {
  using Value = uint8_t;
  typedef Value Cell __attribute__((may_alias));
};
template <>
struct WordOf<2> {
  using Value = uint16_t;
  typedef Value Cell __attribute__((may_alias));
};
template <>
struct WordOf<4> {
  using Value = uint32_t;
  typedef Value Cell __attribute__((may_alias));
};
template <>
struct WordOf<8> {
  using Value = uint64_t;
  typedef Value Cell __attribute__((may_alias));
};

// Returns the former value. `at` is a multiple of the size.
template <int op, class T>
T change_word(std::byte* at, T s, T o) {
  using Word = WordOf<sizeof(T)>;
  using Value = typename Word::Value;
  auto* cell = reinterpret_cast<typename Word::Cell*>(at);
  constexpr int kOrder = __ATOMIC_ACQ_REL;  // pairs with itself, on whichever thread or process changed the word before
  const auto value = load<Value>(&s);
  Value before;
  if constexpr (op == PTL_SWAP) {
    before = __atomic_exchange_n(cell, value, kOrder);
  } else if constexpr (op == PTL_SUM && std::is_integral_v<T>) {
    before = __atomic_fetch_add(cell, value, kOrder);
  } else if constexpr (op == PTL_BOR) {
    before = __atomic_fetch_or(cell, value, kOrder);
  } else if constexpr (op == PTL_BAND) {
    before = __atomic_fetch_and(cell, value, kOrder);
  } else if constexpr (op == PTL_BXOR) {
    before = __atomic_fetch_xor(cell, value, kOrder);
  } else if constexpr (op == PTL_CSWAP && std::is_integral_v<T>) {
    before = static_cast<Value>(o);
    __atomic_compare_exchange_n(cell, &before, value, false, kOrder, __ATOMIC_ACQUIRE);
  } else {
    before = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
    for (;;) {
      const T next = combine<op, T>(load<T>(&before), s, o);
      const auto after = load<Value>(&next);
      if (after == before || __atomic_compare_exchange_n(cell, &before, after, true, kOrder, __ATOMIC_ACQUIRE)) break;
    }
  }
  return load<T>(&before);
}

// For what has no CPU atomic. Each 32 bytes of memory have one of few locks.
class Lock {
 public:
  static Lock& of(const std::byte* at) { return locks_[reinterpret_cast<uintptr_t>(at) / 32 % kLocks]; }

  void lock() {
    for (unsigned tries = 1; taken_.test_and_set(std::memory_order_acquire); ++tries)  // pairs with unlock
      if (tries % 64 == 0) std::this_thread::yield();                                  // its owner may wait for this core
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  static constexpr size_t kLocks = 16;
  static Lock locks_[kLocks];
  alignas(64) std::atomic_flag taken_;
};
Lock Lock::locks_[kLocks];

template <int op, class T>
T change_locked(std::byte* at, T s, T o) {
  Lock& lock = Lock::of(at);
  lock.lock();
  const T before = load<T>(at);
  store(at, combine<op, T>(before, s, o));
  lock.unlock();
  return before;
}

// ---- Atomic operations ----------------------------------------------------------------------------------------------

template <class T, T (*change)(std::byte*, T, T)>
void change_each(std::byte* target, const std::byte* data, size_t size, std::byte* old, T operand) {
  const size_t whole = size / sizeof(T) * sizeof(T);
  if (!old) {  // apart, for CPUs have shorter instructions when nobody asks for the former value
    for (size_t i = 0; i < whole; i += sizeof(T)) change(target + i, load<T>(data + i), operand);
    return;
  }
  for (size_t i = 0; i < whole; i += sizeof(T)) store(old + i, change(target + i, load<T>(data + i), operand));
}

template <int op, class T>
void apply(std::byte* target, const std::byte* data, size_t size, std::byte* old, const void* operand) {
  T o{};
  if constexpr (op >= PTL_CSWAP) o = load<T>(operand);
  if constexpr (is_word<T>)
    if (reinterpret_cast<uintptr_t>(target) % sizeof(T) == 0) return change_each<T, change_word<op, T>>(target, data, size, old, o);
  change_each<T, change_locked<op, T>>(target, data, size, old, o);
}

using Apply = void (*)(std::byte*, const std::byte*, size_t, std::byte*, const void*);

template <int op, class T>
constexpr Apply apply_or_null() {
  if constexpr (allowed<T>(op)) return apply<op, T>;
  else return nullptr;
}

// ---- Local operations -----------------------------------------------------------------------------------------------

template <int op, class T>
T compute(T a, T b) {
  if constexpr (op == PTLX_ADD) return sum(a, b);
  if constexpr (op == PTLX_SUB) return difference(a, b);
  if constexpr (op == PTLX_MULT) return product(a, b);
  if constexpr (op == PTLX_DIV) return quotient(a, b);
  if constexpr (op == PTLX_MAX) return a < b ? b : a;
  if constexpr (op == PTLX_MIN) return b < a ? b : a;
  if constexpr (op == PTLX_AND) return static_cast<T>(a & b);
  if constexpr (op == PTLX_OR) return static_cast<T>(a | b);
  if constexpr (op == PTLX_XOR) return static_cast<T>(a ^ b);
}

template <class T>
constexpr bool local_allowed_for(int op) {
  if (sizeof(T) > 16) return false;
  if (is_complex<T> && (op == PTLX_MAX || op == PTLX_MIN || op == PTLX_DIV)) return false;
  return (op != PTLX_AND && op != PTLX_OR && op != PTLX_XOR) || std::is_integral_v<T>;
}

// Anywhere in memory. Copied values would do as well, but of these GCC makes no maximum that is one instruction.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T value;
};

// The usual places of dst: apart from the sources, or the first of them. There nothing is needed in between, and the engine's loop
// costs what a program's own does.
template <int op, class T>
void compute_apart(std::byte* __restrict dst, const std::byte* __restrict a, const std::byte* __restrict b, size_t count) {
  auto* to = reinterpret_cast<Loose<T>*>(dst);
  const auto *x = reinterpret_cast<const Loose<T>*>(a), *y = reinterpret_cast<const Loose<T>*>(b);
  for (size_t i = 0; i < count; ++i) to[i].value = compute<op, T>(x[i].value, y[i].value);
}
template <int op, class T>
void compute_into(std::byte* __restrict dst, const std::byte* __restrict b, size_t count) {
  auto* to = reinterpret_cast<Loose<T>*>(dst);
  const auto* y = reinterpret_cast<const Loose<T>*>(b);
  for (size_t i = 0; i < count; ++i) to[i].value = compute<op, T>(to[i].value, y[i].value);
}

// A block of results in between: it overlaps nothing, so the compiler vectorises the loop whether dst is one of the
// sources or not, and at any alignment.
template <int op, class T>
bool compute_each(std::byte* dst, const std::byte* a, const std::byte* b, size_t count) {
  if constexpr (std::is_arithmetic_v<T> && sizeof(T) <= 8 && !(op == PTLX_DIV && std::is_integral_v<T>)) {
    const auto apart = [bytes = count * sizeof(T)](const std::byte* x, const std::byte* y) { return x + bytes <= y || y + bytes <= x; };
    if (apart(dst, b) && (dst == a || apart(dst, a))) {
      if (dst == a) compute_into<op, T>(dst, b, count);
      else compute_apart<op, T>(dst, a, b, count);
      return true;
    }
  }
  constexpr size_t kBlock = 1024 / sizeof(T);
  T block[kBlock];
  for (size_t n; count > 0; count -= n) {
    n = std::min(count, kBlock);
    bool by_zero = false;
    for (size_t i = 0; i < n; ++i) {
      const T x = load<T>(a + i * sizeof(T)), y = load<T>(b + i * sizeof(T));
      if constexpr (op == PTLX_DIV && std::is_integral_v<T>) by_zero |= y == 0;
      block[i] = compute<op, T>(x, y);
    }
    if (by_zero) return false;
    std::memcpy(dst, block, n * sizeof(T));
    dst += n * sizeof(T), a += n * sizeof(T), b += n * sizeof(T);
  }
  return true;
}

template <class T>
bool copy(std::byte* dst, const std::byte* a, const std::byte*, size_t count) {
  std::memmove(dst, a, count * sizeof(T));
  return true;
}

using LocalCall = bool (*)(std::byte*, const std::byte*, const std::byte*, size_t);

template <class T>
struct [[gnu::packed]] Located {
  T value;
  int32_t place;
};

template <int op, class T>
bool locate_each(std::byte* dst, const std::byte* a, const std::byte* b, size_t count) {
  constexpr size_t kSize = sizeof(Located<T>);
  for (; count > 0; --count, dst += kSize, a += kSize, b += kSize) {
    const auto x = load<Located<T>>(a), y = load<Located<T>>(b);
    const bool second = x.value == y.value ? y.place < x.place : op == PTLX_MAX ? x.value < y.value : y.value < x.value;
    std::memmove(dst, second ? b : a, kSize);
  }
  return true;
}

template <int op, class T>
constexpr LocalCall local_or_null() {
  if constexpr (!local_allowed_for<T>(op)) return nullptr;
  else if constexpr (op == PTLX_COPY) return copy<T>;
  else return compute_each<op, T>;
}

// ---- Tables: [operation][type], null where the two do not go together -----------------------------------------------

constexpr size_t kOps = PTL_OP_LAST, kLocals = PTLX_TIMESTAMP, kTypes = PTL_DATATYPE_LAST;

template <class Function, size_t rows>
using Table = std::array<std::array<Function, kTypes>, rows>;
using Columns = std::make_index_sequence<kTypes>;

template <int op, size_t... type>
constexpr std::array<Apply, kTypes> apply_row(std::index_sequence<type...>) {
  return {apply_or_null<op, TypeAt<type>>()...};
}
template <size_t... op>
constexpr Table<Apply, kOps> apply_table(std::index_sequence<op...>) {
  return {apply_row<op>(Columns{})...};
}
constexpr auto kApply = apply_table(std::make_index_sequence<kOps>{});

template <int op, size_t... type>
constexpr std::array<LocalCall, kTypes> local_row(std::index_sequence<type...>) {
  return {local_or_null<op, TypeAt<type>>()...};
}
template <size_t... op>
constexpr Table<LocalCall, kLocals> local_table(std::index_sequence<op...>) {
  return {local_row<op>(Columns{})...};
}
constexpr auto kLocal = local_table(std::make_index_sequence<kLocals>{});

struct OfLocated {
  size_t size;
  LocalCall max, min, copy;
};
template <class T>
constexpr OfLocated of{sizeof(Located<T>), locate_each<PTLX_MAX, T>, locate_each<PTLX_MIN, T>, copy<Located<T>>};
// From PTLX_INT16_LOC on.
constexpr std::array<OfLocated, 6> kLocated{of<int16_t>, of<int32_t>, of<int64_t>, of<float>, of<double>, of<long double>};
static_assert(PTLX_INT16_LOC + kLocated.size() - 1 == PTLX_LONG_DOUBLE_LOC);

const OfLocated* find_located(ptl_datatype_t type) {
  return type >= PTLX_INT16_LOC && type <= PTLX_LONG_DOUBLE_LOC ? &kLocated[type - PTLX_INT16_LOC] : nullptr;
}

LocalCall find_local(ptlx_local_op_t op, ptl_datatype_t type) {
  if (static_cast<size_t>(op) < kLocals && type < kTypes) return kLocal[op][type];
  const OfLocated* located = find_located(type);
  if (located == nullptr) return nullptr;
  return op == PTLX_MAX ? located->max : op == PTLX_MIN ? located->min : op == PTLX_COPY ? located->copy : nullptr;
}

template <size_t... type>
constexpr std::array<size_t, kTypes> size_row(std::index_sequence<type...>) {
  return {sizeof(TypeAt<type>)...};
}
constexpr auto kSizes = size_row(Columns{});

}  // namespace

size_t datatype_size(ptl_datatype_t type) { return type < kTypes ? kSizes[type] : 0; }

bool atomic_allowed(ptl_op_t op, ptl_datatype_t type) { return op < PTL_SWAP && type < kTypes && kApply[op][type]; }

bool swap_allowed(ptl_op_t op, ptl_datatype_t type) { return op >= PTL_SWAP && op < kOps && type < kTypes && kApply[op][type]; }

bool await_allowed(ptl_datatype_t type) { return type <= PTL_UINT64_T && type != PTL_FLOAT; }

bool local_allowed(ptlx_local_op_t op, ptl_datatype_t type) {
  if (op == PTLX_TIMESTAMP || op == PTLX_DELAY) return true;  // of no type
  return find_local(op, type) != nullptr;
}

size_t local_size(ptl_datatype_t type) {
  const OfLocated* located = find_located(type);
  return located ? located->size : datatype_size(type);
}

void apply_atomic(ptl_op_t op, ptl_datatype_t type, void* target, const void* data, size_t size, void* old, const void* operand) {
  assert(op < kOps && type < kTypes && kApply[op][type]);
  kApply[op][type](static_cast<std::byte*>(target), static_cast<const std::byte*>(data), size, static_cast<std::byte*>(old), operand);
}

bool apply_local(ptlx_local_op_t op, ptl_datatype_t type, void* dst, const void* a, const void* b, size_t count) {
  assert(local_allowed(op, type));
  return find_local(op, type)(static_cast<std::byte*>(dst), static_cast<const std::byte*>(a), static_cast<const std::byte*>(b), count);
}

}  // namespace portunus
