// typed_team.hpp: the bodies of the collectives on teams, once for all types; also those of the deprecated active sets.
//
// Thread: one per team at a time.
// Source: OpenSHMEM 1.6, chapter "Collective Routines".
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "shmem/collectives.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/rma.hpp"

namespace portunus::shmem::ops {

template <class T>
constexpr GOAL_Type goal_type() {
  if constexpr (std::is_same_v<T, float>) return GOAL_FLOAT;
  else if constexpr (std::is_same_v<T, double>) return GOAL_DOUBLE;
  else if constexpr (std::is_same_v<T, long double>) return GOAL_LONG_DOUBLE;
  else if constexpr (std::is_same_v<T, shmemi_complexf>) return GOAL_FLOAT_COMPLEX;
  else if constexpr (std::is_same_v<T, shmemi_complexd>) return GOAL_DOUBLE_COMPLEX;
  else {
    static_assert(std::is_integral_v<T>);
    constexpr int kSigned = std::is_signed_v<T> ? 0 : 1;
    switch (sizeof(T)) {
      case 1: return GOAL_Type(GOAL_INT8 + kSigned);
      case 2: return GOAL_Type(GOAL_INT16 + kSigned);
      case 4: return GOAL_Type(GOAL_INT32 + kSigned);
      default: return GOAL_Type(GOAL_INT64 + kSigned);
    }
  }
}

// Both arguments of a collective are symmetric.
inline void check_buffers(const char* function, const void* dest, size_t dest_bytes, const void* source, size_t source_bytes) {
  if (dest_bytes != 0) locate(function, dest, dest_bytes, runtime.my_pe);
  if (source_bytes != 0) locate(function, source, source_bytes, runtime.my_pe);
}

inline void check_root(const char* function, const Team& team, int root) {
  if (root < 0 || root >= team.size())
    misuse("%s: there is no PE %d in the team to be the root; its PEs are 0 .. %d", function, root, team.size() - 1);
}

// These do a collective, or record it: 0, or -1 if it cannot be recorded.
inline int broadcast_bytes(const char* function, Team& team, void* dest, const void* source, size_t bytes, int root, bool at_root) {
  check_root(function, team, root);
  check_buffers(function, dest, bytes, source, bytes);
  if (captures()) [[unlikely]]
    return graph::broadcast(function, team, dest, source, bytes, root);
  must_be_alike(function, team, bytes, root, dest);
  team.collectives->broadcast(dest, source, bytes, root, at_root);
  return 0;
}

inline int collect_bytes(const char* function, Team& team, void* dest, const void* source, size_t bytes) {
  check_buffers(function, dest, bytes, source, bytes);
  if (captures()) [[unlikely]]
    return graph::collect(function, team, dest, source, bytes);
  must_be_alike(function, team, 0, 0, dest);
  team.collectives->collect(dest, source, bytes);
  return 0;
}

inline int fcollect_bytes(const char* function, Team& team, void* dest, const void* source, size_t bytes) {
  check_buffers(function, dest, bytes_of(function, static_cast<size_t>(team.size()), bytes), source, bytes);
  if (captures()) [[unlikely]]
    return graph::collective(function, team, call_of(GOAL_CALL_ALLGATHER, bytes, source, dest), bytes);
  must_be_alike(function, team, bytes, 0, dest);
  team.collectives->fcollect(dest, source, bytes);
  return 0;
}

inline int alltoall_bytes(const char* function, Team& team, void* dest, const void* source, size_t bytes) {
  const size_t all = bytes_of(function, static_cast<size_t>(team.size()), bytes);
  check_buffers(function, dest, all, source, all);
  if (captures()) [[unlikely]]
    return graph::collective(function, team, call_of(GOAL_CALL_ALLTOALL, bytes, source, dest), bytes);
  must_be_alike(function, team, bytes, 0, dest);
  team.collectives->alltoall(dest, source, bytes);
  return 0;
}

// Element i of an array is at i * stride.
struct Strided {
  const char* function;
  size_t count, element;  // elements, and bytes of each

  size_t extent(ptrdiff_t stride) const {
    return count == 0 ? 0 : bytes_of(function, bytes_of(function, count - 1, static_cast<size_t>(stride)) + 1, element);
  }
  void pack(std::byte* to, const void* from, ptrdiff_t stride) const {
    for (size_t i = 0; i < count; ++i) memcpy(to + i * element, static_cast<const std::byte*>(from) + at(i, stride), element);
  }
  void unpack(void* to, ptrdiff_t stride, const std::byte* from) const {
    for (size_t i = 0; i < count; ++i) memcpy(static_cast<std::byte*>(to) + at(i, stride), from + i * element, element);
  }

