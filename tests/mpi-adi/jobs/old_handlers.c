/* Errors of no object in a program that knows nothing of MPI-4: it sets a handler for MPI_COMM_WORLD only, and that one is called. */
#include <mpi.h>

static int calls;

static void on_error(MPI_Comm *comm, int *code, ...) {
    if (*comm == MPI_COMM_WORLD && *code != MPI_SUCCESS) ++calls;
}

int main(void) {
    MPI_Errhandler handler;
    MPI_Datatype type;
    int size;
    MPI_Init(0, 0);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int bad = MPI_Type_contiguous(-1, MPI_INT, &type) == MPI_SUCCESS;
    bad |= MPI_Group_size(MPI_GROUP_NULL, &size) == MPI_SUCCESS || calls != 2;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bad |= MPI_Group_size(MPI_GROUP_NULL, &size) == MPI_SUCCESS || calls != 2;
    /* Once there is one for MPI_COMM_SELF, that is asked. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    bad |= MPI_Group_size(MPI_GROUP_NULL, &size) == MPI_SUCCESS || calls != 2;
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return bad;
}
