// rma.cpp: one copy on the node, one operation off it.
#include "shmem/rma.hpp"

#include "engine/goal/copy.hpp"

namespace portunus::shmem {

void put_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Aim target = aim(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, dest, size, pe);
  if (target.peer.on_node()) [[likely]] {
    copy_run(target.peer.at<void>(place), source, size);
    stored(target.peer, place, size);
  } else {
    target.channel.put(target.pe, place, source, size);
  }
}

void put_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Aim target = aim(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, dest, size, pe);
  if (target.peer.on_node()) [[likely]] {
    copy_run(target.peer.at<void>(place), source, size);
    stored(target.peer, place, size);
  } else {
    target.channel.put_nbi(target.pe, place, source, size);
  }
}

void get_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Aim target = aim(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, source, size, pe);
  if (target.peer.on_node()) [[likely]]
    copy_run(dest, target.peer.at<const void>(place), size);
  else target.channel.get(target.pe, place, dest, size);
}

void get_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  const Aim target = aim(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, source, size, pe);
  if (target.peer.on_node()) [[likely]]
    copy_run(dest, target.peer.at<const void>(place), size);
  else target.channel.get_nbi(target.pe, place, dest, size);
}

}  // namespace portunus::shmem
