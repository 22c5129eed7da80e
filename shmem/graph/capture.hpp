// capture.hpp: how calls of OpenSHMEM become part of a graph in place of being executed.
//
// A thread that captures keeps its count of calls (runtime.hpp) where every call finds that it has come round; so the calls of others take
// no step more. What this header has is called where calls find the capture.
//
// Thread: the one that captures; is_capturing() any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/goal/goal_call.h"
#include "shmem/context.hpp"
#include "shmem/strided.hpp"

namespace portunus::shmem::graph {

[[gnu::cold]] bool is_capturing();

// Why calls cannot be part of a graph.
inline constexpr char kDecides[] = "its outcome would decide what comes next";
inline constexpr char kNoHeap[] = "memory is not allocated, nor freed, in a graph";
inline constexpr char kNoTeams[] = "teams are neither made nor destroyed in a graph";
inline constexpr char kNoActiveSets[] = "collectives of a graph are those on its team; active sets have none";

inline constexpr char kNotBlocking[] = "record the collective that blocks; a graph does not block its program";

// A call that cannot be recorded makes the capture void, and does nothing.
[[gnu::cold]] void refuse(const char* function, const char* why = kDecides);
[[gnu::cold]] bool refuse_if_capturing(const char* function, const char* why);
// Whether the thread captures; then the call is refused.
inline bool is_refused(const char* function, const char* why = kDecides) { return captures() && refuse_if_capturing(function, why); }

// Each records one call. What blocks is waited for by all that comes later. Those that get a target have had their arguments checked.
[[gnu::cold]] void put(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe, bool blocks);
[[gnu::cold]] void get(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe, bool blocks);
[[gnu::cold]] void put_value(const char* function, const Target& target, Place to, const void* value, size_t size);
[[gnu::cold]] void put_strided(const char* function, const Target& target, Place to, const void* source, const Strided& shape);
[[gnu::cold]] void get_strided(const char* function, const Target& target, Place from, void* dest, const Strided& shape);
[[gnu::cold]] void put_signal(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, uint64_t* word,
                              uint64_t signal, int op, int pe, bool blocks);
// An atomic; with `fetch` the old value goes there, by a call that blocks, which is refused, or by one that does not.
struct Atomic {
  ptl_op_t op;
  const void* value;
  void* fetch = nullptr;
  const void* expected = nullptr;
  bool answers_at_once = false;
};
[[gnu::cold]] void atomic(const char* function, shmem_ctx_t context, const void* word, int pe, size_t size, const Atomic& operation);

// A word that is waited for, of a type of integers.
struct Word {
  const void* at;
  size_t size;
  bool has_sign;
};
template <class T>
Word word_of(const T* word) {
  static_assert(std::is_integral_v<T>);
  return {word, sizeof(T), std::is_signed_v<T>};
}
[[gnu::cold]] void await(const char* function, const Word& word, int cmp, uint64_t value);

[[gnu::cold]] void fence(const Channel& channel);
[[gnu::cold]] void quiet(const Channel& channel);

// Collectives on teams: 0, or -1 if it is refused. `bytes`: what all PEs must have alike.
[[gnu::cold]] int sync(const char* function, Team& team);
[[gnu::cold]] int collective(const char* function, Team& team, const GOAL_Call& call, size_t bytes);
[[gnu::cold]] int broadcast(const char* function, Team& team, void* dest, const void* source, size_t bytes, int root);
[[gnu::cold]] int collect(const char* function, Team& team, void* dest, const void* source, size_t bytes);
[[gnu::cold]] int scan(const char* function, Team& team, void* dest, const void* source, size_t count, GOAL_Type type, size_t bytes,
                       bool inclusive);
// Element i of a side is at at + i * stride.
struct Side {
  const void* at;
  ptrdiff_t stride;
};
[[gnu::cold]] int alltoalls(const char* function, Team& team, const Side& dest, const Side& source, size_t count, size_t element,
                            size_t bytes);

}  // namespace portunus::shmem::graph
