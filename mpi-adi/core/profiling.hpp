// profiling.hpp: every function is defined as PMPI_name; this gives it its weak name MPI_name, so that a tool which defines
// MPI_name itself is called instead and reaches us through PMPI_name. Follows the definition, in the same source.
// Source: MPI-5.0, 15.2 (profiling interface).
#pragma once

#include "mpi-adi/mpi.h"

#define MPI_WEAK_NAME(name) extern "C" decltype(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)));
