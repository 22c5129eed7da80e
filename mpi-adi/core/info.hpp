// info.hpp: keys with values, in the order of setting.
// Thread: any. Source: MPI-5.0, 10.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

using Hints = std::vector<std::pair<std::string, std::string>>;

struct Info {
  mutable std::mutex mutex;
  Hints hints;

  Hints copy() const {
    std::lock_guard lock(mutex);
    return hints;
  }
};

// nullptr: no info. MPI_INFO_NULL is the caller's business; infos exist before MPI_Init and after MPI_Finalize, too.
Info* find_info(MPI_Info handle);
void for_each_info(const std::function<void(const Info&)>& action);
inline bool is_info_or_null(MPI_Info handle) { return handle == MPI_INFO_NULL || find_info(handle) != nullptr; }
// A new one for the user; MPI_INFO_NULL: too many are in use.
MPI_Info make_info(Hints hints);
// The hints of a handle that may be MPI_INFO_NULL.
Hints hints_of(MPI_Info handle);

// The alignment that mpi_minimum_memory_alignment asks for, a power of two from `least` on.
size_t alignment_in(const Hints& hints, size_t least);
// The same hints, and what every object says of memory: which kinds it may be of.
Hints with_memory_kinds(Hints hints);
void set_hint(Hints& hints, const std::string& key, const std::string& value);

}  // namespace portunus::mpi
