/* foreign_test.c: a program that was compiled against another header of the MPI-5 ABI runs with this library. What it knows of
 * MPI is written down here once more, from the numbers of the ABI alone: handles are pointers, a status is eight ints. */
#include <stdint.h>
#include <string.h>

typedef struct MPI_ABI_Comm *comm_t;
typedef struct MPI_ABI_Datatype *type_t;
typedef struct MPI_ABI_Op *op_t;
typedef struct MPI_ABI_Request *request_t;
typedef struct MPI_ABI_Win *win_t;
typedef struct MPI_ABI_Info *info_t;
typedef struct MPI_ABI_Group *group_t;
typedef struct MPI_ABI_Errhandler *errhandler_t;
typedef struct { int source, tag, error, internal[5]; } status_t;
typedef int copy_t(comm_t, int, void *, void *, void *, int *);

int MPI_Init_thread(int *, char ***, int, int *);
int MPI_Finalize(void);
int MPI_Comm_rank(comm_t, int *);
int MPI_Comm_size(comm_t, int *);
int MPI_Comm_split(comm_t, int, int, comm_t *);
int MPI_Comm_free(comm_t *);
int MPI_Comm_group(comm_t, group_t *);
int MPI_Group_compare(group_t, group_t, int *);
int MPI_Group_free(group_t *);
int MPI_Comm_compare(comm_t, comm_t, int *);
int MPI_Comm_set_errhandler(comm_t, errhandler_t);
int MPI_Comm_get_attr(comm_t, int, void *, int *);
int MPI_Comm_create_keyval(copy_t *, int (*)(comm_t, int, void *, void *), int *, void *);
int MPI_Comm_set_attr(comm_t, int, void *);
int MPI_Comm_dup(comm_t, comm_t *);
int MPI_Irecv(void *, int, type_t, int, int, comm_t, request_t *);
int MPI_Isend(const void *, int, type_t, int, int, comm_t, request_t *);
int MPI_Send(const void *, int, type_t, int, int, comm_t);
int MPI_Recv(void *, int, type_t, int, int, comm_t, status_t *);
int MPI_Waitall(int, request_t *, status_t *);
int MPI_Get_count(const status_t *, type_t, int *);
int MPI_Allreduce(const void *, void *, int, type_t, op_t, comm_t);
int MPI_Bcast_c(void *, int64_t, type_t, int, comm_t);
int MPI_Type_vector(int, int, int, type_t, type_t *);
int MPI_Type_commit(type_t *);
int MPI_Type_free(type_t *);
int MPI_Type_get_envelope(type_t, int *, int *, int *, int *);
int MPI_Type_size(type_t, int *);
int MPI_Win_create(void *, intptr_t, int, info_t, comm_t, win_t *);
int MPI_Win_fence(int, win_t);
int MPI_Put(const void *, int, type_t, int, intptr_t, int, type_t, win_t);
int MPI_Win_free(win_t *);

#define HANDLE(kind, value) ((kind)(intptr_t)(value))
#define WORLD HANDLE(comm_t, 0x101)
#define SELF HANDLE(comm_t, 0x102)
#define INT HANDLE(type_t, 0x209)
#define DOUBLE HANDLE(type_t, 0x214)
#define NEED(condition) do { if (!(condition)) return __LINE__ % 250 + 1; } while (0)

/* The sizes behind the numbers of predefined types. */
static int types_have_their_sizes(void) {
    static const struct { int value, size; } kTypes[] = {
        {0x201, sizeof(intptr_t)}, {0x202, 8}, {0x203, 8}, {0x207, 1}, {0x208, sizeof(short)}, {0x209, sizeof(int)}, {0x20a, sizeof(long)},
        {0x20b, sizeof(long long)}, {0x20f, sizeof(long long)}, {0x210, sizeof(float)}, {0x212, 2 * sizeof(float)}, {0x214, sizeof(double)},
        {0x216, 2 * sizeof(double)}, {0x220, sizeof(long double)}, {0x238, 1}, {0x240, 1}, {0x243, 1}, {0x247, 1}, {0x248, 2},
        {0x250, 4}, {0x258, 8}, {0x259, 8}};
    for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; ++i) {
        int size = -1;
        if (MPI_Type_size(HANDLE(type_t, kTypes[i].value), &size) != 0 || size != kTypes[i].size) return 0;
    }
    return 1;
}

