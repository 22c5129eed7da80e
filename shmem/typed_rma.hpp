// typed_rma.hpp: the bodies of put, get, p and g, once for all types. typed.cpp names them.
//
// **Thread:** any.
// **Source:** OpenSHMEM 1.6, chapter "Remote Memory Access Routines".
#pragma once

#include <cstring>

#include "shmem/rma.hpp"

namespace portunus::shmem::ops {

template <class T>
void put(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  put_bytes(function, context, dest, source, bytes_of(function, nelems, sizeof(T)), pe);
}
template <class T>
void get(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  get_bytes(function, context, dest, source, bytes_of(function, nelems, sizeof(T)), pe);
}
template <class T>
void put_nbi(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  put_bytes_nbi(function, context, dest, source, bytes_of(function, nelems, sizeof(T)), pe);
}
template <class T>
void get_nbi(const char* function, shmem_ctx_t context, T* dest, const T* source, size_t nelems, int pe) {
  get_bytes_nbi(function, context, dest, source, bytes_of(function, nelems, sizeof(T)), pe);
}

template <class T>
void p(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  const Peer& target = peer(function, pe);
  Channel& channel = channel_of(function, context);
  const Place place = locate(function, dest, sizeof(T), pe);
  if (target.on_node()) [[likely]]
    memcpy(target.at<T>(place), &value, sizeof(T));
  else
    channel.put(pe, place, &value, sizeof(T));
}

template <class T>
T g(const char* function, shmem_ctx_t context, const T* source, int pe) {
  const Peer& target = peer(function, pe);
  Channel& channel = channel_of(function, context);
  const Place place = locate(function, source, sizeof(T), pe);
  T value;
  if (target.on_node()) [[likely]]
    memcpy(&value, target.at<const T>(place), sizeof(T));
  else
    channel.get(pe, place, &value, sizeof(T));
  return value;
}

}  // namespace portunus::shmem::ops
