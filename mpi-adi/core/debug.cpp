// debug.cpp: see debug.hpp.
#include "mpi-adi/core/debug.hpp"

#include <cstdint>

#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/types/datatype.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi {

constinit Debug debug{};

namespace {

bool is_there(uintptr_t begin, uintptr_t end) { return PtlxAccessible(reinterpret_cast<const void*>(begin), end - begin, 0) != 0; }

}  // namespace

void read_debug() {
  debug.buffers = PtlxDebug("buffers") != 0;
  debug.calls = PtlxDebug("calls") != 0;
  debug.leaks = PtlxDebug("leaks") != 0;
  debug.no_node_collectives = PtlxDebug("no-node-collectives") != 0;
  debug.very_short = PtlxDebug("very-short");
}

bool is_readable(const void* buffer, MPI_Count count, const Datatype& type) {
  if (count <= 0 || type.size == 0) return true;
  const auto first = reinterpret_cast<uintptr_t>(buffer) + static_cast<uintptr_t>(type.true_lb);
  const auto last = first + static_cast<uintptr_t>((count - 1) * type.extent + type.true_extent);
  if (type.dense) return is_there(first, last);
  const auto last_begins = first + static_cast<uintptr_t>((count - 1) * type.extent);
  return is_there(first, first + 1) && is_there(last - 1, last) && is_there(last_begins, last_begins + 1);
}

int check_readable(const char* function, const Communicator* comm, const void* buffer, MPI_Count count, const Datatype& type) {
  if (is_readable(buffer, count, type)) return MPI_SUCCESS;
  return raise(function, comm, MPI_ERR_BUFFER, "%lld elements of %lld bytes at %p cannot be read to their end",
               static_cast<long long>(count), static_cast<long long>(type.size), buffer);
}

}  // namespace portunus::mpi
