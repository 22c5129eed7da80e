// domain_test.cpp: domains: every step has the result that one process computes, for any number of virtual processors and PEs, and what
// programs do wrong is found where PTL_DEBUG=domains asks for it.
#include <ccc.hpp>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/shmem/pe.hpp"

namespace {

using ccc::index_t;

struct State {
  double value, other;
  std::array<int, 3> marks;
};

double value_of(index_t number) { return 1.0 / static_cast<double>(number % 13 + 1) + static_cast<double>(number) * 1e-7; }

// A domain of so many, each with its value.
template <size_t R>
struct Filled : ccc::Domain<State, R> {
  explicit Filled(std::array<index_t, R> vps, std::array<index_t, R> blocks = {}) : ccc::Domain<State, R>(vps, blocks) {
    this->each([](State& mine, auto vp) { mine = {value_of(vp), -1.0, {static_cast<int>(vp.number), 0, 7}}; });
  }
};

struct Checked {
  Checked() { setenv("PTL_DEBUG", "domains", 1); }
  ~Checked() { unsetenv("PTL_DEBUG"); }
};

// The sentence of the error that all PEs get, or nothing.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const ccc::Error& error) {
    EXPECT_EQ(error.code(), CCC_ERR_ARG);
    return error.what();
  }
  return "";
}

constexpr index_t kSizes[] = {1, 2, 3, 5, 8, 16, 17, 64, 100};

}  // namespace

TEST(Domain, GetReadsWhatOthersHadBeforeAndNothingWhereNobodyIsNamed) {
  for (const index_t n : kSizes)
    for (const index_t block : {0, 1, 3}) {
      Filled<1> domain({n}, {block});
      const auto index = [n](const auto& vp) { return vp.number % 4 == 3 ? -1 : (vp.number * 7 + 2) % n; };
      const auto got = domain.get(&State::value, index);
      domain.each([&](State& mine, auto vp) {
        EXPECT_EQ(got.has(vp), index(vp) >= 0);
        if (got.has(vp)) mine.value += got[vp];
      });
      domain.each([&](State& mine, auto vp) {
        EXPECT_EQ(mine.value, value_of(vp) + (index(vp) >= 0 ? value_of(index(vp)) : 0.0))
            << n << " virtual processors, number " << vp.number;
      });
    }
}

TEST(Domain, PutWritesWhereTheIndexSaysAndTheHighestOfTwoWriters) {
  for (const index_t n : kSizes)
    for (const index_t spread : {index_t{1}, (n + 2) / 3}) {  // all to others', or several to one
      Filled<1> domain({n}, {spread == 1 ? 0 : 2});
      const auto index = [&](const auto& vp) { return vp.number % 5 == 4 ? -1 : (vp.number + 1) % (spread == 1 ? n : spread); };
      std::vector<double> wanted(static_cast<size_t>(n), -1.0);
      for (index_t number = 0; number < n; ++number)
        if (const index_t to = index(ccc::Vp<1>{{number}, number, -1}); to >= 0) wanted[static_cast<size_t>(to)] = value_of(number) * 3;
      domain.put(&State::other, index, [](const State& mine, auto) { return mine.value * 3; });
      domain.each([&](State& mine, auto vp) {
        EXPECT_EQ(mine.other, wanted[static_cast<size_t>(vp.number)]) << n << " virtual processors, number " << vp.number;
        EXPECT_EQ(mine.value, value_of(vp));
      });
    }
}

TEST(Domain, ReduceIsOneTreeOverNumbersWhateverThePEs) {
  for (const index_t n : kSizes) {
    std::vector<double> tree;
    for (index_t number = 0; number < n; ++number) tree.push_back(value_of(number));
    for (size_t width = 1; width < tree.size(); width *= 2)
      for (size_t i = 0; i + width < tree.size(); i += 2 * width) tree[i] = tree[i] + tree[i + width];
    for (const index_t block : {0, 1, 4}) {
      Filled<1> domain({n}, {block});
      EXPECT_EQ(domain.reduce(&State::value, [](double a, double b) { return a + b; }), tree[0]) << n;
    }
  }
  // Not commutative: the order is that of the numbers.
  Filled<2> grid({3, 4});
  const auto digits = grid.reduce(&State::marks, [](auto a, const auto& b) { return a[1] = b[0], a; });
  EXPECT_EQ(digits[0], 0);
  EXPECT_EQ(digits[1], 8) << "the second half of the tree begins with number 8";
}

