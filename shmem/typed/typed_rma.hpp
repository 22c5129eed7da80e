// typed_rma.hpp: the bodies of put, get, p, g and their kin, once for all types. typed.cpp names them.
//
// Thread: any.
// Source: OpenSHMEM 1.6, chapter "Remote Memory Access Routines".
#pragma once

#include <cstring>

#include "shmem/graph/capture.hpp"
#include "shmem/rma.hpp"
#include "shmem/signal.hpp"
#include "shmem/strided.hpp"

namespace portunus::shmem::ops {

template <class T>
void put(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  put_bytes(function, context, dest, source, bytes_at(function, dest, nelems, sizeof(T), pe), pe);
}
template <class T>
void get(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  get_bytes(function, context, dest, source, bytes_at(function, source, nelems, sizeof(T), pe), pe);
}
template <class T>
void put_nbi(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  put_bytes_nbi(function, context, dest, source, bytes_at(function, dest, nelems, sizeof(T), pe), pe);
}
template <class T>
void get_nbi(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  get_bytes_nbi(function, context, dest, source, bytes_at(function, source, nelems, sizeof(T), pe), pe);
}

template <class T>
void p(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  const Target target = target_of(function, context, pe);
  check_alignment(function, dest, sizeof(T), pe);
  const Place place = locate(function, dest, sizeof(T), pe);
  if (is_captured()) [[unlikely]]
    return graph::put_value(function, target, place, &value, sizeof(T));
  at_memory<true>(
      target.peer, place, sizeof(T), [&](void* there) { memcpy(there, &value, sizeof(T)); },
      [&] { target.channel.put(target.pe, place, &value, sizeof(T)); });
}

template <class T>
T g(const char* function, shmem_ctx_t context, const T* source, int pe) {
  if (is_captured()) [[unlikely]]
    return graph::refuse(function), T{};
  const Target target = target_of(function, context, pe);
  check_alignment(function, source, sizeof(T), pe);
  const Place place = locate(function, source, sizeof(T), pe);
  T value;
  at_memory<false>(
      target.peer, place, sizeof(T), [&](const void* there) { memcpy(&value, there, sizeof(T)); },
      [&] { target.channel.get(target.pe, place, &value, sizeof(T)); });
  return value;
}

template <class T>
void iput(const char* function, shmem_ctx_t context, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  put_strided(function, context, dest, source, {sizeof(T), 1, nelems, dst, sst}, pe);
}
template <class T>
void iget(const char* function, shmem_ctx_t context, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  get_strided(function, context, dest, source, {sizeof(T), 1, nelems, dst, sst}, pe);
}
template <class T>
void ibput(const char* function, shmem_ctx_t context, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
           int pe) {
  put_strided(function, context, dest, source, {sizeof(T), bsize, nblocks, dst, sst}, pe);
}
template <class T>
void ibget(const char* function, shmem_ctx_t context, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
           int pe) {
  get_strided(function, context, dest, source, {sizeof(T), bsize, nblocks, dst, sst}, pe);
}

template <class T>
void put_signal(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,
                int sig_op, int pe) {
  put_bytes_signal(function, context, dest, source, bytes_at(function, dest, nelems, sizeof(T), pe), sig_addr, signal, sig_op, pe, false);
}
template <class T>
void put_signal_nbi(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,
                    int sig_op, int pe) {
  put_bytes_signal(function, context, dest, source, bytes_at(function, dest, nelems, sizeof(T), pe), sig_addr, signal, sig_op, pe, true);
}

// The same for elements of a width instead of a type.
inline void sized_put(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, size_t nelems, int pe) {
  put_bytes(function, context, dest, source, bytes_at(function, dest, nelems, width, pe), pe);
}
inline void sized_get(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, size_t nelems, int pe) {
  get_bytes(function, context, dest, source, bytes_at(function, source, nelems, width, pe), pe);
}
inline void sized_put_nbi(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, size_t nelems, int pe) {
  put_bytes_nbi(function, context, dest, source, bytes_at(function, dest, nelems, width, pe), pe);
}
inline void sized_get_nbi(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, size_t nelems, int pe) {
  get_bytes_nbi(function, context, dest, source, bytes_at(function, source, nelems, width, pe), pe);
}
inline void sized_put_signal(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, size_t nelems,
                             uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) {
  put_bytes_signal(function, context, dest, source, bytes_at(function, dest, nelems, width, pe), sig_addr, signal, sig_op, pe, false);
}
inline void sized_put_signal_nbi(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, size_t nelems,
                                 uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) {
  put_bytes_signal(function, context, dest, source, bytes_at(function, dest, nelems, width, pe), sig_addr, signal, sig_op, pe, true);
}
inline void sized_iput(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t nelems, int pe) {
  put_strided(function, context, dest, source, {width, 1, nelems, dst, sst}, pe);
}
inline void sized_iget(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t nelems, int pe) {
  get_strided(function, context, dest, source, {width, 1, nelems, dst, sst}, pe);
}
inline void sized_ibput(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) {
  put_strided(function, context, dest, source, {width, bsize, nblocks, dst, sst}, pe);
}
inline void sized_ibget(const char* function, shmem_ctx_t context, size_t width, void* dest, const void* source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) {
  get_strided(function, context, dest, source, {width, bsize, nblocks, dst, sst}, pe);
}

}  // namespace portunus::shmem::ops
