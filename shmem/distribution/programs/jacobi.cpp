// jacobi.cpp: Jacobi's iteration on a square: a virtual processor has a tile and reads its neighbours' edges by exchanges
// that are kept.
#include "program.hpp"

namespace {

constexpr size_t kTile = 8;
struct Tile {
  double u[kTile][kTile];
  std::array<double, kTile> top, bottom, left, right;  // edges, as neighbours read them
};

// The border around the square.
double border(bool above) { return above ? 1.0 : 0.0; }
double next(double north, double south, double west, double east) { return 0.25 * ((north + south) + (west + east)); }

std::vector<double> alone(size_t n, long steps) {
  std::vector<double> u(n * n), v(n * n);
  for (long step = 0; step < steps; ++step, u.swap(v))
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        v[i * n + j] = next(i > 0 ? u[(i - 1) * n + j] : border(true), i + 1 < n ? u[(i + 1) * n + j] : border(false),
                            j > 0 ? u[i * n + j - 1] : border(false), j + 1 < n ? u[i * n + j + 1] : border(false));
  return u;
}

void show_edges(Tile& tile) {
  for (size_t k = 0; k < kTile; ++k) {
    tile.top[k] = tile.u[0][k], tile.bottom[k] = tile.u[kTile - 1][k];
    tile.left[k] = tile.u[k][0], tile.right[k] = tile.u[k][kTile - 1];
  }
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  program::Option options[] = {{"tiles", "virtual processors in each direction, with 8 x 8 points each", 4, 1, 256},
                               {"steps", "iterations", 20, 0, 100000}};
  program::options(argc, argv, "jacobi: an iteration on a square of tiles.", options, 2);
  const ccc::index_t tiles = options[0].value;
  const size_t n = static_cast<size_t>(tiles) * kTile;
  std::vector<double> field(shmem_my_pe() == 0 ? n * n : 0);
  double time = 0;
  {
    using Dom = ccc::Domain<Tile, 2>;
    Dom dom({tiles, tiles});
    const auto side = static_cast<ccc::index_t>(n);
    dom.call(
        [&](Dom& d, auto& view) {
          d.each([&](Tile& tile, auto vp) {
            for (size_t i = 0; i < kTile; ++i)
              for (size_t j = 0; j < kTile; ++j) tile.u[i][j] = view.of(vp)(i, j);
            show_edges(tile);
          });
          auto north = d.exchange(&Tile::bottom, ccc::shift(-1, 0)), south = d.exchange(&Tile::top, ccc::shift(1, 0));
          auto west = d.exchange(&Tile::right, ccc::shift(0, -1)), east = d.exchange(&Tile::left, ccc::shift(0, 1));
          shmem_barrier_all();
          const double begin = program::seconds();
          for (long step = 0; step < options[1].value; ++step) {
            for (auto* exchange : {&north, &south}) exchange->start();
            for (auto* exchange : {&west, &east}) exchange->start();
            const auto &above = north.wait(), &below = south.wait(), &before = west.wait(), &behind = east.wait();
            d.each([&](Tile& tile, auto vp) {
              double v[kTile][kTile];
              for (size_t i = 0; i < kTile; ++i)
                for (size_t j = 0; j < kTile; ++j)
                  v[i][j] = next(i > 0           ? tile.u[i - 1][j]
                                 : above.has(vp) ? above[vp][j]
                                                 : border(true),
                                 i + 1 < kTile   ? tile.u[i + 1][j]
                                 : below.has(vp) ? below[vp][j]
                                                 : border(false),
                                 j > 0            ? tile.u[i][j - 1]
                                 : before.has(vp) ? before[vp][i]
                                                  : border(false),
                                 j + 1 < kTile    ? tile.u[i][j + 1]
                                 : behind.has(vp) ? behind[vp][i]
                                                  : border(false));
              memcpy(tile.u, v, sizeof v);
              show_edges(tile);
            });
          }
          time = program::seconds() - begin;
          d.each([&](Tile& tile, auto vp) {
            for (size_t i = 0; i < kTile; ++i)
              for (size_t j = 0; j < kTile; ++j) view.of(vp)(i, j) = tile.u[i][j];
          });
        },
        ccc::inout(ccc::front(field.data(), {side, side}), ccc::block, ccc::block));
  }
  bool right = true;
  if (shmem_my_pe() == 0) {
    const std::vector<double> wanted = alone(n, options[1].value);
    right = memcmp(wanted.data(), field.data(), n * n * sizeof(double)) == 0;
  }
  const std::string figures = std::to_string(n) + " x " + std::to_string(n) + " points, " + std::to_string(tiles * tiles) +
                              " virtual processors, " + std::to_string(options[1].value) + " steps";
  return program::verdict("jacobi", figures.c_str(), right, time);
}
