// access.hpp: the arguments of an access to a window, checked: what lies where on both sides.
//
// Thread: any. Source: MPI-5.0, 12.3.
#pragma once

#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/rma/runs.hpp"
#include "mpi-adi/rma/window.hpp"

namespace portunus::mpi::rma {

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
  bool captured = false;           // it becomes part of a graph
  MPI_Request* handle = nullptr;   // of a call with a request that is captured
  // A call with a request has these two, see report.hpp.
  Request* whole = nullptr;
  Report* report = nullptr;
  mutable bool unreported = false;  // some operation will not tell of its end
};

// Checks an access; returns MPI_SUCCESS or the error that was raised. `target`: its address is not used.
int check_access(const char* function, MPI_Win win, int rank, MPI_Aint displacement, const Buffer& target, Access& access);
int check_origin(const char* function, const Window& window, const Buffer& origin);
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

}  // namespace portunus::mpi::rma
