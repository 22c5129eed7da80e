// access.hpp: the arguments of an access to a window, checked: what lies where on both sides.
//
// Thread: any. Source: MPI-5.0, 12.3.
#pragma once

#include <limits>

#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/rma/runs.hpp"
#include "mpi-adi/rma/window.hpp"

namespace portunus::mpi::rma {

constexpr int64_t kAnyLength = std::numeric_limits<int64_t>::max();
constexpr int64_t kAtomicBytes = 32 * 1024;  // at most, in one message; a multiple of all elements' sizes

// One side of an access, as the user gave it.
struct Buffer {
  const void* address;
  MPI_Count count;
  MPI_Datatype type;
};

class Report;

struct Access {
  Window* window = nullptr;
  const Member* member = nullptr;  // nullptr: MPI_PROC_NULL, nothing is to be done
  int64_t displacement = 0;        // in bytes, at the target
  int64_t dense = -1;              // the target's bytes, if they lie in one run within its window; or -1, and perhaps they do
  bool captured = false;           // it becomes part of a graph
  MPI_Request* handle = nullptr;   // of a call with a request that is captured
  bool reports = false;            // its call has a request, see report.hpp
  // These two come with the first operation that tells of its end.
  mutable Request* whole = nullptr;
  mutable Report* report = nullptr;
  mutable bool unreported = false;  // some operation will not tell of its end
};

// Checks an access; returns MPI_SUCCESS or the error that was raised. `target`: its address is not used.
int check_access(const char* function, MPI_Win win, int rank, MPI_Aint displacement, const Buffer& target, Access& access);
int check_side(const char* function, const Window& window, const Buffer& side);
// Refuses a null address, which is named `name` in the error, unless the datatype has places of its own: then it is MPI_BOTTOM.
int refuse_null(const char* function, const Window& window, const char* name, MPI_Count count, MPI_Datatype type);
// Refuses memory that cannot be read (PTL_DEBUG).
int check_readable(const char* function, const Window& window, const char* name, const Buffer& buffer);
inline int check_address(const char* function, const Window& window, const char* name, const Buffer& buffer) {
  if (debug.buffers) [[unlikely]]
    return check_readable(function, window, name, buffer);
  if (buffer.address != nullptr || buffer.count == 0) [[likely]]
    return MPI_SUCCESS;
  return refuse_null(function, window, name, buffer.count, buffer.type);
}
// Checks a side that lies here; its address where something is to be done.
inline int check_buffer(const char* function, const Access& access, const char* name, const Buffer& buffer) {
  if (plain_bytes(buffer.count, buffer.type) < 0)
    if (int error = check_side(function, *access.window, buffer)) return error;
  return access.member ? check_address(function, *access.window, name, buffer) : MPI_SUCCESS;
}

// The base may be MPI_BOTTOM.
inline std::byte* place(const void* base, int64_t offset) {
  return reinterpret_cast<std::byte*>(device::offset_of(base) + static_cast<ptl_size_t>(offset));
}
// Return where the target's byte with this offset from the access's displacement is: for messages, and where this process maps it.
inline client::RemoteAddress remote(const Access& access, int64_t offset) {
  return {device::process(access.member->job_rank), kWindowPortal, match_bits(access.window->number, Place::memory),
          static_cast<ptl_size_t>(access.displacement + offset)};
}
inline std::byte* mapped(const Access& access, int64_t offset) { return access.member->mapped + access.displacement + offset; }

}  // namespace portunus::mpi::rma
