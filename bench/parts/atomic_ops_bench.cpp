// Atomic operations on the target's memory: ns per call, and GB/s on vectors (the message's payload).
#include <benchmark/benchmark.h>

#include <complex>
#include <vector>

#include "engine/core/triggered/atomic_ops.hpp"

namespace {

using namespace portunus;

// Each call changes its target, but for MaxDouble, whose target is as large already: what stays as it is need not be
// written.
template <class T>
void apply(benchmark::State& state, ptl_op_t op, ptl_datatype_t type, T datum, bool fetch = false) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<T> target(bytes / sizeof(T), datum), data(target), old(target);
  for (auto _ : state) {
    apply_atomic(op, type, target.data(), data.data(), bytes, fetch ? old.data() : nullptr, data.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void SumInt64(benchmark::State& state) { apply<int64_t>(state, PTL_SUM, PTL_INT64_T, 1); }
void FetchSumInt64(benchmark::State& state) { apply<int64_t>(state, PTL_SUM, PTL_INT64_T, 1, true); }
void SumDouble(benchmark::State& state) { apply<double>(state, PTL_SUM, PTL_DOUBLE, 1); }
void MaxDouble(benchmark::State& state) { apply<double>(state, PTL_MAX, PTL_DOUBLE, 1); }
void BitXorUint8(benchmark::State& state) { apply<uint8_t>(state, PTL_BXOR, PTL_UINT8_T, 1); }
void ProductComplex(benchmark::State& state) {
  apply<std::complex<double>>(state, PTL_PROD, PTL_DOUBLE_COMPLEX, {0, 1});  // a quarter turn
}
void Swap(benchmark::State& state) { apply<int64_t>(state, PTL_SWAP, PTL_INT64_T, 1, true); }
void CompareAndSwap(benchmark::State& state) { apply<int64_t>(state, PTL_CSWAP, PTL_INT64_T, 1, true); }

// The engine's own arithmetic (the reduction step of a compiled schedule): private memory, no atomics.
void LocalAddDouble(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0)) / sizeof(double);
  std::vector<double> dst(count), a(count), b(count);
  for (auto _ : state) {
    benchmark::DoNotOptimize(apply_local(PTLX_ADD, PTL_DOUBLE, dst.data(), a.data(), b.data(), count));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(SumInt64)->Arg(8)->Arg(4096);
BENCHMARK(FetchSumInt64)->Arg(8)->Arg(4096);
BENCHMARK(SumDouble)->Arg(8)->Arg(4096);
BENCHMARK(MaxDouble)->Arg(8)->Arg(4096);
BENCHMARK(BitXorUint8)->Arg(1)->Arg(4096);
BENCHMARK(ProductComplex)->Arg(16)->Arg(4096);
BENCHMARK(Swap)->Arg(8);
BENCHMARK(CompareAndSwap)->Arg(8);
BENCHMARK(LocalAddDouble)->Arg(8)->Arg(4096)->Arg(1 << 20);

}  // namespace

BENCHMARK_MAIN();
