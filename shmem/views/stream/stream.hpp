// stream.hpp: versions of a declared view that flow from one writer to fixed readers.
#pragma once

#include "shmem/views/library.hpp"

namespace portunus::views {

void make_stream(View& view, int writer, const std::vector<int>& readers, unsigned depth);
void stream_acquire(View& view, Vdcx_mode mode, double seconds);
void stream_release(View& view);

}  // namespace portunus::views