TEST(Domain, ExchangeGivesNewValuesAtEachStart) {
  for (const index_t n : {1, 5, 16, 33}) {
    Filled<1> domain({n}, {n % 2 != 0 ? 1 : 0});
    auto exchange = domain.exchange(&State::value, [n](const auto& vp) { return vp.number == 0 ? -1 : (vp.number * 3) % n; });
    for (int run = 0; run < 20; ++run) {
      shmem_barrier_all();
      exchange.start();
      const auto& got = exchange.wait();
      domain.each([&](State&, auto vp) {
        EXPECT_EQ(got.has(vp), vp.number != 0);
        if (vp.number != 0) {
          EXPECT_EQ(got[vp], value_of(vp.number * 3 % n) + run);
        }
      });
      shmem_barrier_all();
      domain.each([&](State& mine, auto vp) { mine.value = value_of(vp) + (run + 1); });
    }
  }
}

TEST(Domain, CallBringsArgumentsInAndOut) {
  for (const index_t n : {1, 7, 40}) {
    std::vector<double> front, back(static_cast<size_t>(n), 0.0);
    for (index_t i = 0; me() == 0 && i < n; ++i) front.push_back(value_of(i));
    std::vector<double> same(3, me() == 0 ? 2.5 : 0.0), sums(2, 0.0);
    ccc::Array<double, 1> array(ccc::Layout<1>({n, ccc::cyclic, count()}));
    array.each([](auto at, double& x) { x = static_cast<double>(at[0]); });
    ccc::Domain<State> domain({6}, {2});
    domain.call(
        [&](auto& all, auto& x, auto& y, auto& constant, auto& out, auto& both, int factor) {
          all.each([&](State& mine, auto vp) {
            mine.value = constant.of(vp)(1);
            for (index_t i = 0; i < x.count(vp, 0); ++i) {
              EXPECT_EQ(x.of(vp)(i), value_of(x.global(vp, 0, i)));
              y.of(vp)(i) += x.of(vp)(i) * factor;
              out.of(vp)(i) = x.of(vp)(i) * mine.value;
            }
            both.of(vp)(0) = 4.0, both.of(vp)(1) = 5.0;
          });
        },
        ccc::in(ccc::front(front.data(), {n}), ccc::block_cyclic(2)), ccc::inout(array, ccc::block_cyclic(2)),
        ccc::in(ccc::front(same.data(), {3}), ccc::whole), ccc::out(ccc::front(back.data(), {n}), ccc::block_cyclic(2)),
        ccc::out(ccc::front(sums.data(), {2}), ccc::whole), 10);
    array.each([](auto at, double& x) { EXPECT_EQ(x, static_cast<double>(at[0]) + value_of(at[0]) * 10); });
    for (index_t i = 0; me() == 0 && i < n; ++i) EXPECT_EQ(back[static_cast<size_t>(i)], value_of(i) * 2.5);
    if (me() == 0) {
      EXPECT_EQ(sums, (std::vector<double>{4.0, 5.0}));
    }
  }
}

TEST(Domain, ChecksFindWhatProgramsDoWrong) {
  const Checked checked;
  Filled<1> domain({9});
  const auto own = [](const State& mine, auto) { return mine.value; };
  EXPECT_EQ(error_of([&] {
              domain.put(
                  &State::other, [](const auto& vp) { return (vp.number + 4) % 9; }, own);
            }),
            "");
  EXPECT_EQ(error_of([&] {
              domain.put(
                  &State::other, [](const auto& vp) { return vp.number / 5 * 3; }, own);
            }),
            "two virtual processors put to number 0");
  const auto differs = [](const auto& vp) { return vp.number == 2 ? index_t{me() == 0} : vp.number; };
  const bool several = count() > 1;
  const std::string sentence = several ? "`index` names other virtual processors on some PEs than on others" : "";
  EXPECT_EQ(error_of([&] { domain.get(&State::value, differs); }), sentence);
  EXPECT_EQ(error_of([&] { domain.exchange(&State::value, differs); }), sentence);
  std::vector<double> result(1, 0.0);
  const auto returns = [&](bool alike) {
    domain.call([&](auto& all, auto& out) { all.each([&](State&, auto vp) { out.of(vp)(0) = alike ? 1.0 : 1.0 + me(); }); },
                ccc::out(ccc::front(result.data(), {1}), ccc::whole));
  };
  EXPECT_EQ(error_of([&] { returns(true); }), "");
  EXPECT_EQ(error_of([&] { returns(false); }), several ? "an `out` that is not dealt out has other values on some PEs than on others" : "");
}

