// signal.hpp: puts that tell the target when they have arrived.
//
// On the node the payload is copied and the signal updated with release. Off it a short payload is followed by its signal, which does not
// overtake it, and the engine updates the signal of a long one when the payload has been acknowledged.
//
// Thread: any.
// Source: OpenSHMEM 1.6, chapter "Signaling Operations".
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmem/context.hpp"

namespace portunus::shmem {

inline void check_signal_op(const char* function, int op) {
  if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD) [[unlikely]]
    misuse("%s: %d is no signal operation; use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", function, op);
}
void put_bytes_signal(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, uint64_t* sig_addr,
                      uint64_t signal, int sig_op, int pe, bool nbi);

}  // namespace portunus::shmem
