// environment.cpp: versions, clock, names, memory.
// Thread: any. Source: MPI-5.0, 9.1, 9.2, 9.6, 4.1.5.
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/core/checked.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/info.hpp"
#include "mpi-adi/core/profiling.hpp"

using namespace portunus::mpi;

extern "C" int PMPI_Get_version(int* version, int* subversion) try {
  if (version == nullptr || subversion == nullptr)
    return raise("MPI_Get_version", nullptr, MPI_ERR_ARG, "an address for the version is null");
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Get_version)

extern "C" int PMPI_Abi_get_version(int* abi_major, int* abi_minor) try {
  if (abi_major == nullptr || abi_minor == nullptr)
    return raise("MPI_Abi_get_version", nullptr, MPI_ERR_ARG, "an address for the version is null");
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Abi_get_version)

extern "C" int PMPI_Abi_get_info(MPI_Info* info) try {
  static constexpr char kName[] = "MPI_Abi_get_info";
  if (info == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the info is null");
  *info = make_info({{"mpi_aint_size", std::to_string(sizeof(MPI_Aint))},
                     {"mpi_count_size", std::to_string(sizeof(MPI_Count))},
                     {"mpi_offset_size", std::to_string(sizeof(MPI_Offset))}});
  return *info != MPI_INFO_NULL ? MPI_SUCCESS : raise(kName, nullptr, MPI_ERR_NO_MEM, "too many infos are in use");
}
MPI_WEAK_NAME(Abi_get_info)

// Parts of a node are not told apart (see MPI_Comm_split_type): there is no resource to name.
extern "C" int PMPI_Get_hw_resource_info(MPI_Info* hw_info) try {
  static constexpr char kName[] = "MPI_Get_hw_resource_info";
  if (hw_info == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the info is null");
  *hw_info = make_info({});
  return *hw_info != MPI_INFO_NULL ? MPI_SUCCESS : raise(kName, nullptr, MPI_ERR_NO_MEM, "too many infos are in use");
}
MPI_WEAK_NAME(Get_hw_resource_info)

extern "C" int PMPI_Get_library_version(char* version, int* resultlen) try {
  if (version == nullptr || resultlen == nullptr)
    return raise("MPI_Get_library_version", nullptr, MPI_ERR_ARG, "an address for the version is null");
  *resultlen = std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Portunus MPI " PTL_VERSION " (MPI-%d.%d, ABI %d.%d)", MPI_VERSION,
                             MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Get_library_version)

extern "C" int PMPI_Get_processor_name(char* name, int* resultlen) try {
  static constexpr char kName[] = "MPI_Get_processor_name";
  if (find_communicator(MPI_COMM_WORLD) == nullptr) return raise_bad_communicator(kName, MPI_COMM_WORLD);
  if (name == nullptr || resultlen == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "an address for the name is null");
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) return raise(kName, nullptr, MPI_ERR_OTHER, "the host has no name");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *resultlen = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Get_processor_name)

extern "C" double PMPI_Wtime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
MPI_WEAK_NAME_ALONE(Wtime)

extern "C" double PMPI_Wtick() { return 1e-9; }
MPI_WEAK_NAME_ALONE(Wtick)

extern "C" int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) try {
  static constexpr char kName[] = "MPI_Alloc_mem";
  if (size < 0 || baseptr == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the size is negative or the address is null");
  if (int error = check_info(kName, nullptr, info)) return error;
  constexpr size_t kUsual = alignof(std::max_align_t);
  const size_t alignment = alignment_in(hints_of(info), kUsual);
  const size_t whole = (static_cast<size_t>(size) + alignment - 1) / alignment * alignment;
  // The C library takes several times as long for memory with an alignment of its own.
  void* memory = size > kMaxBytes ? nullptr : alignment == kUsual ? std::malloc(whole) : std::aligned_alloc(alignment, whole);
  if (memory == nullptr && size > 0)
    return raise(kName, nullptr, MPI_ERR_NO_MEM, "there is no room for %lld bytes", static_cast<long long>(size));
  *static_cast<void**>(baseptr) = memory;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Alloc_mem)

extern "C" int PMPI_Free_mem(void* base) try {
  std::free(base);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Free_mem)

extern "C" int PMPI_Get_address(const void* location, MPI_Aint* address) try {
  if (address == nullptr) return raise("MPI_Get_address", nullptr, MPI_ERR_ARG, "the address for the result is null");
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Get_address)

// Addresses wrap around, other than MPI_Aint does.
extern "C" MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(base) + static_cast<uintptr_t>(disp));
}
MPI_WEAK_NAME_ALONE(Aint_add)

extern "C" MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(addr1) - static_cast<uintptr_t>(addr2));
}
MPI_WEAK_NAME_ALONE(Aint_diff)

// For profiling tools that define MPI_Pcontrol; there is nothing to control here.
extern "C" int PMPI_Pcontrol(const int, ...) try { return MPI_SUCCESS; }
MPI_WEAK_NAME(Pcontrol)