TEST(Domain, RefusesArgumentsThatDoNotFit) {
  ccc::Domain<State, 2> grid({2, 2});
  ccc::Domain<State> line({4});
  std::vector<double> data(16, 0.0);
  const auto nothing = [](auto&, auto&) {};
  EXPECT_NE(error_of([&] { grid.call(nothing, ccc::in(ccc::front(data.data(), {16}), ccc::block)); }).find("fewer"), std::string::npos);
  EXPECT_NE(error_of([&] {
              line.call(nothing, ccc::in(ccc::front(data.data(), {4, 4}), ccc::block, ccc::cyclic));
            }).find("more"),
            std::string::npos);
  EXPECT_NE(error_of([&] { line.call(nothing, ccc::in(ccc::front(data.data(), {16}), ccc::balanced)); }).find("block, cyclic"),
            std::string::npos);
  EXPECT_NE(error_of([] { ccc::Domain<State> none({0}); }), "");
}

// Random domains, and indices in closed form, each beside the function that says the same.
namespace {

template <size_t R>
struct Named {
  ccc::Affine<R> affine;
  std::array<index_t, R> vps;
  std::array<index_t, R> operator()(const ccc::Vp<R>& vp) const {
    std::array<index_t, R> at;
    for (size_t d = 0; d < R; ++d) {
      at[d] = affine.scale[d] * vp.at[d] + affine.by[d];
      if (affine.around) at[d] = (at[d] % vps[d] + vps[d]) % vps[d];
    }
    return at;
  }
};

template <size_t R>
void closed_forms_are_their_functions(std::mt19937& random) {
  const auto draw = [&](index_t low, index_t high) { return low + static_cast<index_t>(random() % static_cast<unsigned>(high - low + 1)); };
  std::array<index_t, R> vps{}, blocks{};
  Named<R> named{{{}, {}, draw(0, 1) == 1}, {}};
  for (size_t d = 0; d < R; ++d) {
    vps[d] = named.vps[d] = draw(1, R == 1 ? 60 : R == 2 ? 12 : 6);
    blocks[d] = draw(0, 3);
    named.affine.scale[d] = draw(0, 2) == 0 ? draw(-3, 3) : 1;
    named.affine.by[d] = draw(-vps[d] - 2, vps[d] + 2);
  }
  Filled<R> domain(vps, blocks);
  index_t size = 1;
  for (const index_t n : vps) size *= n;
  const auto number_of = [&](const std::array<index_t, R>& at) {
    index_t number = 0;
    for (size_t d = 0; d < R; ++d) {
      if (at[d] < 0 || at[d] >= vps[d]) return index_t{-1};
      number = number * vps[d] + at[d];
    }
    return number;
  };
  const auto by_number = [&](const ccc::Vp<R>& vp) { return number_of(named(vp)); };
  const auto expect_all = [&](const auto& got, double more) {
    domain.each([&](State&, const ccc::Vp<R>& vp) {
      const index_t wanted = by_number(vp);
      ASSERT_EQ(got.has(vp), wanted >= 0) << vp.number;
      if (wanted >= 0) {
        ASSERT_EQ(got[vp], value_of(wanted) + more) << vp.number;
      }
    });
  };
  expect_all(domain.get(&State::value, named.affine), 0);
  expect_all(domain.get(&State::value, named), 0);
  expect_all(domain.get(&State::value, by_number), 0);

  std::vector<double> written(static_cast<size_t>(size), -1.0);
  std::vector<ccc::Vp<R>> all(static_cast<size_t>(size));
  for (index_t number = 0; number < size; ++number) {
    ccc::Vp<R> vp{{}, number, -1};
    for (size_t d = R, rest = static_cast<size_t>(number); d-- > 0; rest /= static_cast<size_t>(vps[d]))
      vp.at[d] = static_cast<index_t>(rest) % vps[d];
    all[static_cast<size_t>(number)] = vp;
    if (const index_t to = by_number(vp); to >= 0) written[static_cast<size_t>(to)] = value_of(number) * 3;
  }
  const auto put = [&](const auto& index) {
    domain.put(&State::other, index, [](const State& mine, auto) { return mine.value * 3; });
    domain.each([&](State& mine, const ccc::Vp<R>& vp) {
      ASSERT_EQ(mine.other, written[static_cast<size_t>(vp.number)]) << vp.number;
      mine.other = -1.0;
    });
  };
  put(named.affine), put(named), put(by_number);
  // The member that is written may be the one that is read: all see what was before.
  std::vector<double> moved(static_cast<size_t>(size));
  for (index_t number = 0; number < size; ++number) moved[static_cast<size_t>(number)] = value_of(number);
  for (const auto& vp : all)
    if (const index_t to = by_number(vp); to >= 0) moved[static_cast<size_t>(to)] = value_of(vp.number) + 1;
  domain.put(&State::value, named.affine, [](const State& mine, auto) { return mine.value + 1; });
  domain.each([&](State& mine, const ccc::Vp<R>& vp) {
    ASSERT_EQ(mine.value, moved[static_cast<size_t>(vp.number)]) << vp.number;
    mine.value = value_of(vp.number);
  });

  auto exchange = domain.exchange(&State::value, named.affine), beside = domain.exchange(&State::value, by_number);
  for (int run = 0; run < 2; ++run) {
    shmem_barrier_all();
    exchange.start(), beside.start();
    expect_all(exchange.wait(), run);
    expect_all(beside.wait(), run);
    shmem_barrier_all();
    domain.each([](State& mine, auto) { mine.value += 1; });
  }
  std::vector<double> tree;
  for (index_t number = 0; number < size; ++number) tree.push_back(value_of(number) + 2);
  for (size_t width = 1; width < tree.size(); width *= 2)
    for (size_t i = 0; i + width < tree.size(); i += 2 * width) tree[i] = tree[i] - 0.7 * tree[i + width];
  domain.each([&](State& mine, auto vp) { mine.value = value_of(vp) + 2; });
  EXPECT_EQ(domain.reduce(&State::value, [](double a, double b) { return a - 0.7 * b; }), tree[0]);
}

}  // namespace

