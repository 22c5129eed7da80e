/* job.c export PATH: writes a graph as GOAL text. job.c killed WHEN: rank 1 dies after WHEN microseconds of runs of a graph; the others must
 * get MPI_ERR_PROC_ABORTED from a run, and go on. */
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 10000 };
static int rank, ranks, in[kCount], out[kCount];

static MPIX_Graph captured(MPI_Comm comm) {
  MPIX_Graph graph;
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  MPIX_Graph_begin(comm, MPI_INFO_NULL);
  for (int i = 0; i < 8; ++i) {
    MPI_Sendrecv(in, kCount, MPI_INT, right, i, out, kCount, MPI_INT, left, i, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(out, 10, MPI_INT, left, 70000, right, 70000, comm, MPI_STATUS_IGNORE);
    MPI_Allreduce(out, in, kCount, MPI_INT, MPI_MAX, comm);
  }
  MPIX_Graph_gate(1);
  if (MPIX_Graph_end(comm, &graph) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  return graph;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPIX_Graph graph = captured(MPI_COMM_WORLD);
  int error = MPI_SUCCESS, class = 0;
  if (strcmp(argv[1], "export") == 0) {
    error = MPIX_Graph_export(graph, argv[2]);
  } else {
    const double end = MPI_Wtime() + atof(argv[2]) * 1e-6;
    while (error == MPI_SUCCESS) {
      MPI_Request request;
      error = MPIX_Graph_start(graph, &request);
      if (rank == 1 && MPI_Wtime() > end) raise(SIGKILL);
      if (error != MPI_SUCCESS) break;
      MPIX_Graph_open(graph, 1);
      error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(error, &class);
    error = class != MPI_ERR_PROC_ABORTED;
  }
  if (MPIX_Graph_free(&graph) != MPI_SUCCESS) error = 1;
  if (error == MPI_SUCCESS) printf("rank %d is right\n", rank);
  else printf("rank %d: class %d\n", rank, class);
  MPI_Finalize();
  return error;
}