 private:
  size_t at(size_t i, ptrdiff_t stride) const { return i * static_cast<size_t>(stride) * element; }
};

// Element k of the piece for PE i is element i * nelems + k.
inline Strided strided(const char* function, const Team& team, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t element) {
  if (dst < 1 || sst < 1) misuse("%s: strides of %td and %td; strides are 1 or more", function, dst, sst);
  return {function, bytes_of(function, static_cast<size_t>(team.size()), nelems), element};
}

inline int alltoalls_elements(const char* function, Team& team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                              size_t element) {
  const Strided all = strided(function, team, dst, sst, nelems, element);
  check_buffers(function, dest, all.extent(dst), source, all.extent(sst));
  if (captures()) [[unlikely]]
    return graph::alltoalls(function, team, {dest, dst}, {source, sst}, all.count, element, nelems * element);
  must_be_alike(function, team, nelems * element, 0, dest);
  std::vector<std::byte> packed(2 * all.count * element);
  std::byte* const in = packed.data() + all.count * element;
  all.pack(packed.data(), source, sst);
  team.collectives->alltoall(in, packed.data(), nelems * element);
  all.unpack(dest, dst, in);
  return 0;
}

template <class T>
int combine(const char* function, Team& team, T* dest, const T* source, size_t count, GOAL_Local_op op) {
  const size_t bytes = bytes_of(function, count, sizeof(T));
  check_buffers(function, dest, bytes, source, bytes);
  if (captures()) [[unlikely]]
    return graph::collective(function, team, call_of(GOAL_CALL_ALLREDUCE, count, goal_type<T>(), op, source, dest), bytes);
  must_be_alike(function, team, bytes, 0, dest);
  team.collectives->reduce(dest, source, count, goal_type<T>(), op);
  return 0;
}

template <class T>
int broadcast(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems, int root) {
  require_init(function);
  Team* it = team_of(team);
  if (!it) return -1;
  return broadcast_bytes(function, *it, dest, source, bytes_of(function, nelems, sizeof(T)), root, true);
}
template <class T>
int collect(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems) {
  require_init(function);
  Team* it = team_of(team);
  if (!it) return -1;
  return collect_bytes(function, *it, dest, source, bytes_of(function, nelems, sizeof(T)));
}
template <class T>
int fcollect(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems) {
  require_init(function);
  Team* it = team_of(team);
  if (!it) return -1;
  return fcollect_bytes(function, *it, dest, source, bytes_of(function, nelems, sizeof(T)));
}
template <class T>
int alltoall(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems) {
  require_init(function);
  Team* it = team_of(team);
  if (!it) return -1;
  return alltoall_bytes(function, *it, dest, source, bytes_of(function, nelems, sizeof(T)));
}
template <class T>
int alltoalls(const char* function, shmem_team_t team, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) {
  require_init(function);
  Team* it = team_of(team);
  if (!it) return -1;
  return alltoalls_elements(function, *it, dest, source, dst, sst, nelems, sizeof(T));
}

#define SHMEMI_REDUCTION(name, op)                                                                       \
  template <class T>                                                                                     \
  int name##_reduce(const char* function, shmem_team_t team, T* dest, const T* source, size_t nreduce) { \
    require_init(function);                                                                              \
    Team* it = team_of(team);                                                                            \
    if (!it) return -1;                                                                                  \
    return combine(function, *it, dest, source, nreduce, op);                                            \
  }
SHMEMI_REDUCTION(and, GOAL_AND)
SHMEMI_REDUCTION(or, GOAL_OR)
SHMEMI_REDUCTION(xor, GOAL_XOR)
SHMEMI_REDUCTION(max, GOAL_MAX)
SHMEMI_REDUCTION(min, GOAL_MIN)
SHMEMI_REDUCTION(sum, GOAL_ADD)
SHMEMI_REDUCTION(prod, GOAL_MULT)
#undef SHMEMI_REDUCTION

template <class T>
int scan(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems, bool inclusive) {
  require_init(function);
  Team* it = team_of(team);
  if (!it) return -1;
  const size_t bytes = bytes_of(function, nelems, sizeof(T));
  check_buffers(function, dest, bytes, source, bytes);
  if (captures()) [[unlikely]]
    return graph::scan(function, *it, dest, source, nelems, goal_type<T>(), bytes, inclusive);
  must_be_alike(function, *it, bytes, 0, dest);
  if (inclusive) it->collectives->inscan(dest, source, nelems, goal_type<T>());
  else it->collectives->exscan(dest, source, nelems, goal_type<T>());
  return 0;
}
template <class T>
int sum_inscan(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems) {
  return scan(function, team, dest, source, nelems, true);
}
template <class T>
int sum_exscan(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems) {
  return scan(function, team, dest, source, nelems, false);
}

}  // namespace portunus::shmem::ops
