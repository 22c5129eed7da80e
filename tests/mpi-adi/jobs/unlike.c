/* unlike.c WHAT: one rank makes a collective call that is unlike the others', and nothing comes of it but wrong results; or all make calls
 * that only look unlike. See unlike_test.py. */
#include <mpi.h>
#include <string.h>

static int rank, size;
static long long in[4096], out[4096 * 8];
static MPI_Comm W = MPI_COMM_WORLD;

static void sum_of_bits(void *a, void *b, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; ++i) ((int *)b)[i] += ((int *)a)[i];
}

/* Calls that are alike in all that counts. */
static void alike(void) {
    MPI_Datatype spread, dense, pair;
    MPI_Op own;
    MPI_Comm half;
    MPI_Request request;
    int blocks[] = {1, 1};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Type_vector(4, 1, 2, MPI_INT, &spread);
    MPI_Type_contiguous(2, MPI_INT, &dense);
    MPI_Type_create_struct(2, blocks, places, types, &pair);
    MPI_Type_commit(&spread);
    MPI_Type_commit(&dense);
    MPI_Type_commit(&pair);
    MPI_Op_create(sum_of_bits, 1, &own);
    MPI_Comm_split(W, rank % 2, rank, &half);
    for (int i = 0; i < 40; ++i) {
        if (rank % 2) MPI_Bcast(in, 1, spread, i % size, W);
        else MPI_Bcast(in, 2, dense, i % size, W);
        MPI_Allreduce(in, out, 4, MPI_INT, i % 2 ? own : MPI_MAX, W);
        MPI_Bcast(in, 3, pair, 0, half);
        MPI_Gather(in, 8, MPI_INT, out, rank == i % size ? 8 : 0, MPI_INT, i % size, W);
        MPI_Scatter(out, 4, MPI_INT, in, 4, rank % 2 ? MPI_INT32_T : MPI_INT, 0, W);
        MPI_Allgather(i % 3 ? (void *)in : MPI_IN_PLACE, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, W);
        MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, W, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Bcast(in, 8, rank % 2 ? MPI_PACKED : MPI_BYTE, 0, W);
        MPI_Barrier(half);
        MPI_Reduce_scatter_block(in, out, 4, MPI_INT, MPI_SUM, W);
        MPI_Scan(in, out, 4, MPI_INT, MPI_SUM, W);
    }
    MPI_Comm_free(&half);
    MPI_Op_free(&own);
    MPI_Type_free(&pair);
    MPI_Type_free(&dense);
    MPI_Type_free(&spread);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "alike";
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    const int odd = rank == size - 1;
    alike();
    if (!strcmp(what, "operation")) MPI_Allreduce(in, out, 4, MPI_INT, odd ? MPI_MIN : MPI_MAX, W);
    if (!strcmp(what, "long_operation")) MPI_Allreduce(in, out, 4096, MPI_LONG_LONG, odd ? MPI_MIN : MPI_MAX, W);
    if (!strcmp(what, "own_operation")) {
        MPI_Op own;
        MPI_Op_create(sum_of_bits, 1, &own);
        MPI_Allreduce(in, out, 4, MPI_INT, odd ? own : MPI_SUM, W);
        MPI_Op_free(&own);
    }
    if (!strcmp(what, "type")) MPI_Allreduce(in, out, 4, odd ? MPI_FLOAT : MPI_INT, MPI_SUM, W);
    if (!strcmp(what, "type_of_bcast")) MPI_Bcast(in, odd ? 2 : 4, odd ? MPI_DOUBLE : MPI_INT, 0, W);
    if (!strcmp(what, "type_of_gather")) MPI_Gather(in, odd ? 1 : 2, odd ? MPI_DOUBLE : MPI_INT, out, 2, MPI_INT, 0, W);
    if (!strcmp(what, "type_of_alltoall")) {
        MPI_Ialltoall(in, odd ? 1 : 2, odd ? MPI_DOUBLE : MPI_FLOAT, out, odd ? 1 : 2, odd ? MPI_DOUBLE : MPI_FLOAT, W, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(what, "order_of_types")) {
        int blocks[] = {1, 1};
        MPI_Aint places[] = {0, 8}, turned[] = {8, 0};
        MPI_Datatype types[] = {MPI_FLOAT, MPI_INT}, pair;
        MPI_Type_create_struct(2, blocks, odd ? turned : places, types, &pair);
        if (odd) {
            MPI_Datatype other[] = {MPI_INT, MPI_FLOAT};
            MPI_Type_free(&pair);
            MPI_Type_create_struct(2, blocks, places, other, &pair);
        }
        MPI_Type_commit(&pair);
        MPI_Bcast(in, 5, pair, 0, W);
        MPI_Type_free(&pair);
    }
    if (!strcmp(what, "far_back"))
        for (int i = 0; i < 30; ++i) MPI_Allreduce(in, out, 2, MPI_INT, odd && i == 3 ? MPI_PROD : MPI_SUM, W);
    MPI_Finalize();
    return 0;
}
