/* Half of a round trip of derived types: structures with gaps, vectors of vectors, blocks of varying length, a share of an array that is
 * dealt out cyclically in two dimensions, the inside of a cube. */
#include "timed.h"

#include <stddef.h>

enum { kTag = 1, kRoom = 5 << 20, kGap = 0x5a };

struct item {
    int number;
    double value;
    char name[4];
};

static MPI_Datatype type;
static int elements = 1;
static char *array, *has_data; /* by byte: the array, and whether the type takes it */

static void exchanges(long count) {
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            MPI_Send(array, elements, type, 1, kTag, MPI_COMM_WORLD);
            MPI_Recv(array, elements, type, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (compare_me == 1) {
            MPI_Recv(array, elements, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(array, elements, type, 0, kTag, MPI_COMM_WORLD);
        }
    }
}

static void mark(long at, long length) {
    if (at + length > kRoom) MPI_Abort(MPI_COMM_WORLD, 4);
    memset(has_data + at, 1, (size_t)length);
}

static void make_struct(long doubles) {
    static const int lengths[] = {1, 1, 4};
    const MPI_Aint places[] = {offsetof(struct item, number), offsetof(struct item, value), offsetof(struct item, name)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype one;
    MPI_Type_create_struct(3, lengths, places, types, &one);
    MPI_Type_create_resized(one, 0, sizeof(struct item), &type);
    MPI_Type_free(&one);
    elements = (int)(doubles / 2);
    for (long i = 0; i < elements; ++i) {
        mark(i * (long)sizeof(struct item) + places[0], sizeof(int));
        mark(i * (long)sizeof(struct item) + places[1], sizeof(double));
        mark(i * (long)sizeof(struct item) + places[2], 4);
    }
}

/* Rows of 20 doubles, of which 0, 1, 4, 5, 8, 9, 12 and 13. */
static void make_nested(long doubles) {
    MPI_Datatype row;
    MPI_Type_vector(4, 2, 4, MPI_DOUBLE, &row);
    MPI_Type_create_hvector((int)(doubles / 8), 1, 160, row, &type);
    MPI_Type_free(&row);
    for (long i = 0; i < doubles / 2; ++i) mark(i / 4 * 160 + i % 4 * 32, 16);
}

/* Blocks of one to seven doubles, after gaps of one to three. */
static void make_indexed(long doubles) {
    int *const lengths = malloc((size_t)doubles * sizeof *lengths), *const places = malloc((size_t)doubles * sizeof *places);
    int blocks = 0;
    long at = 0, left = doubles;
    for (; left > 0; ++blocks) {
        const long length = 1 + blocks * 5 % 7 < left ? 1 + blocks * 5 % 7 : left;
        at += 1 + blocks % 3;
        lengths[blocks] = (int)length;
        places[blocks] = (int)at;
        mark(at * 8, length * 8);
        at += length;
        left -= length;
    }
    MPI_Type_indexed(blocks, lengths, places, MPI_DOUBLE, &type);
    free(lengths), free(places);
}

/* The largest power of two whose square, or cube, is no more than that. */
static int side_of(long number, int dimensions) {
    int side = 1;
    while ((dimensions == 2 ? 4L : 8L * side) * side * side <= number) side *= 2;
    return side;
}

/* Every other two of rows and of columns. */
static void make_darray(long doubles) {
    const int rows = side_of(doubles, 2), columns = (int)(doubles / rows);
    const int sides[] = {2 * rows, 2 * columns}, blocks[] = {2, 2}, ranks[] = {2, 2};
    const int deals[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    MPI_Type_create_darray(4, 0, 2, sides, deals, blocks, ranks, MPI_ORDER_C, MPI_DOUBLE, &type);
    for (long row = 0; row < sides[0]; ++row)
        for (long column = 0; column < sides[1] && row / 2 % 2 == 0; column += 4) mark((row * sides[1] + column) * 8, 16);
}

/* A cube without its faces. */
static void make_subarray(long doubles) {
    const int first = side_of(doubles, 3), second = side_of(doubles / first, 2), third = (int)(doubles / first / second);
    const int inner[] = {first, second, third}, sides[] = {first + 2, second + 2, third + 2}, begin[] = {1, 1, 1};
    MPI_Type_create_subarray(3, sides, inner, begin, MPI_ORDER_C, MPI_DOUBLE, &type);
    for (long i = 0; i < first; ++i)
        for (long j = 0; j < second; ++j) mark((((i + 1) * sides[1] + j + 1) * sides[2] + 1) * 8, third * 8L);
}

static char byte_of(long i, int sender) { return (char)(i * 31 + (i >> 8) + 100 * sender); }

/* Data come as they were sent, and bytes between them stay. */
static void check(const char *bench, long size) {
    for (int sender = 0; sender < 2 && compare_me < 2; ++sender) {
        long i = 0;
        if (sender == compare_me) {
            for (; i < kRoom; ++i) array[i] = byte_of(i, sender);
            MPI_Send(array, elements, type, 1 - sender, kTag, MPI_COMM_WORLD);
        } else {
            memset(array, kGap, kRoom);
            MPI_Recv(array, elements, type, sender, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            while (i < kRoom && array[i] == (has_data[i] ? byte_of(i, sender) : kGap)) ++i;
            require(i == kRoom, bench, size);
        }
    }
}

static void measure(const char *bench, void (*make)(long doubles)) {
    for (long doubles = 128; doubles <= 131072; doubles *= 32) {
        elements = 1;
        memset(has_data, 0, kRoom);
        make(doubles);
        MPI_Type_commit(&type);
        check(bench, doubles * 8);
        point(bench, doubles * 8, "us", 1e6 / 2, 0, exchanges);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    array = buffer_of(kRoom);
    has_data = buffer_of(kRoom);
    measure("struct", make_struct);
    measure("nested-vector", make_nested);
    measure("indexed", make_indexed);
    measure("darray", make_darray);
    measure("subarray", make_subarray);
    free(array);
    free(has_data);
    MPI_Finalize();
    return 0;
}
