/* One-sided communication: operations, epochs, locks. Each rank aims at its right neighbour, unless the kind says that all aim at rank 0. */
#include "kinds.h"

static MPI_Win window;
static double *exposed;
static MPI_Datatype column;
static MPI_Group neighbours_group;
static MPI_Request request;

#define AT_RIGHT right, 0, kCount, MPI_DOUBLE
static void allocate(void) {
    MPI_Win_allocate(64 * kCount * sizeof *exposed, sizeof *exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
}
static void open_epoch(void) {
    allocate();
    MPI_Win_lock_all(0, window);
}
static void free_window(void) { MPI_Win_free(&window); }
static void close_epoch(void) {
    MPI_Win_unlock_all(window);
    free_window();
}
static void flush(void) { MPI_Win_flush(right, window); }
static void wait(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void put(void) { MPI_Put(sent, kCount, MPI_DOUBLE, AT_RIGHT, window); }
static void get(void) { MPI_Get(received, kCount, MPI_DOUBLE, AT_RIGHT, window); }
static void accumulate(void) { MPI_Accumulate(sent, kCount, MPI_DOUBLE, AT_RIGHT, MPI_SUM, window); }
static void put_flush(void) {
    put();
    flush();
}
static void put_flush_local(void) {
    put();
    MPI_Win_flush_local(right, window);
}
static void put_flush_all(void) {
    put();
    MPI_Win_flush_all(window);
}
static void get_flush(void) {
    get();
    flush();
}
static void accumulate_flush(void) {
    accumulate();
    flush();
}
static void get_accumulate(void) {
    MPI_Get_accumulate(sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE, AT_RIGHT, MPI_SUM, window);
    flush();
}
static void fetch_and_op_at(int target) {
    const long one = 1;
    long old;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 0, MPI_SUM, window);
    MPI_Win_flush(target, window);
}
static void fetch_and_op(void) { fetch_and_op_at(right); }
static void fetch_and_op_of_all(void) { fetch_and_op_at(0); }
static void compare_and_swap(void) {
    const long one = 1, zero = 0;
    long old;
    MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG, right, 0, window);
    flush();
}
static void rput(void) {
    MPI_Rput(sent, kCount, MPI_DOUBLE, AT_RIGHT, window, &request);
    wait();
    flush();
}
static void rget(void) {
    MPI_Rget(received, kCount, MPI_DOUBLE, AT_RIGHT, window, &request);
    wait();
}
static void raccumulate(void) {
    MPI_Raccumulate(sent, kCount, MPI_DOUBLE, AT_RIGHT, MPI_SUM, window, &request);
    wait();
    flush();
}
static void rget_accumulate(void) {
    MPI_Rget_accumulate(sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE, AT_RIGHT, MPI_SUM, window, &request);
    wait();
}
static void put_column(void) {
    MPI_Put(sent, kCount, MPI_DOUBLE, right, 0, 1, column, window);
    flush();
}
static void sync(void) { MPI_Win_sync(window); }

static void lock_at(int kind, int target, void (*what)(void)) {
    MPI_Win_lock(kind, target, 0, window);
    if (what) what();
    MPI_Win_unlock(target, window);
}
static void lock_put(void) { lock_at(MPI_LOCK_EXCLUSIVE, right, put); }
static void lock_get(void) { lock_at(MPI_LOCK_SHARED, right, get); }
static void lock_accumulate(void) { lock_at(MPI_LOCK_SHARED, right, accumulate); }
static void lock_nothing(void) { lock_at(MPI_LOCK_SHARED, right, NULL); }
static void put_at_root(void) { MPI_Put(sent, kCount, MPI_DOUBLE, 0, 0, kCount, MPI_DOUBLE, window); }
static void lock_of_all(void) { lock_at(MPI_LOCK_EXCLUSIVE, 0, put_at_root); }
static void lock_all(void) {
    MPI_Win_lock_all(0, window);
    put();
    MPI_Win_unlock_all(window);
}
static void fence(void) {
    put();
    MPI_Win_fence(0, window);
}
static void post_start(void) {
    MPI_Win_post(neighbours_group, 0, window);
    MPI_Win_start(neighbours_group, 0, window);
    put();
    MPI_Win_complete(window);
    MPI_Win_wait(window);
}

static void make_column(void) {
    MPI_Type_vector(kCount, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    open_epoch();
}
static void free_column(void) {
    close_epoch();
    MPI_Type_free(&column);
}
static void first_fence(void) {
    allocate();
    MPI_Win_fence(0, window);
}
static void make_group(void) {
    const int both[] = {left, right};
    MPI_Group world;
    allocate();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, left == right ? 1 : 2, both, &neighbours_group);
    MPI_Group_free(&world);
}
static void free_group(void) {
    MPI_Group_free(&neighbours_group);
    free_window();
}

const struct Kind one_sided[] = {
    {"put-flush", put_flush, open_epoch, close_epoch},
    {"put-flush-local", put_flush_local, open_epoch, close_epoch},
    {"put-flush-all", put_flush_all, open_epoch, close_epoch},
    {"get-flush", get_flush, open_epoch, close_epoch},
    {"accumulate-flush", accumulate_flush, open_epoch, close_epoch},
    {"get-accumulate", get_accumulate, open_epoch, close_epoch},
    {"fetch-and-op", fetch_and_op, open_epoch, close_epoch},
    {"fetch-and-op-of-all", fetch_and_op_of_all, open_epoch, close_epoch},
    {"compare-and-swap", compare_and_swap, open_epoch, close_epoch},
    {"rput", rput, open_epoch, close_epoch},
    {"rget", rget, open_epoch, close_epoch},
    {"raccumulate", raccumulate, open_epoch, close_epoch},
    {"rget-accumulate", rget_accumulate, open_epoch, close_epoch},
    {"put-vector", put_column, make_column, free_column},
    {"win-sync", sync, open_epoch, close_epoch},
    {"lock-put-unlock", lock_put, allocate, free_window},
    {"lock-get-unlock", lock_get, allocate, free_window},
    {"lock-accumulate-unlock", lock_accumulate, allocate, free_window},
    {"lock-unlock", lock_nothing, allocate, free_window},
    {"lock-of-all", lock_of_all, allocate, free_window},
    {"lock-all", lock_all, allocate, free_window},
    {"fence", fence, first_fence, free_window},
    {"post-start", post_start, make_group, free_group},
    {NULL, NULL, NULL, NULL},
};
