// peers.cpp: how many ranks a rank exchanges with, and what the library is told of this Fortran.
#include <atomic>
#include <string>

#include "mpi-adi/fortran/runtime.h"

namespace {

// In and out of a neighbourhood; both 0 without a topology.
void neighbours_of(MPI_Comm comm, int& in, int& out) {
  int topology = MPI_UNDEFINED, rank = 0, weighted;
  in = out = 0;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &in);
    in = out = 2 * in;
  } else if (topology == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &in);
    out = in;
  } else if (topology == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  }
}

MPI_Count all_peers(MPI_Comm comm) {
  int size = 0, is_inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS) return 0;
  is_inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
  return size;
}

}  // namespace

MPI_Count send_peers(MPI_Comm comm, bool neighbours) {
  if (!neighbours) return all_peers(comm);
  int in, out;
  neighbours_of(comm, in, out);
  return out;
}
MPI_Count receive_peers(MPI_Comm comm, bool neighbours) {
  if (!neighbours) return all_peers(comm);
  int in, out;
  neighbours_of(comm, in, out);
  return in;
}

// Once, and unless a program has told it already: sizes and truth values of gfortran and of other compilers by default.
void fortran_tell_library() {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  MPI_Fint yes = 1, no = 0;
  PMPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Abi_get_fortran_info(&info) != MPI_SUCCESS || info != MPI_INFO_NULL) {
    if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
    return;
  }
  if (PMPI_Info_create(&info) != MPI_SUCCESS) return;
  const struct {
    const char* key;
    size_t size;
  } sizes[] = {{"mpi_logical_size", sizeof(MPI_Fint)},
               {"mpi_integer_size", sizeof(MPI_Fint)},
               {"mpi_real_size", sizeof(float)},
               {"mpi_double_precision_size", sizeof(double)}};
  for (const auto& each : sizes) PMPI_Info_set(info, each.key, std::to_string(each.size).c_str());
  PMPI_Abi_set_fortran_info(info);
  PMPI_Info_free(&info);
}
