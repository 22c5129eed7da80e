// Reductions of all kinds against a sequential reference. Source: MPI-5.0, 6.9-6.12.
#include "collectives.hpp"

#include <algorithm>
#include <complex>
#include <functional>

namespace reductions_test {
namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

// All contributions combined in the order of the ranks [first, last). Truth values are 0 or 1, whatever goes in.
template <class T, class Combine>
std::vector<T> reference(int first, int last, size_t n, Combine&& combine, bool truth) {
  std::vector<T> result = vector_of<T>(first, n);
  if (truth) std::transform(result.begin(), result.end(), result.begin(), [](T value) { return value != T{} ? T{1} : T{}; });
  for (int r = first + 1; r < last; ++r) {
    const std::vector<T> next = vector_of<T>(r, n);
    for (size_t i = 0; i < n; ++i) result[i] = combine(result[i], next[i]);
  }
  return result;
}

// Every kind of reduction with one operation on one type.
template <class T, class Combine>
void check_all(MPI_Datatype type, MPI_Op op, Combine combine, std::initializer_list<size_t> sizes, bool truth = false) {
  for (const Form form : kForms)
    for (const size_t n : sizes)
      for (const bool in_place : {false, true}) {
        const int count = static_cast<int>(n), root = next_root(comm);
        const bool is_root = rank() == root;
        const std::vector<T> mine = vector_of<T>(rank(), n), total = reference<T>(0, ranks(), n, combine, truth);
        const auto room = [&](size_t size) { return in_place ? vector_of<T>(rank(), size) : std::vector<T>(size); };
        const void* from = in_place ? MPI_IN_PLACE : mine.data();
        std::vector<T> out = room(n);
        IN_FORM(form, comm, Allreduce, allreduce, from, out.data(), count, type, op);
        EXPECT_EQ(out, total);
        out = room(n);
        IN_FORM(form, comm, Reduce, reduce, is_root ? from : mine.data(), is_root ? out.data() : nullptr, count, type, op, root);
        if (is_root) {
          EXPECT_EQ(out, total);
        }
        out = room(n);
        IN_FORM(form, comm, Scan, scan, from, out.data(), count, type, op);
        EXPECT_EQ(out, reference<T>(0, rank() + 1, n, combine, truth));
        out = room(n);
        IN_FORM(form, comm, Exscan, exscan, from, out.data(), count, type, op);
        if (rank() > 0) {
          EXPECT_EQ(out, reference<T>(0, rank(), n, combine, truth));
        }
        const size_t all = n * static_cast<size_t>(ranks());
        const std::vector<T> vector = vector_of<T>(rank(), all), whole = reference<T>(0, ranks(), all, combine, truth);
        const ptrdiff_t begin = static_cast<ptrdiff_t>(n) * rank();
        from = in_place ? MPI_IN_PLACE : vector.data();
        const std::vector<T> part(whole.begin() + begin, whole.begin() + begin + static_cast<ptrdiff_t>(n));
        out = room(in_place ? all : n);
        IN_FORM(form, comm, Reduce_scatter_block, reduce_scatter_block, from, out.data(), count, type, op);
        out.resize(n);
        EXPECT_EQ(out, part);
        out = room(in_place ? all : n);
        const std::vector<int> counts = each(count, ranks());
        IN_FORM(form, comm, Reduce_scatter, reduce_scatter, from, out.data(), counts.data(), type, op);
        out.resize(n);
        EXPECT_EQ(out, part);
      }
}

TEST(Reductions, OfIntegersSumMinimumAndMaximum) {
  check_all<int>(MPI_INT, MPI_SUM, std::plus<int>(), {0, 1, 3, 1000, 30'000});
  check_all<int64_t>(MPI_INT64_T, MPI_MAX, [](int64_t a, int64_t b) { return std::max(a, b); }, {5});
  check_all<unsigned char>(MPI_UNSIGNED_CHAR, MPI_MIN, [](unsigned char a, unsigned char b) { return std::min(a, b); }, {5});
  check_all<unsigned short>(MPI_UNSIGNED_SHORT, MPI_PROD,
                            [](unsigned short a, unsigned short b) { return static_cast<unsigned short>(unsigned{a} * b); }, {5});
}

TEST(Reductions, OfBitsAndTruth) {
  check_all<unsigned>(MPI_UNSIGNED, MPI_BXOR, std::bit_xor<unsigned>(), {5});
  check_all<unsigned char>(MPI_BYTE, MPI_BAND, std::bit_and<unsigned char>(), {5});
  check_all<int>(
      MPI_INT, MPI_LAND, [](int a, int b) { return int{a && b}; }, {1, 200}, true);
  check_all<unsigned char>(
      MPI_C_BOOL, MPI_LOR, [](unsigned char a, unsigned char b) { return static_cast<unsigned char>(a || b); }, {5}, true);
}

TEST(Reductions, OfFloatingPointAndComplexNumbers) {
  check_all<double>(MPI_DOUBLE, MPI_SUM, std::plus<double>(), {1, 2000});
  check_all<float>(MPI_FLOAT, MPI_MAX, [](float a, float b) { return std::max(a, b); }, {5});
  check_all<long double>(MPI_LONG_DOUBLE, MPI_SUM, std::plus<long double>(), {5});
  check_all<std::complex<float>>(MPI_C_FLOAT_COMPLEX, MPI_SUM, std::plus<std::complex<float>>(), {5});
  check_all<long double>(MPI_LONG_DOUBLE, MPI_PROD, std::multiplies<long double>(), {3});
  check_all<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, MPI_PROD, std::multiplies<std::complex<double>>(), {3});
  check_all<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, std::plus<std::complex<long double>>(), {3});
}

struct Located {
  double value;
  int index;
};

TEST(Reductions, MinlocAndMaxlocNameTheLowestRankOfEqualValues) {
  const Located mine[2] = {{static_cast<double>(rank() / 2), rank()}, {static_cast<double>(-(rank() / 2)), rank()}};
  Located out[2];
  for (const Form form : kForms) {
    IN_FORM(form, comm, Allreduce, allreduce, mine, out, 2, MPI_DOUBLE_INT, MPI_MINLOC);
    EXPECT_EQ(out[0].value, 0);
    EXPECT_EQ(out[0].index, 0);
    EXPECT_EQ(out[1].index, (ranks() - 1) / 2 * 2);
    IN_FORM(form, comm, Allreduce, allreduce, mine, out, 2, MPI_DOUBLE_INT, MPI_MAXLOC);
    EXPECT_EQ(out[0].index, (ranks() - 1) / 2 * 2);
    EXPECT_EQ(out[1].index, 0);
  }
}

// Reductions of all kinds of pairs, and of as many as go by each way; each rank has its part of the largest values, and all share some.
template <class V, class I = int>
void check_located(MPI_Datatype type) {
  struct Pair {
    V value;
    I index;
  };
  const auto value = [](int from, size_t i) { return static_cast<V>(i % 3 == 0 ? 7 : given(from, i) - 40); };
  const auto n = static_cast<size_t>(ranks());
  for (const size_t count : {size_t{1}, size_t{7}, size_t{300}, size_t{5000}})
    for (const bool largest : {true, false}) {
      const auto best = [&](size_t i, int first, int last) {
        int found = first;
        for (int r = first + 1; r < last; ++r)
          if (largest ? value(r, i) > value(found, i) : value(r, i) < value(found, i)) found = r;
        return found;
      };
      std::vector<Pair> mine(count * n), all(count), scanned(count), own(count);
      for (size_t i = 0; i < mine.size(); ++i) mine[i] = {value(rank(), i), static_cast<I>(rank())};
      const MPI_Op op = largest ? MPI_MAXLOC : MPI_MINLOC;
      const int length = static_cast<int>(count);
      MPI_Request requests[2];
      MPI_Iallreduce(mine.data(), all.data(), length, type, op, MPI_COMM_WORLD, &requests[0]);
      MPI_Iscan(mine.data(), scanned.data(), length, type, op, MPI_COMM_WORLD, &requests[1]);
      EXPECT_EQ(MPI_Reduce_scatter_block(mine.data(), own.data(), length, type, op, MPI_COMM_WORLD), MPI_SUCCESS);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      const auto same = [&](const Pair& pair, size_t i, int last) {
        const int found = best(i, 0, last);
        return pair.value == value(found, i) && pair.index == static_cast<I>(found);
      };
      size_t wrong = 0;
      for (size_t i = 0; i < count; ++i)
        wrong +=
            !same(all[i], i, ranks()) + !same(scanned[i], i, rank() + 1) + !same(own[i], static_cast<size_t>(rank()) * count + i, ranks());
      EXPECT_EQ(wrong, 0u) << count << (largest ? " largest" : " smallest");
    }
}

TEST(Reductions, FindTheExtremeValuesOfPairsOfAllTypes) {
  check_located<short>(MPI_SHORT_INT);
  check_located<int>(MPI_2INT);
  check_located<long>(MPI_LONG_INT);
  check_located<float>(MPI_FLOAT_INT);
  check_located<double>(MPI_DOUBLE_INT);
  check_located<long double>(MPI_LONG_DOUBLE_INT);
  check_located<double, double>(MPI_2DOUBLE_PRECISION);
}

// Affine maps x -> a x + b modulo a prime: to combine them is associative, and the order matters.
constexpr int kPrime = 10007;
struct Affine {
  int a, b;
};
bool operator==(const Affine& x, const Affine& y) { return x.a == y.a && x.b == y.b; }
Affine then(const Affine& x, const Affine& y) { return {x.a * y.a % kPrime, (x.b * y.a + y.b) % kPrime}; }
void compose(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* x = static_cast<Affine*>(in);
  auto* y = static_cast<Affine*>(inout);
  for (int i = 0; i < *length; ++i) y[i] = then(x[i], y[i]);
}
Affine map_of(int from, int i) { return {from * 5 + i % 7 + 2, from + i % 11}; }
std::vector<Affine> composed(int first, int last, int begin, int n) {
  std::vector<Affine> all;
  for (int i = begin; i < begin + n; ++i) {
    Affine value = map_of(first, i);
    for (int r = first + 1; r < last; ++r) value = then(value, map_of(r, i));
    all.push_back(value);
  }
  return all;
}

TEST(Reductions, ByAUsersOperationThatDoesNotCommuteKeepTheOrderOfTheRanks) {
  MPI_Op op;
  ASSERT_EQ(MPI_Op_create(compose, 0, &op), MPI_SUCCESS);
  int commutes = -1;
  EXPECT_EQ(MPI_Op_commutative(op, &commutes), MPI_SUCCESS);
  EXPECT_EQ(commutes, 0);
  for (const Form form : kForms)
    for (const int n : {0, 1, 40, 9001}) {
      const int root = next_root(comm), total = n * ranks();
      const std::vector<Affine> mine = composed(rank(), rank() + 1, 0, total);
      const size_t count = static_cast<size_t>(n);
      std::vector<Affine> out(count);
      IN_FORM(form, comm, Allreduce, allreduce, mine.data(), out.data(), n, MPI_2INT, op);
      EXPECT_EQ(out, composed(0, ranks(), 0, n));
      out.assign(mine.begin(), mine.begin() + n);
      IN_FORM(form, comm, Reduce, reduce, rank() == root ? MPI_IN_PLACE : mine.data(), out.data(), n, MPI_2INT, op, root);
      if (rank() == root) {
        EXPECT_EQ(out, composed(0, ranks(), 0, n));
      }
      IN_FORM(form, comm, Scan, scan, mine.data(), out.data(), n, MPI_2INT, op);
      EXPECT_EQ(out, composed(0, rank() + 1, 0, n));
      IN_FORM(form, comm, Exscan, exscan, mine.data(), out.data(), n, MPI_2INT, op);
      if (rank() > 0) {
        EXPECT_EQ(out, composed(0, rank(), 0, n));
      }
      IN_FORM(form, comm, Reduce_scatter_block, reduce_scatter_block, mine.data(), out.data(), n, MPI_2INT, op);
      EXPECT_EQ(out, composed(0, ranks(), n * rank(), n));
    }
  EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
  EXPECT_EQ(op, MPI_OP_NULL);
}

// Two ints, a gap before each, and one more behind them in memory.
struct Apart {
  int gap, x, other_gap, y, end;
};
void add_apart(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* from = static_cast<Apart*>(in);
  auto* to = static_cast<Apart*>(inout);
  for (int i = 0; i < *length; ++i) to[i].x += from[i].x, to[i].y += from[i].y;
}

TEST(Reductions, OfLongVectorsWithGapsByAUsersOperationLeaveTheGapsAndMayBeRepeated) {
  constexpr int kCount = 20'003;
  MPI_Datatype pair, apart;
  const int places[] = {1, 3};
  MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, sizeof(Apart), &apart);
  MPI_Type_commit(&apart);
  MPI_Op op;
  MPI_Op_create(add_apart, 1, &op);
  std::vector<Apart> mine(kCount), out(kCount, Apart{-7, -7, -7, -7, -7});
  for (int i = 0; i < kCount; ++i) mine[static_cast<size_t>(i)] = {-1, i + rank(), -1, 2 * i, -1};
  const auto check = [&] {
    for (int i = 0; i < kCount; ++i) {
      const Apart& got = out[static_cast<size_t>(i)];
      EXPECT_TRUE(got.x == ranks() * i + ranks() * (ranks() - 1) / 2 && got.y == 2 * ranks() * i) << i;
      EXPECT_TRUE(got.gap == -7 && got.other_gap == -7 && got.end == -7) << i;
    }
    out.assign(kCount, Apart{-7, -7, -7, -7, -7});
  };
  MPI_Request requests[2];
  MPI_Allreduce_init(mine.data(), out.data(), kCount, apart, op, comm, MPI_INFO_NULL, &requests[0]);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(MPI_Start(&requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    check();
  }
  EXPECT_EQ(MPI_Request_free(&requests[0]), MPI_SUCCESS);
  // Two at once, in other company.
  std::vector<Apart> other(kCount);
  int one = 1, sum = 0;
  MPI_Iallreduce(mine.data(), out.data(), kCount, apart, op, comm, &requests[0]);
  MPI_Ireduce(mine.data(), other.data(), kCount, apart, op, ranks() - 1, comm, &requests[1]);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  int which;
  EXPECT_EQ(MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sum, ranks());
  check();
  if (rank() == ranks() - 1) {
    EXPECT_EQ(other[kCount - 1].y, 2 * ranks() * (kCount - 1));
  }
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  MPI_Type_free(&apart);
}

TEST(Reductions, OutliveTheOperationThatTheyUse) {
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  const Affine mine = map_of(rank(), 0);
  Affine out{};
  MPI_Request request;
  MPI_Iallreduce(&mine, &out, 1, MPI_2INT, op, comm, &request);
  MPI_Op_free(&op);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(std::vector<Affine>(1, out), composed(0, ranks(), 0, 1));
}

TEST(ReduceLocal, CombinesTwoVectorsOfThisRank) {
  const int in[3] = {1, 5, 3};
  int inout[3] = {4, 2, 3};
  EXPECT_EQ(MPI_Reduce_local(in, inout, 3, MPI_INT, MPI_MAX), MPI_SUCCESS);
  EXPECT_EQ(std::vector<int>(inout, inout + 3), (std::vector<int>{4, 5, 3}));
  const ReturnErrors returned;
  EXPECT_EQ(MPI_Reduce_local(in, inout, 3, MPI_FLOAT, MPI_BOR), MPI_ERR_OP);
  EXPECT_EQ(MPI_Reduce_local(in, inout, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
}

}  // namespace
}  // namespace reductions_test
