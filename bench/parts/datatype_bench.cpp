// Packing datatypes beside the loops that one would write by hand. Arguments: elements packed, their distance.
#include <benchmark/benchmark.h>
#include <mpi.h>

#include <vector>

namespace {

struct Data {
  explicit Data(const benchmark::State& state)
      : count(static_cast<size_t>(state.range(0))), stride(static_cast<size_t>(state.range(1))), from(count * stride, 1.0), to(count) {}
  size_t count, stride;
  std::vector<double> from, to;
};

void report(benchmark::State& state, const Data& data) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * data.count * sizeof(double)));
}

void VectorByHand(benchmark::State& state) {
  Data data(state);
  for (auto _ : state) {
    const double* from = data.from.data();
    for (size_t i = 0; i < data.count; ++i, from += data.stride) data.to[i] = *from;
    benchmark::DoNotOptimize(data.to.data());
    benchmark::ClobberMemory();
  }
  report(state, data);
}

void pack(benchmark::State& state, Data& data, MPI_Datatype type) {
  MPI_Type_commit(&type);
  const int bytes = static_cast<int>(data.count * sizeof(double));
  for (auto _ : state) {
    int position = 0;
    MPI_Pack(data.from.data(), 1, type, data.to.data(), bytes, &position, MPI_COMM_SELF);
    benchmark::DoNotOptimize(data.to.data());
    benchmark::ClobberMemory();
  }
  report(state, data);
  MPI_Type_free(&type);
}

void VectorPacked(benchmark::State& state) {
  Data data(state);
  MPI_Datatype type;
  MPI_Type_vector(static_cast<int>(data.count), 1, static_cast<int>(data.stride), MPI_DOUBLE, &type);
  pack(state, data, type);
}

void IndexedBlockPacked(benchmark::State& state) {
  Data data(state);
  std::vector<int> places;
  for (size_t i = 0; i < data.count; ++i) places.push_back(static_cast<int>(i * data.stride + i % data.stride));
  MPI_Datatype type;
  MPI_Type_create_indexed_block(static_cast<int>(data.count), 1, places.data(), MPI_DOUBLE, &type);
  pack(state, data, type);
}

void shapes(benchmark::internal::Benchmark* bench) { bench->Args({16, 2})->Args({1024, 2})->Args({1024, 16})->Args({1 << 18, 2}); }

BENCHMARK(VectorByHand)->Apply(shapes);
BENCHMARK(VectorPacked)->Apply(shapes);
BENCHMARK(IndexedBlockPacked)->Apply(shapes);

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  MPI_Finalize();
}
