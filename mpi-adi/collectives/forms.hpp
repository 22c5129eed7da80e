// forms.hpp: defines the functions of each collective, MPI_Name, MPI_Iname and MPI_Name_init, and the same with large counts,
// MPI_Name_c, MPI_Iname_c and MPI_Name_init_c, by one of the same name.
//
// Thread: any.
#pragma once

#include "mpi-adi/collectives/counts.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"

// The types that parameters call `Count` and `Displacement`; functions of the C interface are the same in every namespace.
namespace portunus::mpi::collectives::narrow {
using Count = int;
using Displacement = int;
}  // namespace portunus::mpi::collectives::narrow
namespace portunus::mpi::collectives::wide {
using Count = MPI_Count;
using Displacement = MPI_Aint;
}  // namespace portunus::mpi::collectives::wide

// Visible: GCC takes a function in a namespace for another one than that of mpi.h in this respect.
#define MPI_FORMS_AS(Name, name, suffix, arguments, ...)                                            \
  _Pragma("GCC visibility push(default)") extern "C" int PMPI_##Name##suffix(__VA_ARGS__) try {     \
    Call call{"MPI_" #Name #suffix, Collective::Name, Form::blocking, nullptr, nullptr};            \
    if (int error = check_call(call, comm)) return error;                                           \
    return name arguments;                                                                          \
  }                                                                                                 \
  MPI_WEAK_NAME(Name##suffix)                                                                       \
  extern "C" int PMPI_I##name##suffix(__VA_ARGS__, MPI_Request* request) try {                      \
    Call call{"MPI_I" #name #suffix, Collective::Name, Form::nonblocking, request, nullptr};        \
    if (int error = check_call(call, comm)) return error;                                           \
    return name arguments;                                                                          \
  }                                                                                                 \
  MPI_WEAK_NAME(I##name##suffix)                                                                    \
  extern "C" int PMPI_##Name##_init##suffix(__VA_ARGS__, MPI_Info info, MPI_Request* request) try { \
    Call call{"MPI_" #Name "_init" #suffix, Collective::Name, Form::persistent, request, nullptr};  \
    if (int error = check_call(call, comm)) return error;                                           \
    if (int error = check_info(call.function, call.comm, info)) return error;                       \
    return name arguments;                                                                          \
  }                                                                                                 \
  MPI_WEAK_NAME(Name##_init##suffix)                                                                \
  _Pragma("GCC visibility pop")

// `arguments`: those of `name`, in parentheses; then the parameters, with the communicator last.
#define MPI_FORMS(Name, name, arguments, ...)          \
  namespace portunus::mpi::collectives::narrow {       \
  MPI_FORMS_AS(Name, name, , arguments, __VA_ARGS__)   \
  }                                                    \
  namespace portunus::mpi::collectives::wide {         \
  MPI_FORMS_AS(Name, name, _c, arguments, __VA_ARGS__) \
  }
