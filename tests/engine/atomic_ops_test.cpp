// Every operation with every type against the formulas of the specification; alone and from several threads.
#include "engine/core/triggered/atomic_ops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "tests/engine/atomic_ops_reference.hpp"

namespace portunus {
namespace {

bool any_allowed(int op, ptl_datatype_t type) {
  return op < PTL_SWAP ? atomic_allowed(ptl_op_t(op), type) : swap_allowed(ptl_op_t(op), type);
}

// A datum at a chosen distance from alignment, between guards.
template <class T>
class Placed {
 public:
  Placed(T value, size_t shift) : shift_(shift) {
    std::memset(bytes_, 0xee, sizeof bytes_);
    std::memcpy(at(), &value, sizeof value);
  }
  std::byte* at() { return bytes_ + 64 + shift_; }
  T value() {
    T value;
    std::memcpy(&value, at(), sizeof value);
    return value;
  }
  bool guards_intact() {
    auto untouched = [](std::byte b) { return b == std::byte{0xee}; };
    return std::all_of(bytes_, at(), untouched) && std::all_of(at() + sizeof(T), bytes_ + sizeof bytes_, untouched);
  }

 private:
  alignas(64) std::byte bytes_[192];
  size_t shift_;
};

template <class>
class AtomicOps : public testing::Test {};
TYPED_TEST_SUITE(AtomicOps, AllTypes);
template <class>
class LocalOps : public testing::Test {};
TYPED_TEST_SUITE(LocalOps, AllTypes);

TEST(OperationsAndTypes, SizesAreThoseOfTheTypes) {
  const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, 16, 32};
  for (int type = 0; type < PTL_DATATYPE_LAST; ++type) EXPECT_EQ(datatype_size(ptl_datatype_t(type)), sizes[type]) << type;
  EXPECT_EQ(datatype_size(PTL_DATATYPE_LAST), 0u);
  EXPECT_EQ(datatype_size(0xff), 0u);
}

TEST(OperationsAndTypes, GoTogetherAsTheTableSays) {
  auto join = [](std::set<int> a, const std::set<int>& b) {
    a.insert(b.begin(), b.end());
    return a;
  };
  const std::set<int> real = join(kIntegers, kFloats), all = join(real, kComplex);
  for (int op = 0; op < 256; ++op) {
    std::set<int> types;
    if (std::set<int>{PTL_MIN, PTL_MAX, PTL_CSWAP_LE, PTL_CSWAP_LT, PTL_CSWAP_GE, PTL_CSWAP_GT}.count(op)) types = real;
    if (std::set<int>{PTL_SUM, PTL_PROD, PTL_SWAP, PTL_CSWAP, PTL_CSWAP_NE}.count(op)) types = all;
    if (std::set<int>{PTL_LOR, PTL_LAND, PTL_LXOR, PTL_BOR, PTL_BAND, PTL_BXOR, PTL_MSWAP}.count(op)) types = kIntegers;
    const bool swap = op >= PTL_SWAP;
    for (int type = 0; type < 256; ++type) {
      EXPECT_EQ(atomic_allowed(ptl_op_t(op), ptl_datatype_t(type)), !swap && types.count(type)) << op << " " << type;
      EXPECT_EQ(swap_allowed(ptl_op_t(op), ptl_datatype_t(type)), swap && types.count(type)) << op << " " << type;
    }
  }
}

TEST(OperationsAndTypes, LocalOnesOrderAndDivideNoComplexNumbers) {
  for (int op = 0; op < 16; ++op)  // what the enumeration's bits can hold
    for (int type = 0; type < 256; ++type) {
      const bool bitwise = op == PTLX_AND || op == PTLX_OR || op == PTLX_XOR;
      const bool ordered = op == PTLX_MAX || op == PTLX_MIN || op == PTLX_DIV;
      const bool complex = kComplex.count(type) && type != PTL_LONG_DOUBLE_COMPLEX;
      bool expected = op <= PTLX_COPY && (kIntegers.count(type) || (kFloats.count(type) && !bitwise) || (complex && !bitwise && !ordered));
      if (type >= PTLX_INT16_LOC && type <= PTLX_LONG_DOUBLE_LOC) expected = op == PTLX_MAX || op == PTLX_MIN || op == PTLX_COPY;
      if (op == PTLX_TIMESTAMP || op == PTLX_DELAY) expected = true;  // have no type
      EXPECT_EQ(local_allowed(ptlx_local_op_t(op), ptl_datatype_t(type)), expected) << op << " " << type;
    }
}

TYPED_TEST(AtomicOps, GiveTheFormulaOfTheTableAndReturnTheFormerValue) {
  using T = typename TypeParam::T;
  for (int op = 0; op < PTL_OP_LAST; ++op) {
    if (!any_allowed(op, TypeParam::type)) continue;
    for (T t : samples<T>())
      for (T s : samples<T>())
        for (T o : samples<T>()) {
          Placed<T> target(t, 0), silent(t, 0), data(s, 0), old(T{}, 0), operand(o, 0);
          apply_atomic(ptl_op_t(op), TypeParam::type, target.at(), data.at(), sizeof(T), old.at(), operand.at());
          apply_atomic(ptl_op_t(op), TypeParam::type, silent.at(), data.at(), sizeof(T), nullptr, operand.at());
          const T want = expected<T>(op, t, s, o);
          ASSERT_TRUE(same(target.value(), want)) << op << ": " << +target.value() << " of " << +t << " " << +s << " " << +o;
          ASSERT_TRUE(same(silent.value(), want)) << op;
          ASSERT_TRUE(same(old.value(), t)) << op;
          ASSERT_TRUE(target.guards_intact() && silent.guards_intact() && old.guards_intact()) << op;
          ASSERT_TRUE(same(data.value(), s) && same(operand.value(), o)) << op;
          if (op < PTL_CSWAP) break;  // the operand is ignored
        }
  }
}

TYPED_TEST(AtomicOps, TakeTargetDataOperandAndFormerValueAtAnyAddress) {
  using T = typename TypeParam::T;
  for (int op = 0; op < PTL_OP_LAST; ++op) {
    if (!any_allowed(op, TypeParam::type)) continue;
    for (size_t shift = 0; shift < 64; ++shift)
      for (T o : {samples<T>()[1], samples<T>()[2]}) {
        const T t = samples<T>()[1], s = samples<T>()[3];
        Placed<T> target(t, shift), data(s, (shift + 1) % 64), old(T{}, (shift + 2) % 64), operand(o, (shift + 3) % 64);
        apply_atomic(ptl_op_t(op), TypeParam::type, target.at(), data.at(), sizeof(T), old.at(), operand.at());
        ASSERT_TRUE(same(target.value(), expected<T>(op, t, s, o))) << op << " at " << shift;
        ASSERT_TRUE(same(old.value(), t)) << op << " at " << shift;
        ASSERT_TRUE(target.guards_intact() && old.guards_intact()) << op << " at " << shift;
      }
  }
}

TYPED_TEST(AtomicOps, ChangeEachWholeDatumAndNothingOfAPartialOne) {
  using T = typename TypeParam::T;
  const T one = samples<T>()[1], two = exact('+', one, one);
  for (size_t shift : {size_t{0}, size_t{1}}) {
    constexpr size_t kWhole = 5;
    std::vector<T> data(kWhole + 1, one);
    alignas(32) std::byte target[(kWhole + 2) * sizeof(T)], old[(kWhole + 2) * sizeof(T)], target_was[sizeof target];
    std::memset(old, 0xee, sizeof old);
    for (size_t i = 0; i <= kWhole; ++i) std::memcpy(target + shift + i * sizeof(T), &one, sizeof one);
    std::memcpy(target_was, target, sizeof target);
    apply_atomic(PTL_SUM, TypeParam::type, target + shift, data.data(), (kWhole + 1) * sizeof(T) - 1, old, nullptr);
    // one byte short of a sixth datum; types of one byte have none to cut
    for (size_t i = 0; i < kWhole; ++i) {
      T now, before;
      std::memcpy(&now, target + shift + i * sizeof(T), sizeof now);
      std::memcpy(&before, old + i * sizeof(T), sizeof before);
      EXPECT_TRUE(same(now, two)) << i;
      EXPECT_TRUE(same(before, one)) << i;
    }
    EXPECT_EQ(std::memcmp(target + shift + kWhole * sizeof(T), target_was + shift + kWhole * sizeof(T), sizeof(T)), 0);
    EXPECT_EQ(old[kWhole * sizeof(T)], std::byte{0xee});
  }
  apply_atomic(PTL_SUM, TypeParam::type, nullptr, nullptr, 0, nullptr, nullptr);
}

TEST(AtomicFloats, CompareByValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double minus_zero = -0.0, zero = 0.0, one = 1.0;
  double target = minus_zero, old = 7;
  apply_atomic(PTL_CSWAP, PTL_DOUBLE, &target, &one, sizeof target, &old, &zero);
  EXPECT_EQ(target, 1.0);
  EXPECT_TRUE(std::signbit(old));
  target = nan;
  apply_atomic(PTL_CSWAP, PTL_DOUBLE, &target, &one, sizeof target, &old, &nan);
  EXPECT_TRUE(target != target);
  apply_atomic(PTL_CSWAP_NE, PTL_DOUBLE, &target, &one, sizeof target, &old, &nan);
  EXPECT_EQ(target, 1.0);
}

// Bytes of an 80-bit value's place that are no part of it.
std::vector<size_t> padding_of(size_t size) {
  std::vector<size_t> found;
  if (std::numeric_limits<long double>::digits == 64)
    for (size_t i = 0; i < size; ++i)
      if (i % 16 >= 10) found.push_back(i);
  return found;
}

TEST(AtomicLongDouble, IgnoresPaddingAndWritesItAsZero) {
  auto check = [](auto one, auto five, ptl_datatype_t type) {
    using T = decltype(one);
    alignas(16) unsigned char target[sizeof(T)], operand[sizeof(T)], data[sizeof(T)], old[sizeof(T)];
    std::memcpy(target, &one, sizeof one);
    std::memcpy(operand, &one, sizeof one);
    std::memcpy(data, &five, sizeof five);
    std::memset(old, 0x33, sizeof old);
    for (size_t i : padding_of(sizeof(T))) target[i] = 0x11, operand[i] = 0x22, data[i] = 0x44;
    apply_atomic(PTL_CSWAP, type, target, data, sizeof(T), old, operand);
    T now, before;
    std::memcpy(&now, target, sizeof now);
    std::memcpy(&before, old, sizeof before);
    EXPECT_EQ(now, five);
    EXPECT_EQ(before, one);
    for (size_t i : padding_of(sizeof(T))) EXPECT_EQ(target[i] | old[i], 0) << i;
  };
  check(1.0L, 5.0L, PTL_LONG_DOUBLE);
  check(std::complex<long double>(1, -1), std::complex<long double>(5, 2), PTL_LONG_DOUBLE_COMPLEX);
}

// ---- Several threads: nothing is lost -----------------------------------------------------------------------------------

constexpr int kThreads = 4, kRounds = 5000;

void in_threads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TYPED_TEST(AtomicOps, AllSumsOfAllThreadsCount) {
  using T = typename TypeParam::T;
  for (size_t shift : {size_t{0}, size_t{4}}) {  // a 4-byte boundary: how C aligns a float complex
    if (sizeof(T) < 8 && shift) continue;
    Placed<T> target(T{}, shift);
    in_threads([&](int) {
      T one = samples<T>()[1];
      for (int i = 0; i < kRounds; ++i) apply_atomic(PTL_SUM, TypeParam::type, target.at(), &one, sizeof one, nullptr, nullptr);
    });
    const int total = kThreads * kRounds;
    if constexpr (is_complex<T>) EXPECT_EQ(target.value(), T(total, 0));
    else EXPECT_EQ(target.value(), static_cast<T>(total));
  }
}

TYPED_TEST(AtomicOps, ConditionalSwapLetsOneThreadInAtATime) {
  using T = typename TypeParam::T;
  T free{}, taken = samples<T>()[1];
  Placed<T> word(free, 0);
  long plain = 0;  // guarded by the word: the swaps order it, too
  in_threads([&](int) {
    for (int i = 0; i < kRounds / 10; ++i) {
      T old;
      for (;;) {
        apply_atomic(PTL_CSWAP, TypeParam::type, word.at(), &taken, sizeof taken, &old, &free);
        if (old == free) break;
        std::this_thread::yield();
      }
      ++plain;
      apply_atomic(PTL_SWAP, TypeParam::type, word.at(), &free, sizeof free, &old, nullptr);
      if (old != taken) ADD_FAILURE() << "somebody else let go";
    }
  });
  EXPECT_EQ(plain, long{kThreads} * (kRounds / 10));
}

TYPED_TEST(AtomicOps, BitsThatThreadsFlipAndMaskAreTheirs) {
  using T = typename TypeParam::T;
  if constexpr (std::is_integral_v<T>) {
    Placed<T> word(T{}, 0);
    in_threads([&](int id) {
      const T mask = T(1 << id), none = 0;
      for (int i = 0; i < kRounds; ++i) {
        T old;
        apply_atomic(PTL_BXOR, TypeParam::type, word.at(), &mask, sizeof mask, &old, nullptr);
        if (old & mask) ADD_FAILURE() << "flipped by another";
        apply_atomic(PTL_MSWAP, TypeParam::type, word.at(), &none, sizeof none, &old, &mask);
        if (!(old & mask)) ADD_FAILURE() << "cleared by another";
      }
      apply_atomic(PTL_BXOR, TypeParam::type, word.at(), &mask, sizeof mask, nullptr, nullptr);
    });
    EXPECT_EQ(word.value(), T((1 << kThreads) - 1));
  }
}

TYPED_TEST(AtomicOps, FetchedSumsAreAllDifferent) {
  using T = typename TypeParam::T;
  if constexpr (!is_complex<T> && sizeof(T) >= 4) {
    Placed<T> word(T{}, 0);
    std::vector<std::vector<T>> seen(kThreads);
    in_threads([&](int id) {
      const T one = 1;
      for (int i = 0; i < kRounds / 10; ++i) {
        T old;
        apply_atomic(PTL_SUM, TypeParam::type, word.at(), &one, sizeof one, &old, nullptr);
        seen[size_t(id)].push_back(old);
      }
    });
    std::set<T> all;
    for (const auto& one : seen) {
      EXPECT_TRUE(std::is_sorted(one.begin(), one.end()));
      all.insert(one.begin(), one.end());
    }
    EXPECT_EQ(all.size(), size_t{kThreads} * (kRounds / 10));
  }
}

TEST(AtomicMemory, NeighboursOfASmallWordKeepTheirValues) {
  alignas(8) uint8_t bytes[8] = {};
  in_threads([&](int id) {
    const uint8_t one = 1;
    for (int i = 0; i < kRounds; ++i) apply_atomic(PTL_SUM, PTL_UINT8_T, bytes + 2 * id, &one, 1, nullptr, nullptr);
  });
  for (int i = 0; i < 8; ++i) EXPECT_EQ(bytes[i], i % 2 ? 0 : uint8_t(kRounds)) << i;
}

// ---- Local operations ---------------------------------------------------------------------------------------------------

TYPED_TEST(LocalOps, GiveTheirFormulaForAnyCountAndAlignment) {
  using T = typename TypeParam::T;
  if constexpr (!is_complex<T>) {
    const std::vector<T> values = samples<T>();
    for (int op = PTLX_ADD; op <= PTLX_COPY; ++op) {
      if (!local_allowed(ptlx_local_op_t(op), TypeParam::type)) continue;
      for (size_t count : {0, 1, 2, 15, 64, 127, 128, 129, 256, 1024, 1025, 3000})
        for (size_t shift : {size_t{0}, size_t{1}, sizeof(T)}) {
          std::vector<std::byte> a(count * sizeof(T) + 64), b(a.size()), dst(a.size(), std::byte{0xee});
          std::vector<T> want(count);
          for (size_t i = 0; i < count; ++i) {
            const T x = values[i % values.size()];
            T y = values[i / values.size() % values.size()];
            if (op == PTLX_DIV && y == T{}) y = 3;
            std::memcpy(&a[shift + i * sizeof(T)], &x, sizeof x);
            std::memcpy(&b[shift + i * sizeof(T)], &y, sizeof y);
            want[i] = expected_local(op, x, y);
          }
          const auto check = [&](const std::vector<std::byte>& result) {
            for (size_t i = 0; i < count; ++i) {
              T got;
              std::memcpy(&got, &result[shift + i * sizeof(T)], sizeof got);
              ASSERT_TRUE(same(got, want[i])) << op << " at " << i << " of " << count << ": " << +got << ", not " << +want[i];
            }
          };
          const auto run = [&](std::vector<std::byte>& to) {
            return apply_local(ptlx_local_op_t(op), TypeParam::type, &to[shift], &a[shift], op == PTLX_COPY ? nullptr : &b[shift], count);
          };
          ASSERT_TRUE(run(dst));
          check(dst);
          ASSERT_EQ(dst[shift + count * sizeof(T)], std::byte{0xee});
          const std::vector<std::byte> a_was = a;
          ASSERT_TRUE(run(a));  // in place of the first
          check(a);
          a = a_was;
          if (op == PTLX_COPY) continue;
          ASSERT_TRUE(run(b));  // in place of the second
          check(b);
        }
    }
  }
}

TEST(LocalOpsOnComplex, AddAndMultiply) {
  const std::vector<std::complex<double>> a(100, {1, 2}), b(100, {3, -1});
  std::vector<std::complex<double>> dst(100);
  EXPECT_TRUE(apply_local(PTLX_MULT, PTL_DOUBLE_COMPLEX, dst.data(), a.data(), b.data(), 100));
  for (const auto& product : dst) EXPECT_EQ(product, std::complex<double>(5, 5));
  EXPECT_TRUE(apply_local(PTLX_ADD, PTL_DOUBLE_COMPLEX, dst.data(), a.data(), b.data(), 100));
  for (const auto& sum : dst) EXPECT_EQ(sum, std::complex<double>(4, 1));
}

template <class T>
void check_located(ptl_datatype_t type) {
  struct [[gnu::packed]] Pair {
    T value;
    int32_t place;
  };
  ASSERT_EQ(local_size(type), sizeof(Pair));
  const Pair a[] = {{1, 5}, {-2, 6}, {3, 7}, {4, -1}}, b[] = {{2, 9}, {-3, 8}, {3, 2}, {4, 0}};
  const auto check = [&](ptlx_local_op_t op, const std::vector<Pair>& want) {
    std::vector<Pair> apart(4), first(a, a + 4), second(b, b + 4);
    EXPECT_TRUE(apply_local(op, type, apart.data(), a, b, 4));
    EXPECT_TRUE(apply_local(op, type, first.data(), first.data(), b, 4));
    EXPECT_TRUE(apply_local(op, type, second.data(), a, second.data(), 4));
    for (size_t i = 0; i < 4; ++i)
      for (const auto& got : {apart[i], first[i], second[i]})
        EXPECT_TRUE(T(got.value) == T(want[i].value) && int32_t(got.place) == int32_t(want[i].place)) << op << " " << int{type} << " " << i;
  };
  check(PTLX_MAX, {{2, 9}, {-2, 6}, {3, 2}, {4, -1}});
  check(PTLX_MIN, {{1, 5}, {-3, 8}, {3, 2}, {4, -1}});
}

TEST(LocalOpsOnPairs, GiveTheLargerOrSmallerValueAndOfEqualOnesTheSmallerPlace) {
  check_located<int16_t>(PTLX_INT16_LOC);
  check_located<int32_t>(PTLX_INT32_LOC);
  check_located<int64_t>(PTLX_INT64_LOC);
  check_located<float>(PTLX_FLOAT_LOC);
  check_located<double>(PTLX_DOUBLE_LOC);
  check_located<long double>(PTLX_LONG_DOUBLE_LOC);
}

TYPED_TEST(LocalOps, RefuseToDivideIntegersByZero) {
  using T = typename TypeParam::T;
  if constexpr (std::is_integral_v<T>) {
    for (size_t at : {0, 1, 99, 2999}) {
      std::vector<T> a(3000, 6), b(3000, 2), dst(3000);
      EXPECT_TRUE(apply_local(PTLX_DIV, TypeParam::type, dst.data(), a.data(), b.data(), 3000));
      b[at] = 0;
      EXPECT_FALSE(apply_local(PTLX_DIV, TypeParam::type, dst.data(), a.data(), b.data(), 3000)) << at;
      EXPECT_TRUE(apply_local(PTLX_DIV, TypeParam::type, dst.data(), a.data(), b.data(), at));
    }
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    T a = 1, b = 0, dst = 0;
    EXPECT_TRUE(apply_local(PTLX_DIV, TypeParam::type, &dst, &a, &b, 1));
    EXPECT_EQ(dst, std::numeric_limits<T>::infinity());
  }
}

TYPED_TEST(LocalOps, WrapTheOneSignedQuotientThatOverflows) {
  using T = typename TypeParam::T;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    T a = std::numeric_limits<T>::min(), b = -1, dst = 0;
    EXPECT_TRUE(apply_local(PTLX_DIV, TypeParam::type, &dst, &a, &b, 1));
    EXPECT_EQ(dst, a);
  }
}

}  // namespace
}  // namespace portunus
