// rma.cpp: one copy on the node, one operation off it.
#include "shmem/rma.hpp"

#include <cstring>

namespace portunus::shmem {

void put_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Peer& target = peer(function, pe);
  Channel& channel = channel_of(function, context);
  if (size == 0) return;
  const Place place = locate(function, dest, size, pe);
  if (target.on_node()) [[likely]]
    memcpy(target.at<void>(place), source, size);
  else
    channel.put(pe, place, source, size);
}

void put_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Peer& target = peer(function, pe);
  Channel& channel = channel_of(function, context);
  if (size == 0) return;
  const Place place = locate(function, dest, size, pe);
  if (target.on_node()) [[likely]]
    memcpy(target.at<void>(place), source, size);
  else
    channel.put_nbi(pe, place, source, size);
}

void get_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Peer& target = peer(function, pe);
  Channel& channel = channel_of(function, context);
  if (size == 0) return;
  const Place place = locate(function, source, size, pe);
  if (target.on_node()) [[likely]]
    memcpy(dest, target.at<const void>(place), size);
  else
    channel.get(pe, place, dest, size);
}

void get_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Peer& target = peer(function, pe);
  Channel& channel = channel_of(function, context);
  if (size == 0) return;
  const Place place = locate(function, source, size, pe);
  if (target.on_node()) [[likely]]
    memcpy(dest, target.at<const void>(place), size);
  else
    channel.get_nbi(pe, place, dest, size);
}

}  // namespace portunus::shmem
