// matrix.cpp: the product of two matrices as the paper writes it: one virtual processor has a row of A and C and a column of
// B, and reads the columns of all others in turn.
#include "program.hpp"

namespace {

template <size_t kDim>
struct Row {
  std::array<double, kDim> a, b, c;
};

template <size_t kDim>
int multiply() {
  const bool is_front = shmem_my_pe() == 0;
  std::vector<double> A, B, C;
  if (is_front) {
    A.resize(kDim * kDim), B.resize(kDim * kDim), C.resize(kDim * kDim);
    for (size_t i = 0; i < kDim * kDim; ++i) A[i] = 1.0 / static_cast<double>(i % 97 + 1), B[i] = 1.0 / static_cast<double>(i % 89 + 3);
  }
  double time = 0;
  {
    using Dom = ccc::Domain<Row<kDim>>;
    Dom m({static_cast<ccc::index_t>(kDim)});
    shmem_barrier_all();
    const double begin = program::seconds();
    m.call(
        [](Dom& dom, auto& a, auto& b, auto& c) {
          dom.each([&](Row<kDim>& mine, auto vp) {
            for (size_t j = 0; j < kDim; ++j) mine.a[j] = a.of(vp)(0, j), mine.b[j] = b.of(vp)(j, 0);
          });
          for (size_t i = 0; i < kDim; ++i) {
            const auto t = dom.get(&Row<kDim>::b, [i](auto) { return static_cast<ccc::index_t>(i); });
            dom.each([&](Row<kDim>& mine, auto vp) {
              double sum = 0;
              for (size_t j = 0; j < kDim; ++j) sum += mine.a[j] * t[vp][j];
              mine.c[i] = sum;
            });
          }
          dom.each([&](Row<kDim>& mine, auto vp) {
            for (size_t j = 0; j < kDim; ++j) c.of(vp)(0, j) = mine.c[j];
          });
        },
        ccc::in(ccc::front(A.data(), {kDim, kDim}), ccc::block, ccc::whole),
        ccc::in(ccc::front(B.data(), {kDim, kDim}), ccc::whole, ccc::block),
        ccc::out(ccc::front(C.data(), {kDim, kDim}), ccc::block, ccc::whole));
    time = program::seconds() - begin;
  }
  bool right = true;
  for (size_t r = 0; is_front && r < kDim; ++r)
    for (size_t i = 0; i < kDim; ++i) {
      double sum = 0;
      for (size_t j = 0; j < kDim; ++j) sum += A[r * kDim + j] * B[j * kDim + i];
      right &= memcmp(&sum, &C[r * kDim + i], sizeof sum) == 0;
    }
  const std::string figures = std::to_string(kDim) + " x " + std::to_string(kDim) + " on " + std::to_string(kDim) + " virtual processors";
  return program::verdict("matrix", figures.c_str(), right, time);
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  program::Option options[] = {{"dim", "rows, columns and virtual processors: 1, 2, 16, 64, 256 or 1024", 16, 1, 1024}};
  program::options(argc, argv, "matrix: the product of two matrices, a row for each virtual processor.", options, 1);
  switch (options[0].value) {
    case 1: return multiply<1>();
    case 2: return multiply<2>();
    case 64: return multiply<64>();
    case 256: return multiply<256>();
    case 1024: return multiply<1024>();
    default: return multiply<16>();
  }
}
