// init.cpp: start and end of the tool information interface, and what it has none of: enumerations and events.
#include <atomic>
#include <mutex>

#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/core/settings.hpp"
#include "mpi-adi/tool/tool.hpp"

namespace portunus::mpi::tool {
namespace {

std::mutex mutex;
std::atomic<int> users{0};

}  // namespace

bool open() { return users.load(std::memory_order_acquire) > 0; }

}  // namespace portunus::mpi::tool

using namespace portunus::mpi;

// Before MPI_Init the settings are read as MPI_Init will.
extern "C" int PMPI_T_init_thread(int required, int* provided) try {
  std::lock_guard lock(tool::mutex);
  if (tool::users.load(std::memory_order_relaxed) == 0 && phase.load(std::memory_order_acquire) == Phase::before &&
      read_settings() != nullptr)
    return MPI_T_ERR_CANNOT_INIT;
  tool::users.fetch_add(1, std::memory_order_release);
  tool::give(provided, required < MPI_THREAD_MULTIPLE ? required : MPI_THREAD_MULTIPLE);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_init_thread)

extern "C" int PMPI_T_finalize(void) try {
  std::lock_guard lock(tool::mutex);
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  tool::users.fetch_sub(1, std::memory_order_release);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_finalize)

// No variable is of an enumeration: there is no valid argument.
extern "C" int PMPI_T_enum_get_info(MPI_T_enum, int*, char*, int*) try {
  return tool::open() ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_NOT_INITIALIZED;
}
MPI_WEAK_NAME(T_enum_get_info)

extern "C" int PMPI_T_enum_get_item(MPI_T_enum, int, int*, char*, int*) try {
  return tool::open() ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_NOT_INITIALIZED;
}
MPI_WEAK_NAME(T_enum_get_item)
