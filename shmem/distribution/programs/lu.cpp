// lu.cpp: a matrix into L and U without pivoting: columns are dealt out in turn, and every step all read the pivot column of
// one.
#include "program.hpp"

namespace {

constexpr size_t kMost = 512;
struct Column {
  std::array<double, kMost> pivot;
};

double element(size_t i, size_t j, size_t n) {
  return (i == j ? static_cast<double>(n) : 0.0) + 1.0 / static_cast<double>(1 + (i * 7 + j * 3) % 31);
}

void eliminate(std::vector<double>& a, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k + 1; i < n; ++i) a[i * n + k] /= a[k * n + k];
    for (size_t i = k + 1; i < n; ++i)
      for (size_t j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
  }
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  program::Option options[] = {{"n", "rows and columns", 48, 1, kMost}, {"virtual", "virtual processors", 12, 1, 4096}};
  program::options(argc, argv, "lu: a matrix into its factors, columns dealt out in turn.", options, 2);
  const auto n = static_cast<size_t>(options[0].value);
  const ccc::index_t vps = options[1].value, side = options[0].value;
  std::vector<double> matrix;
  if (shmem_my_pe() == 0)
    for (size_t i = 0; i < n * n; ++i) matrix.push_back(element(i / n, i % n, n));
  std::vector<double> wanted = matrix;
  double time = 0;
  {
    using Dom = ccc::Domain<Column>;
    Dom dom({vps});
    dom.call(
        [&](Dom& d, auto& a) {
          const double begin = program::seconds();
          for (size_t k = 0; k < n; ++k) {
            const ccc::index_t owner = static_cast<ccc::index_t>(k) % vps;
            d.each([&](Column& mine, auto vp) {
              if (vp.number != owner) return;
              const auto part = a.of(vp);
              const auto column = static_cast<ccc::index_t>(k) / vps;
              for (size_t i = k + 1; i < n; ++i) mine.pivot[i] = part(i, column) /= part(k, column);
            });
            const auto pivot = d.get(&Column::pivot, [owner](auto) { return owner; });
            d.each([&](Column&, auto vp) {
              const auto part = a.of(vp);
              for (ccc::index_t c = 0; c < a.count(vp, 1); ++c) {
                if (a.global(vp, 1, c) <= static_cast<ccc::index_t>(k)) continue;
                for (size_t i = k + 1; i < n; ++i) part(i, c) -= pivot[vp][i] * part(k, c);
              }
            });
          }
          time = program::seconds() - begin;
        },
        ccc::inout(ccc::front(matrix.data(), {side, side}), ccc::whole, ccc::cyclic));
  }
  bool right = true;
  if (shmem_my_pe() == 0) {
    eliminate(wanted, n);
    right = memcmp(wanted.data(), matrix.data(), n * n * sizeof(double)) == 0;
  }
  const std::string figures = std::to_string(n) + " x " + std::to_string(n) + ", " + std::to_string(vps) + " virtual processors";
  return program::verdict("lu", figures.c_str(), right, time);
}
