// The records of each kind of OpenSHMEM's calls: a function for each name that shmem_typed*.h have, for all types.
//
// A hook takes the call, what it returned (None of nothing), the context where there may be one, and the call's arguments.
//
// Thread: any; plain functions.
#pragma once

#include <type_traits>

#include "engine/tools/record/around.hpp"
#include "engine/tools/record/shmem.hpp"

namespace portunus::record::shmem {

// A hook of calls that are brief (writer.hpp).
template <class Hook>
struct Brief : Hook {
  static constexpr bool is_brief = true;
};
template <class Hook>
Brief(Hook) -> Brief<Hook>;
template <class Hook>
constexpr bool is_brief(const Hook&) {
  return requires { Hook::is_brief; };
}

namespace hooks {

// The bits of an integer; other types are unknown.
template <class T>
uint64_t bits_of(T value) {
  if constexpr (std::is_integral_v<T>) return static_cast<std::make_unsigned_t<T>>(value);
  else return 0;
}
template <class T>
Value value_of(Change change, T value) {
  return {std::is_integral_v<T> ? change : Change::unknown, bits_of(value)};
}

// ---- remote memory
template <class T>
void put_of(Call& call, shmem_ctx_t ctx, T* dest, const T* source, size_t count, int pe, uint8_t flags) {
  Value value;
  if constexpr (std::is_integral_v<T>)
    if (count == 1) value = value_of(Change::set, *source);
  shmem::put(call, ctx, dest, count * sizeof(T), pe, flags, value);
}
template <class T>
void signalled(Call& call, shmem_ctx_t ctx, T* dest, size_t count, const uint64_t* signal, uint64_t value, int how, int pe, uint8_t flags) {
  shmem::put(call, ctx, dest, count * sizeof(T), pe, flags);
  shmem::put(call, ctx, signal, sizeof *signal, pe, count == 0 ? 0 : kBehind, {how == SHMEM_SIGNAL_ADD ? Change::add : Change::set, value});
}

inline constexpr auto put = []<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, const T* source, size_t count, int pe) {
  put_of(call, ctx, dest, source, count, pe, kBlocking);
};
inline constexpr auto get = []<class T>(Call& call, None, shmem_ctx_t ctx, T*, const T*, size_t count, int pe) {
  shmem::get(call, ctx, nullptr, 0, count * sizeof(T), pe, kBlocking);
};
inline constexpr auto put_signal = []<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, const T*, size_t count, uint64_t* signal,
                                               uint64_t value, int how,
                                               int pe) { signalled(call, ctx, dest, count, signal, value, how, pe, kBlocking); };
inline constexpr auto put_nbi = []<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, const T* source, size_t count, int pe) {
  put_of(call, ctx, dest, source, count, pe, 0);
};
inline constexpr auto get_nbi = []<class T>(Call& call, None, shmem_ctx_t ctx, T*, const T*, size_t count, int pe) {
  shmem::get(call, ctx, nullptr, 0, count * sizeof(T), pe, 0);
};
inline constexpr auto put_signal_nbi = []<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, const T*, size_t count, uint64_t* signal,
                                                   uint64_t value, int how,
                                                   int pe) { signalled(call, ctx, dest, count, signal, value, how, pe, 0); };
inline constexpr auto p = Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, T value, int pe) {
  shmem::put(call, ctx, dest, sizeof(T), pe, kBlocking, value_of(Change::set, value));
}};
inline constexpr auto g = []<class T>(Call& call, const T& value, shmem_ctx_t ctx, const T* source, int pe) {
  if (!is_here(call, ctx, pe)) return shmem::get(call, ctx, nullptr, 0, sizeof(T), pe, kBlocking);
  if constexpr (std::is_integral_v<T>) looked(call, source, sizeof(T), bits_of(value));
};
// Elements at distances are one message.
inline constexpr auto iput = []<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, const T*, ptrdiff_t, ptrdiff_t, size_t count, int pe) {
  shmem::put(call, ctx, dest, count * sizeof(T), pe, kBlocking);
};
inline constexpr auto iget = []<class T>(Call& call, None, shmem_ctx_t ctx, T*, const T*, ptrdiff_t, ptrdiff_t, size_t count, int pe) {
  shmem::get(call, ctx, nullptr, 0, count * sizeof(T), pe, kBlocking);
};
inline constexpr auto ibput = []<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, const T*, ptrdiff_t, ptrdiff_t, size_t size,
                                          size_t blocks, int pe) { shmem::put(call, ctx, dest, size * blocks * sizeof(T), pe, kBlocking); };
inline constexpr auto ibget = []<class T>(Call& call, None, shmem_ctx_t ctx, T*, const T*, ptrdiff_t, ptrdiff_t, size_t size, size_t blocks,
                                          int pe) { shmem::get(call, ctx, nullptr, 0, size * blocks * sizeof(T), pe, kBlocking); };