/* Messages, wildcards (-1 any source, -2 any tag, -3 no process), statuses. */
static int messages_travel(int rank, int size) {
    int in = -1, out = rank, count = -1, left = (rank + size - 1) % size;
    request_t requests[2];
    status_t statuses[2], none;
    NEED(MPI_Irecv(&in, 1, INT, -1, -2, WORLD, &requests[0]) == 0);
    NEED(MPI_Isend(&out, 1, INT, (rank + 1) % size, 2147483647, WORLD, &requests[1]) == 0);
    NEED(MPI_Waitall(2, requests, statuses) == 0);
    NEED(requests[0] == HANDLE(request_t, 0x180) && in == left);
    NEED(statuses[0].source == left && statuses[0].tag == 2147483647);
    NEED(MPI_Get_count(&statuses[0], INT, &count) == 0 && count == 1);
    NEED(MPI_Recv(&in, 1, INT, -3, -2, WORLD, &none) == 0 && none.source == -3 && none.tag == -2);
    return 0;
}

static int everything(int rank, int size) {
    int sum = rank, result = 0, flag = 0, key, values[4] = {rank, -1, rank, -1}, *bound;
    double word = rank == 0 ? 2.5 : 0;
    comm_t half, copy;
    group_t group;
    type_t pairs;
    win_t win;
    int mistake = messages_travel(rank, size);
    if (mistake) return mistake;
    NEED(types_have_their_sizes());
    NEED(MPI_Allreduce((void *)1, &sum, 1, INT, HANDLE(op_t, 0x21), WORLD) == 0 && sum == size * (size - 1) / 2); /* in place, sum */
    NEED(MPI_Bcast_c(&word, 1, DOUBLE, 0, WORLD) == 0 && word == 2.5);
    NEED(MPI_Comm_split(WORLD, rank == 0 ? 0 : -32766, 0, &half) == 0);
    NEED((half == HANDLE(comm_t, 0x100)) == (rank != 0));
    if (rank == 0) NEED(MPI_Comm_free(&half) == 0);
    NEED(MPI_Comm_group(SELF, &group) == 0 && MPI_Group_compare(group, HANDLE(group_t, 0x109), &result) == 0 && result == 204);
    NEED(MPI_Group_free(&group) == 0 && group == HANDLE(group_t, 0x108));
    NEED(MPI_Comm_get_attr(WORLD, 501, &bound, &flag) == 0 && flag && *bound == 2147483647);
    NEED(MPI_Comm_create_keyval((copy_t *)1, 0, &key, 0) == 0 && MPI_Comm_set_attr(SELF, key, &key) == 0); /* the copying function */
    NEED(MPI_Comm_dup(SELF, &copy) == 0 && MPI_Comm_get_attr(copy, key, &bound, &flag) == 0 && flag && bound == &key);
    NEED(MPI_Comm_compare(copy, SELF, &result) == 0 && result == 202 && MPI_Comm_free(&copy) == 0);
    NEED(MPI_Type_vector(2, 1, 2, INT, &pairs) == 0 && (uintptr_t)pairs > 4095 && MPI_Type_commit(&pairs) == 0);
    int integers, addresses, types, combiner;
    NEED(MPI_Type_get_envelope(pairs, &integers, &addresses, &types, &combiner) == 0 && combiner == 104 && integers == 3);
    NEED(MPI_Win_create(values, sizeof values, sizeof(int), HANDLE(info_t, 0x130), WORLD, &win) == 0);
    NEED(MPI_Win_fence(2048, win) == 0);
    NEED(MPI_Put(values, 1, pairs, (rank + 1) % size, 1, 1, pairs, win) == 0 && MPI_Win_fence(16384, win) == 0);
    NEED(values[1] == (rank + size - 1) % size && values[3] == values[1]);
    NEED(MPI_Win_free(&win) == 0 && win == HANDLE(win_t, 0x110) && MPI_Type_free(&pairs) == 0 && pairs == HANDLE(type_t, 0x200));
    NEED(MPI_Comm_set_errhandler(WORLD, HANDLE(errhandler_t, 0x143)) == 0);
    NEED(MPI_Send(&rank, 1, INT, size, 0, WORLD) == 6 && MPI_Send(&rank, -1, INT, 0, 0, WORLD) == 2);
    NEED(MPI_Send(&rank, 1, HANDLE(type_t, 0x200), 0, 0, WORLD) == 3 && MPI_Send(&rank, 1, INT, 0, -5, WORLD) == 4);
    return 0;
}

int main(int argc, char **argv) {
    int level = -1, rank, size;
    NEED(MPI_Init_thread(&argc, &argv, 4096, &level) == 0 && level == 4096);
    NEED(MPI_Comm_rank(WORLD, &rank) == 0 && MPI_Comm_size(WORLD, &size) == 0);
    const int line = everything(rank, size);
    MPI_Finalize();
    return line;
}
