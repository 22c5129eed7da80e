// profiling.hpp: every function is defined as PMPI_name; this gives it its weak name MPI_name, so that a tool which defines
// MPI_name itself is called instead and reaches us through PMPI_name. Follows the definition, in the same source.
//
// It also ends the body, which begins with `try`: memory that could not be had becomes MPI_ERR_NO_MEM, raised at the object that the call
// names in its parameters. No exception of ours leaves a function of MPI.
// Source: MPI-5.0, 15.2 (profiling interface), 9.3 (error handling).
#pragma once

#include <new>
#include <stdexcept>
#include <type_traits>

#include "mpi-adi/mpi.h"

#define MPI_WEAK_NAME_ALONE(name) extern "C" decltype(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)));

#define MPI_NO_MEMORY(function)                                                   \
  catch (const std::bad_alloc&) {                                                 \
    return ::portunus::mpi::raise_no_memory_at(function, fh, win, comm, session); \
  }                                                                               \
  catch (const std::length_error&) {                                              \
    return ::portunus::mpi::raise_no_memory_at(function, fh, win, comm, session); \
  }
#define MPI_WEAK_NAME(name)   \
  MPI_NO_MEMORY("MPI_" #name) \
  MPI_WEAK_NAME_ALONE(name)
#define MPIX_WEAK_NAME(name)   \
  MPI_NO_MEMORY("MPIX_" #name) \
  MPIX_WEAK_NAME_ALONE(name)
#define MPIX_WEAK_NAME_ALONE(name) extern "C" decltype(PMPIX_##name) MPIX_##name __attribute__((weak, alias("PMPIX_" #name)));

namespace portunus::mpi {

// Stands for the objects that a call has no parameter for.
inline constexpr struct NoParameter {
} fh, win, comm, session;

// MPI_ERR_NO_MEM, raised at the object, or without one where it is not valid; a function of the tool interface raises nothing.
[[gnu::cold, gnu::noinline]] int raise_no_memory(const char* function, MPI_Comm handle);
[[gnu::cold, gnu::noinline]] int raise_no_memory(const char* function, MPI_Win handle);
[[gnu::cold, gnu::noinline]] int raise_no_memory(const char* function, MPI_File handle);
[[gnu::cold, gnu::noinline]] int raise_no_memory(const char* function, MPI_Session handle);

template <class File, class Win, class Comm, class Session>
[[gnu::cold]] int raise_no_memory_at(const char* function, File fh, Win win, Comm comm, Session session) {
  if constexpr (std::is_same_v<File, MPI_File>) return raise_no_memory(function, fh);
  else if constexpr (std::is_same_v<Win, MPI_Win>) return raise_no_memory(function, win);
  else if constexpr (std::is_same_v<Comm, MPI_Comm>) return raise_no_memory(function, comm);
  else if constexpr (std::is_same_v<Session, MPI_Session>) return raise_no_memory(function, session);
  else return raise_no_memory(function, MPI_COMM_NULL);
}

inline constexpr char kNoMemory[] = "there is not enough memory for what this call needs";

}  // namespace portunus::mpi
