// views.cpp: a view for each virtual processor: an array in VODCA's shared memory lies in natural order, and a view is what one virtual
// processor of a block-cyclic distribution has of it. They compute a stencil in lock-step, each process for its own virtual
// processors, and the result has the bits of one process that computes alone, for any number of either.
//
//   views N BLOCK VIRTUAL STEPS
#include <ccc.h>
#include <vdc.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

void require(int code) {
  if (code == CCC_SUCCESS) return;
  fprintf(stderr, "%s\n", ccc_explain());
  Vdc_exit(2);
}

double stencil(const double* x, int64_t s, int64_t n) { return (x[(s + n - 1) % n] + 2.0 * x[s] + x[(s + 1) % n]) / 4.0; }
double first_value(int64_t s) { return 1.0 / static_cast<double>(s % 89 + 1); }

// The pieces of `array` that virtual processor t has: full blocks at equal distances, and the last block, where that is shorter.
std::vector<Vdcx_piece> pieces_of(const ccc_axis& axis, int64_t t, double* array) {
  const auto [block, processors] = axis.step[0];
  const int64_t count = ccc_count(&axis, t), full = count / block;
  std::vector<Vdcx_piece> pieces;
  const auto add = [&, block = block, processors = processors](int64_t offset, int64_t elements, int64_t times) {
    pieces.push_back({array + ccc_global(&axis, t, offset), static_cast<size_t>(elements) * sizeof(double), static_cast<size_t>(times),
                      static_cast<size_t>(block * processors) * sizeof(double)});
  };
  if (full > 0) add(0, block, full);
  if (count % block != 0) add(full * block, count % block, 1);
  return pieces;
}

}  // namespace

int main(int argc, char** argv) {
  Vdc_startup(argc, argv);
  const auto number = [&](int i, int64_t usual) { return argc > i ? atoll(argv[i]) : usual; };
  const int64_t n = number(1, 1000), block = number(2, 4), virtuals = number(3, 12), steps = number(4, 5);
  ccc_axis axis, deployed;
  require(ccc_block_cyclic(&axis, n, block, virtuals));
  deployed = axis;
  require(ccc_cascade(&deployed, 0, Vdc_nprocs));  // virtual processors to processes

  // Old and new values take turns; process 0's first values are seen by all.
  double* arrays[2] = {nullptr, nullptr};
  for (double*& array : arrays) {
    if (Vdc_proc_id == 0) array = reinterpret_cast<double*>(Vdc_malloc(static_cast<size_t>(n) * sizeof(double)));
    vdc::check(Vdcx_distribute(&array, sizeof array));
  }
  if (Vdc_proc_id == 0)
    for (int64_t s = 0; s < n; ++s) arrays[0][s] = first_value(s);
  Vdc_barrier(1);
  const auto view_of = [&](int64_t t, int64_t step) { return static_cast<int>((t + virtuals) % virtuals + step % 2 * virtuals); };
  for (int64_t t = 0; t < virtuals; ++t)
    for (int64_t which = 0; which < 2; ++which) {
      const auto pieces = pieces_of(axis, t, arrays[which]);
      if (!pieces.empty()) vdc::check(Vdcx_declare(view_of(t, which), pieces.data(), static_cast<unsigned>(pieces.size()), VDCX_AUTO));
    }

  for (int64_t step = 0; step < steps; ++step) {
    const double* const old = arrays[step % 2];
    for (int64_t t = 0; t < virtuals; ++t) {
      if (ccc_count(&axis, t) == 0 || ccc_target(&deployed, ccc_global(&axis, t, 0)) != Vdc_proc_id) continue;
      // A block's neighbours are with the virtual processors before and after; those of the ends with whoever has the other end.
      std::vector<int> views;
      std::vector<Vdcx_mode> modes;
      const auto hold = [&](int view, Vdcx_mode mode) {
        for (const int held : views)
          if (held == view) return;
        views.push_back(view), modes.push_back(mode);
      };
      hold(view_of(t, step + 1), VDCX_OVERWRITE);
      for (const int64_t near : {t, t - 1, t + 1, ccc_target(&axis, 0), ccc_target(&axis, n - 1)})
        if (ccc_count(&axis, (near + virtuals) % virtuals) > 0) hold(view_of(near, step), VDCX_READ);
      vdc::check(Vdcx_acquire_all(views.data(), modes.data(), static_cast<unsigned>(views.size()), -1));
      for (int64_t o = 0; o < ccc_room(&axis); ++o)
        if (const int64_t s = ccc_global(&axis, t, o); s >= 0) arrays[(step + 1) % 2][s] = stencil(old, s, n);
      for (const int view : views) vdc::check(Vdcx_release(view));
    }
    Vdc_barrier(2);
  }

  int wrong = 0;
  if (Vdc_proc_id == 0) {
    std::vector<double> now(static_cast<size_t>(n)), next(now.size());
    for (int64_t s = 0; s < n; ++s) now[static_cast<size_t>(s)] = first_value(s);
    for (int64_t step = 0; step < steps; ++step, std::swap(now, next))
      for (int64_t s = 0; s < n; ++s) next[static_cast<size_t>(s)] = stencil(now.data(), s, n);
    for (int64_t t = 0; t < virtuals; ++t) {
      if (ccc_count(&axis, t) == 0) continue;
      vdc::check(Vdcx_acquire(view_of(t, steps), VDCX_READ, -1));
      for (int64_t o = 0; o < ccc_room(&axis); ++o)
        if (const int64_t s = ccc_global(&axis, t, o); s >= 0)
          wrong += memcmp(&arrays[steps % 2][s], &now[static_cast<size_t>(s)], sizeof(double)) != 0;
      vdc::check(Vdcx_release(view_of(t, steps)));
    }
    printf("views on %d processes: %lld elements, %lld virtual processors, %s\n", Vdc_nprocs, static_cast<long long>(n),
           static_cast<long long>(virtuals), wrong == 0 ? "verified" : "WRONG");
    fflush(stdout);
  }
  Vdc_exit(wrong == 0 ? 0 : 1);
}
