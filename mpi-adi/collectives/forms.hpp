// forms.hpp: defines the three functions of each collective, MPI_Name, MPI_Iname and MPI_Name_init, by one of the same name.
//
// Thread: any.
#pragma once

#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/profiling.hpp"

// `arguments`: those of `name`, in parentheses; then the parameters, with the communicator last.
#define MPI_FORMS(Name, name, arguments, ...)                                                                     \
  extern "C" int PMPI_##Name(__VA_ARGS__) {                                                                       \
    Call call{"MPI_" #Name, Form::blocking, nullptr, nullptr};                                                    \
    if (int error = check_call(call, comm)) return error;                                                         \
    return name arguments;                                                                                        \
  }                                                                                                               \
  MPI_WEAK_NAME(Name)                                                                                             \
  extern "C" int PMPI_I##name(__VA_ARGS__, MPI_Request* request) {                                                \
    Call call{"MPI_I" #name, Form::nonblocking, request, nullptr};                                                \
    if (int error = check_call(call, comm)) return error;                                                         \
    return name arguments;                                                                                        \
  }                                                                                                               \
  MPI_WEAK_NAME(I##name)                                                                                          \
  extern "C" int PMPI_##Name##_init(__VA_ARGS__, MPI_Info, MPI_Request* request) {                                \
    Call call{"MPI_" #Name "_init", Form::persistent, request, nullptr};                                          \
    if (int error = check_call(call, comm)) return error;                                                         \
    return name arguments;                                                                                        \
  }                                                                                                               \
  MPI_WEAK_NAME(Name##_init)
