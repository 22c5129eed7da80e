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
void Domain<State, R>::same_everywhere(F index) {
  Hash hash;
  for (index_t number = 0; number < size(); ++number) hash.add(number_of(index(Vp<R>{at_of(number), number, -1})));
  same_hash(hash.value, true, "`index` names other virtual processors on some PEs than on others");
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
    same_hash(hash.value, !mine_.empty(), "an `out` that is not dealt out has other values on some PEs than on others");
  }
  Plan(entered.within, entered.from, sizeof(T)).run(entered.memory.get(), entered.outside);
}

// The question who reads from whom is the same on both sides, so each lists its part of every message in the order of numbers.
template <class State, size_t R>
template <class M, class F>
Exchange<State, M, R> Domain<State, R>::exchange(M State::*member, F index) {
  if (checks_) same_everywhere(index);
  Exchange<State, M, R> made;
  const int me = shmem_my_pe();
  std::map<int, std::map<index_t, ptrdiff_t>> in, out;  // of each PE: the virtual processors, and where their values go
  size_t values = 0;
  for (const Vp<R>& vp : mine_) {
    const index_t wanted = number_of(index(vp));
    ptrdiff_t place = -1;
    if (wanted >= 0) {
      const auto [found, fresh] = in[layout_.pe_of(at_of(wanted))].try_emplace(wanted, static_cast<ptrdiff_t>(values));
      values += fresh;
      place = found->second;
    }
    made.fetched_->place_.push_back(place);
  }
  made.fetched_->values_.resize(values);
  for (index_t number = 0; number < size(); ++number) {
    const Index at = at_of(number);
    const int reader = layout_.pe_of(at);
    const index_t wanted = number_of(index(Vp<R>{at, number, -1}));
    if (reader != me && wanted >= 0 && layout_.pe_of(at_of(wanted)) == me) out[reader].emplace(wanted, 0);
  }
  const auto member_of = [&](index_t number) { return &(states_.get()[layout_.offset_of(at_of(number))].*member); };
  if (const auto here = in.find(me); here != in.end()) {
    for (const auto& [number, place] : here->second) made.local_.push_back({static_cast<size_t>(place), member_of(number)});
    in.erase(here);
  }
  const auto check = Exchange<State, M, R>::check;
  check(GOAL_Create(&made.schedule_));
  std::vector<GOAL_Piece> pieces;
  const auto message = [&](const std::map<index_t, ptrdiff_t>& list, auto address) {
    pieces.clear();
    for (const auto& [number, place] : list) pieces.push_back(GOAL_Part(GOAL_User(address(number, place)), sizeof(M)));
    return GOAL_Pieces(pieces.data(), static_cast<uint32_t>(pieces.size()));
  };
  for (const auto& [pe, list] : in) {
    const GOAL_Buffer to =
        message(list, [&](index_t, ptrdiff_t place) { return &made.fetched_->values_[static_cast<size_t>(place)].value; });
    check(GOAL_Recv(made.schedule_, to, list.size() * sizeof(M), pe, 0, nullptr));
  }
  for (const auto& [pe, list] : out) {
    const GOAL_Buffer from = message(list, [&](index_t number, ptrdiff_t) { return member_of(number); });
    check(GOAL_Send(made.schedule_, from, list.size() * sizeof(M), pe, 0, nullptr));
  }
  check(GOAL_Unbuffered(made.schedule_));
  check(GOAL_Compile(made.schedule_));
  return made;
}

}  // namespace ccc

#endif