// ---- atomics
template <class T>
void changed(Call& call, shmem_ctx_t ctx, T* word, Value value, int pe) {
  shmem::put(call, ctx, word, sizeof(T), pe, 0, value);
}
template <class T>
void exchanged(Call& call, shmem_ctx_t ctx, T* word, Value value, int pe, uint8_t flags) {
  shmem::get(call, ctx, word, sizeof(T), sizeof(T), pe, flags, value);
}

inline constexpr auto atomic_fetch = g;
inline constexpr auto atomic_fetch_nbi =
    Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T*, const T*, int pe) { shmem::get(call, ctx, nullptr, 0, sizeof(T), pe, 0); }};
inline constexpr auto atomic_set = Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, T value, int pe) {
  changed(call, ctx, dest, value_of(Change::set, value), pe);
}};
inline constexpr auto atomic_inc =
    Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, int pe) { changed(call, ctx, dest, value_of(Change::add, T{1}), pe); }};
inline constexpr auto atomic_add = Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, T value, int pe) {
  changed(call, ctx, dest, value_of(Change::add, value), pe);
}};
inline constexpr auto atomic_and =
    Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T* dest, T, int pe) { changed(call, ctx, dest, {}, pe); }};
inline constexpr auto atomic_or = atomic_and, atomic_xor = atomic_and;
inline constexpr auto atomic_swap = []<class T>(Call& call, const T&, shmem_ctx_t ctx, T* dest, T value, int pe) {
  exchanged(call, ctx, dest, value_of(Change::set, value), pe, kBlocking);
};
inline constexpr auto atomic_swap_nbi = Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T*, T* dest, T value, int pe) {
  exchanged(call, ctx, dest, value_of(Change::set, value), pe, 0);
}};
inline constexpr auto atomic_compare_swap = []<class T>(Call& call, const T&, shmem_ctx_t ctx, T* dest, T, T, int pe) {
  exchanged(call, ctx, dest, {}, pe, kBlocking);
};
inline constexpr auto atomic_compare_swap_nbi =
    Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T*, T* dest, T, T, int pe) { exchanged(call, ctx, dest, {}, pe, 0); }};
inline constexpr auto atomic_fetch_inc = []<class T>(Call& call, const T&, shmem_ctx_t ctx, T* dest, int pe) {
  exchanged(call, ctx, dest, value_of(Change::add, T{1}), pe, kBlocking);
};
inline constexpr auto atomic_fetch_inc_nbi = Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T*, T* dest, int pe) {
  exchanged(call, ctx, dest, value_of(Change::add, T{1}), pe, 0);
}};
inline constexpr auto atomic_fetch_add = []<class T>(Call& call, const T&, shmem_ctx_t ctx, T* dest, T value, int pe) {
  exchanged(call, ctx, dest, value_of(Change::add, value), pe, kBlocking);
};
inline constexpr auto atomic_fetch_add_nbi = Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T*, T* dest, T value, int pe) {
  exchanged(call, ctx, dest, value_of(Change::add, value), pe, 0);
}};
inline constexpr auto atomic_fetch_and = []<class T>(Call& call, const T&, shmem_ctx_t ctx, T* dest, T, int pe) {
  exchanged(call, ctx, dest, {}, pe, kBlocking);
};
inline constexpr auto atomic_fetch_and_nbi =
    Brief{[]<class T>(Call& call, None, shmem_ctx_t ctx, T*, T* dest, T, int pe) { exchanged(call, ctx, dest, {}, pe, 0); }};
inline constexpr auto atomic_fetch_or = atomic_fetch_and, atomic_fetch_xor = atomic_fetch_and;
inline constexpr auto atomic_fetch_or_nbi = atomic_fetch_and_nbi, atomic_fetch_xor_nbi = atomic_fetch_and_nbi;

// ---- waiting; those with status[i] != 0 are left out of several
template <class T>
void waited_for(Call& call, T* word) {
  waited(call, word, sizeof(T), bits_of(__atomic_load_n(word, __ATOMIC_RELAXED)));
}
template <class T>
void all_waited(Call& call, T* words, size_t count, const int* status) {
  for (size_t i = 0; i < count; ++i)
    if (status == nullptr || status[i] == 0) waited_for(call, words + i);
}

