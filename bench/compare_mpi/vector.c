/* Half the round trip of every other double of an array, as a derived datatype. */
#include "timed.h"

static MPI_Datatype type;
static double *array;

static void exchanges(long count) {
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            MPI_Send(array, 1, type, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(array, 1, type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (compare_me == 1) {
            MPI_Recv(array, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(array, 1, type, 0, 1, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    for (int doubles = 512; doubles <= 131072; doubles *= 16) {
        array = (double *)(void *)buffer_of((size_t)doubles * 2 * sizeof(double));
        MPI_Type_vector(doubles, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        point("vector", doubles * 8L, "us", 1e6 / 2, 0, exchanges);
        MPI_Type_free(&type);
        free(array);
    }
    MPI_Finalize();
    return 0;
}
