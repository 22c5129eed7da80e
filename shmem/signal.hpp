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

void put_bytes_signal(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, uint64_t* sig_addr,
                      uint64_t signal, int sig_op, int pe, bool nbi);

}  // namespace portunus::shmem