inline constexpr auto wait_until = []<class T>(Call& call, None, T* word, int, T) { waited_for(call, word); };
inline constexpr auto test = []<class T>(Call& call, int good, T* word, int, T) {
  if (good != 0) waited_for(call, word);
  else call.found_nothing();
};
inline constexpr auto wait_until_all = []<class T>(Call& call, None, T* words, size_t count, const int* status, int, auto) {
  all_waited(call, words, count, status);
};
inline constexpr auto test_all = []<class T>(Call& call, int good, T* words, size_t count, const int* status, int, auto) {
  if (good != 0) all_waited(call, words, count, status);
  else call.found_nothing();
};
inline constexpr auto test_any = []<class T>(Call& call, size_t found, T* words, size_t count, const int*, int, auto) {
  if (found < count) waited_for(call, words + found);
  else call.found_nothing();
};
inline constexpr auto test_some = []<class T>(Call& call, size_t found, T* words, size_t, const size_t* indices, const int*, int, auto) {
  for (size_t i = 0; i < found; ++i) waited_for(call, words + indices[i]);
  if (found == 0) call.found_nothing();
};
inline constexpr auto wait_until_any = test_any, wait_until_any_vector = test_any, test_any_vector = test_any;
inline constexpr auto wait_until_some = test_some, wait_until_some_vector = test_some, test_some_vector = test_some;
inline constexpr auto wait_until_all_vector = wait_until_all;
inline constexpr auto test_all_vector = test_all;

// ---- collectives; `request` is null, or that of a collective that was started
template <Collective kind>
inline constexpr auto on_team =
    []<class T>(Call& call, int error, const shmemx_req_t* request, shmem_team_t team, T*, const T*, size_t count) {
      if (error == 0) collective(call, {team}, kind, count * sizeof(T), 0, request);
    };
inline constexpr auto broadcast = []<class T>(Call& call, int error, const shmemx_req_t* request, shmem_team_t team, T*, const T*,
                                              size_t count, int root) {
  if (error == 0) collective(call, {team}, Collective::bcast, count * sizeof(T), root, request);
};
inline constexpr auto alltoalls = []<class T>(Call& call, int error, const shmemx_req_t* request, shmem_team_t team, T*, const T*,
                                              ptrdiff_t, ptrdiff_t, size_t count) {
  if (error == 0) collective(call, {team}, Collective::alltoall, count * sizeof(T), 0, request);
};
inline constexpr auto collect = on_team<Collective::collect>;
inline constexpr auto fcollect = on_team<Collective::allgather>;
inline constexpr auto alltoall = on_team<Collective::alltoall>;
inline constexpr auto and_reduce = on_team<Collective::allreduce>, or_reduce = and_reduce, xor_reduce = and_reduce, max_reduce = and_reduce,
                      min_reduce = and_reduce, sum_reduce = and_reduce, prod_reduce = and_reduce;
inline constexpr auto sum_inscan = on_team<Collective::scan>;
inline constexpr auto sum_exscan = on_team<Collective::exscan>;

// Deprecated calls: atomics without a context, collectives on an active set.
namespace old {

template <class Hook>
constexpr auto of_default_context(const Hook& hook) {
  return [hook](Call& call, const auto& result, auto... arguments) { hook(call, result, SHMEM_CTX_DEFAULT, arguments...); };
}
inline constexpr auto fetch = of_default_context(atomic_fetch);
inline constexpr auto set = of_default_context(atomic_set);
inline constexpr auto add = of_default_context(atomic_add);
inline constexpr auto inc = of_default_context(atomic_inc);
inline constexpr auto swap = of_default_context(atomic_swap);
inline constexpr auto fadd = of_default_context(atomic_fetch_add);
inline constexpr auto cswap = of_default_context(atomic_compare_swap);
inline constexpr auto finc = of_default_context(atomic_fetch_inc);

inline constexpr auto wait = []<class T>(Call& call, None, T* word, T) { waited_for(call, word); };

template <Collective kind>
inline constexpr auto on_set = []<class T>(Call& call, None, T*, const T*, size_t count, int start, int stride, int size, long*) {
  collective(call, {SHMEM_TEAM_INVALID, start, stride, size}, kind, count * sizeof(T));
};
inline constexpr auto broadcast = []<class T>(Call& call, None, T*, const T*, size_t count, int root, int start, int stride, int size,
                                              long*) {
  collective(call, {SHMEM_TEAM_INVALID, start, stride, size}, Collective::bcast, count * sizeof(T), root);
};
inline constexpr auto collect = on_set<Collective::collect>;
inline constexpr auto fcollect = on_set<Collective::allgather>;
inline constexpr auto alltoall = on_set<Collective::alltoall>;
inline constexpr auto alltoalls = []<class T>(Call& call, None, T*, const T*, ptrdiff_t, ptrdiff_t, size_t count, int start, int stride,
                                              int size, long*) {
  collective(call, {SHMEM_TEAM_INVALID, start, stride, size}, Collective::alltoall, count * sizeof(T));
};
inline constexpr auto and_to_all = []<class T>(Call& call, None, T*, const T*, int count, int start, int stride, int size, T*, long*) {
  collective(call, {SHMEM_TEAM_INVALID, start, stride, size}, Collective::allreduce, static_cast<size_t>(count) * sizeof(T));
};
inline constexpr auto or_to_all = and_to_all, xor_to_all = and_to_all, max_to_all = and_to_all, min_to_all = and_to_all,
                      sum_to_all = and_to_all, prod_to_all = and_to_all;

}  // namespace old
}  // namespace hooks
}  // namespace portunus::record::shmem
