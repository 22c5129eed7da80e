// removed.cpp: names that MPI-3.0 has taken out of MPI, for programs and libraries older than that. mpi.h does not declare them.
//
// Each is what has taken its place, whose name errors tell.
// Thread: any. Source: MPI-2.2, 2.6.1 and its list of deprecated functions; MPI-5.0, 17.1 (removed interfaces).
#include "mpi-adi/mpi.h"

// Old declarations have no const; to the linker that is the same.
#define MPI_REMOVED(name, parameters, call)                             \
  extern "C" [[gnu::visibility("default")]] int PMPI_##name parameters; \
  extern "C" int PMPI_##name parameters { return call; }                \
  extern "C" [[gnu::visibility("default")]] decltype(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)));

namespace {

// The upper bound, or the extent, of a datatype.
int get_bounds(MPI_Datatype type, MPI_Aint* extent, MPI_Aint* upper) {
  MPI_Aint lower, length;
  if (int error = PMPI_Type_get_extent(type, &lower, extent || upper ? &length : nullptr)) return error;
  if (extent) *extent = length;
  if (upper) *upper = lower + length;
  return MPI_SUCCESS;
}
int get_lower_bound(MPI_Datatype type, MPI_Aint* lower) {
  MPI_Aint extent;
  return PMPI_Type_get_extent(type, lower, &extent);
}

}  // namespace

MPI_REMOVED(Address, (void* location, MPI_Aint* address), PMPI_Get_address(location, address))
MPI_REMOVED(Errhandler_create, (MPI_Comm_errhandler_function * function, MPI_Errhandler* handler),
            PMPI_Comm_create_errhandler(function, handler))
MPI_REMOVED(Errhandler_set, (MPI_Comm comm, MPI_Errhandler handler), PMPI_Comm_set_errhandler(comm, handler))
MPI_REMOVED(Errhandler_get, (MPI_Comm comm, MPI_Errhandler* handler), PMPI_Comm_get_errhandler(comm, handler))
MPI_REMOVED(Type_extent, (MPI_Datatype type, MPI_Aint* extent), get_bounds(type, extent, nullptr))
MPI_REMOVED(Type_lb, (MPI_Datatype type, MPI_Aint* displacement), get_lower_bound(type, displacement))
MPI_REMOVED(Type_ub, (MPI_Datatype type, MPI_Aint* displacement), get_bounds(type, nullptr, displacement))
MPI_REMOVED(Type_hvector, (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype),
            PMPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype))
MPI_REMOVED(Type_hindexed, (int count, int* blocklengths, MPI_Aint* displacements, MPI_Datatype oldtype, MPI_Datatype* newtype),
            PMPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype))
MPI_REMOVED(Type_struct, (int count, int* blocklengths, MPI_Aint* displacements, MPI_Datatype* types, MPI_Datatype* newtype),
            PMPI_Type_create_struct(count, blocklengths, displacements, types, newtype))
