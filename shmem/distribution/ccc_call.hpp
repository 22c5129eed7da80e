// ccc_call.hpp: the longer members of ccc::Domain. Include ccc.hpp.
#ifndef CCC_CALL_HPP
#define CCC_CALL_HPP

#include "ccc_domain.hpp"

namespace ccc {

// All PEs as a grid: each prime factor, largest first, where most virtual processors are left for a PE.
template <class State, size_t R>
Layout<R> Domain<State, R>::dealt(const Index& vps, const Index& blocks) {
  for (const index_t n : vps)
    if (n < 1) throw Error(CCC_ERR_ARG, "a domain has one virtual processor or more in each dimension, not " + std::to_string(n));
  Index grid;
  grid.fill(1);
  std::vector<int> primes;
  for (int rest = shmem_n_pes(), p = 2; rest > 1; rest % p == 0 ? (primes.push_back(p), rest /= p) : ++p) {
  }
  for (auto p = primes.rbegin(); p != primes.rend(); ++p) {
    size_t widest = 0;
    for (size_t d = 1; d < R; ++d)
      if (vps[d] * grid[widest] > vps[widest] * grid[d]) widest = d;
    grid[widest] *= *p;
  }
  std::array<Dimension, R> dimensions;
  for (size_t d = 0; d < R; ++d) dimensions[d] = {vps[d], blocks[d] == 0 ? block : block_cyclic(blocks[d]), grid[d]};
  return Layout<R>(dimensions);
}

template <class State, size_t R>
void Domain<State, R>::same_hash(uint64_t hash, bool counts, const char* otherwise) {
  Shared<uint64_t> words(4);
  words.get()[0] = counts ? hash : 0;
  words.get()[1] = counts ? ~hash : 0;
  shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, words.get() + 2, words.get(), 2);
  if (words.get()[2] != ~words.get()[3]) throw Error(CCC_ERR_ARG, otherwise);
}

template <class State, size_t R>
template <class F>
void Domain<State, R>::same_everywhere(const F& index) {
  Hash hash;
  const auto number_of = [&](const auto& named) {
    if constexpr (std::is_convertible_v<decltype(named), index_t>) return named >= 0 && named < size() ? static_cast<index_t>(named) : -1;
    else return places_.number_of(named);
  };
  for (index_t number = 0; number < size(); ++number) hash.add(number_of(index(Vp<R>{places_.at_of(number), number, -1})));
  same_hash(hash.value, true, kDiffers);
}

template <class State, size_t R>
void Domain<State, R>::same_everywhere(const Affine<R>& affine) {
  Hash hash;
  for (size_t d = 0; d < R; ++d) hash.add(affine.scale[d]), hash.add(affine.by[d]);
  hash.add(affine.around);
  same_hash(hash.value, true, kDiffers);
}

template <class State, size_t R>
template <class T, size_t K>
auto Domain<State, R>::bring(Way way, T* outside, const ccc_layout& from, const std::array<Function, K>& functions) -> Entered<T, K> {
  View<T, K, R> view;
  ccc_layout within{};
  within.axes = static_cast<int>(K);
  size_t next = 0;
  // The i-th dimension that is dealt out lies along the i-th of the domain; the others of the domain have one PE's worth.
  for (size_t k = 0; k < K; ++k) {
    const index_t n = from.axis[k].n;
    view.along_[k] = functions[k].kind == Function::kWhole ? -1 : static_cast<int>(next);
    if (view.along_[k] < 0) {
      within.axis[k] = make_axis(n, whole, 1);
    } else {
      if (next == R) throw Error(CCC_ERR_ARG, "the argument has more dimensions dealt out than the domain has");
      if (functions[k].kind == Function::kBalanced) throw Error(CCC_ERR_ARG, "arguments are dealt out by block, cyclic or block_cyclic");
      const ccc_step& pes = layout_.c().axis[next].step[0];
      view.first_[k] = make_axis(n, functions[k], vps_[next]);
      within.axis[k] = view.first_[k];
      check(ccc_cascade(&within.axis[k], pes.block, pes.processors));
      ++next;
    }
    view.extent_[k] = view.along_[k] < 0 ? n : ccc_room(&view.first_[k]);
  }
  if (next != 0 && next != R) throw Error(CCC_ERR_ARG, "the argument has fewer dimensions dealt out than the domain has");
  index_t room = 1;
  for (size_t k = K; k-- > 0;) {
    view.stride_[k] = room;
    room *= ccc_room(&within.axis[k]);
  }
  for (size_t d = 0; d < R; ++d) view.grid_[d] = layout_.c().axis[d];
  Entered<T, K> entered{way, outside, from, within, next != 0, room, Shared<T>(static_cast<size_t>(room)), view};
  entered.seen.data_ = entered.memory.get();
  if (way != Way::kOut) {
    Plan(from, within, sizeof(T)).run(outside, entered.memory.get());
    if (!entered.distributed) {
      Shared<T> copy(static_cast<size_t>(room));
      memcpy(copy.get(), entered.memory.get(), static_cast<size_t>(room) * sizeof(T));
      shmem_broadcastmem(SHMEM_TEAM_WORLD, entered.memory.get(), copy.get(), static_cast<size_t>(room) * sizeof(T), 0);
      shmem_barrier_all();
    }
  }
  return entered;
}

// An argument that is not dealt out comes from virtual processor 0, which PE 0 has.
template <class State, size_t R>
template <class T, size_t K>
void Domain<State, R>::leave(Entered<T, K>& entered) {
  if (entered.way == Way::kIn) return;
  if (checks_ && !entered.distributed) {
    Hash hash;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(entered.memory.get());
    for (index_t i = 0; i < entered.room * static_cast<index_t>(sizeof(T)); ++i) hash.add(bytes[i]);
    same_hash(hash.value, places_.count() > 0, "an `out` that is not dealt out has other values on some PEs than on others");
  }
  Plan(entered.within, entered.from, sizeof(T)).run(entered.memory.get(), entered.outside);
}

}  // namespace ccc

#endif
