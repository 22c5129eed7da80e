/* Correct calls that compilers have warned of: constants in the place of arrays, casts in macros. Valid in every C and C++. */
#include <mpi.h>

int use(MPI_Comm comm);
int use(MPI_Comm comm) {
    int ranks[2] = {0, 0}, error;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Status status;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    char *no_arguments[1] = {0};
    error = MPI_Dist_graph_create_adjacent(comm, 1, ranks, MPI_UNWEIGHTED, 1, ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    error |= MPI_Dist_graph_create_adjacent(comm, 0, ranks, MPI_WEIGHTS_EMPTY, 0, ranks, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    error |= MPI_Dist_graph_create(comm, 1, ranks, ranks, ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    error |= MPI_Dist_graph_create(comm, 0, ranks, ranks, ranks, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    error |= MPI_Dist_graph_neighbors(graph, 1, ranks, MPI_UNWEIGHTED, 1, ranks, MPI_UNWEIGHTED);
    error |= MPI_Comm_spawn("program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &graph, MPI_ERRCODES_IGNORE);
    error |= MPI_Comm_spawn("program", no_arguments, 1, MPI_INFO_NULL, 0, comm, &graph, MPI_ERRCODES_IGNORE);
    error |= MPI_Recv(MPI_BOTTOM, 1, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    error |= MPI_Waitall(0, 0, MPI_STATUSES_IGNORE);
    error |= MPI_Allreduce(MPI_IN_PLACE, ranks, 2, MPI_INT, MPI_SUM, comm);
    error |= MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status) | MPI_Type_free(&type);
    error |= MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    error |= MPI_Pcontrol(1, "more", error);
    return error;
}
