/* Calls that need nobody else: programs make them by the million. */
#include <stdlib.h>

#include "kinds.h"

static MPI_Datatype vector;
static MPI_Status status;
static char packed[1024];

static void comm_rank(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
static void comm_size(void) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}
static void wtime(void) { MPI_Wtime(); }
static void type_size(void) {
    int size;
    MPI_Type_size(vector, &size);
}
static void type_extent(void) {
    MPI_Aint least, extent;
    MPI_Type_get_extent(vector, &least, &extent);
}
static void get_count(void) {
    int count;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
}
static void pack(void) {
    int place = 0;
    MPI_Pack(sent, 1, vector, packed, sizeof packed, &place, MPI_COMM_WORLD);
}
static void unpack(void) {
    int place = 0;
    MPI_Unpack(packed, sizeof packed, &place, sent, 1, vector, MPI_COMM_WORLD);
}
static void pack_size(void) {
    int size;
    MPI_Pack_size(kCount, vector, MPI_COMM_WORLD, &size);
}
static void alloc_mem(void) {
    void *memory;
    MPI_Alloc_mem(4096, MPI_INFO_NULL, &memory);
    MPI_Free_mem(memory);
}
static void iprobe_in_vain(void) {
    int flag;
    MPI_Iprobe(left, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
static void test_null(void) {
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
}
static void get_address(void) {
    MPI_Aint address;
    MPI_Get_address(sent, &address);
}
static void error_string(void) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(MPI_ERR_ARG, text, &length);
}

static void make_vector(void) {
    MPI_Type_vector(kCount, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    sent = realloc(sent, 1024 * sizeof *sent);
}
static void free_vector(void) { MPI_Type_free(&vector); }
static void make_status(void) {
    MPI_Sendrecv(sent, kCount, MPI_DOUBLE, me, kTag, received, kCount, MPI_DOUBLE, me, kTag, MPI_COMM_WORLD, &status);
}

const struct Kind local_calls[] = {
    {"comm-rank", comm_rank, NULL, NULL},
    {"comm-size", comm_size, NULL, NULL},
    {"wtime", wtime, NULL, NULL},
    {"type-size", type_size, make_vector, free_vector},
    {"type-get-extent", type_extent, make_vector, free_vector},
    {"get-count", get_count, make_status, NULL},
    {"pack", pack, make_vector, free_vector},
    {"unpack", unpack, make_vector, free_vector},
    {"pack-size", pack_size, make_vector, free_vector},
    {"alloc-mem", alloc_mem, NULL, NULL},
    {"iprobe-in-vain", iprobe_in_vain, NULL, NULL},
    {"test-null", test_null, NULL, NULL},
    {"get-address", get_address, NULL, NULL},
    {"error-string", error_string, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