TEST(Domain, IndicesInClosedFormAreTheirFunctionsForAnyShapeShiftAndStride) {
  std::mt19937 random(20261128);
  for (int turn = 0; turn < 25 && !HasFatalFailure(); ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    closed_forms_are_their_functions<1>(random);
    closed_forms_are_their_functions<2>(random);
    closed_forms_are_their_functions<3>(random);
  }
}

TEST(Domain, AShiftOfManyIsFewRunsHoweverTheyAreDealtOut) {
  const auto runs = [](const auto& vps, const auto& blocks, const auto& affine) {
    constexpr size_t R = std::tuple_size_v<std::decay_t<decltype(vps)>>;
    std::array<ccc::Dimension, R> dimensions;
    for (size_t d = 0; d < R; ++d)
      dimensions[d] = {vps[d], blocks[d] == 0 ? ccc::block : ccc::block_cyclic(blocks[d]), d == 0 ? index_t{count()} : 1};
    return ccc::Places<R>(ccc::Layout<R>(dimensions), me()).pattern(affine).all().size();
  };
  using One = std::array<index_t, 1>;
  using Two = std::array<index_t, 2>;
  EXPECT_LE(runs(One{1000000}, One{0}, ccc::circular_shift(-1)), 3u);
  EXPECT_LE(runs(One{1000000}, One{1}, ccc::shift(7)), 3u);
  EXPECT_LE(runs(One{1000000}, One{0}, ccc::strided<1>({2}, {1})), 3u);
  EXPECT_LE(runs(Two{1000, 1000}, Two{0, 0}, ccc::circular_shift(1, 0)), 3u);
  EXPECT_LE(runs(Two{1000, 1000}, Two{0, 0}, ccc::circular_shift(0, 1)), 2001u);
}

TEST(Domain, WhatManyNameIsFetchedOnce) {
  Filled<1> domain({50}, {3});
  const auto one = domain.get(&State::value, [](auto) { return index_t{17}; });
  const auto* first = static_cast<const double*>(nullptr);
  domain.each([&](State&, auto vp) {
    if (!first) first = &one[vp];
    EXPECT_EQ(&one[vp], first);
    EXPECT_EQ(one[vp], value_of(17));
  });
}
