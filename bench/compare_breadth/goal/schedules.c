/* Schedules: making and freeing them, and running one again and again. */
#include "kinds.h"

static GOAL_Schedule kept, second;
static GOAL_Request run;

void add_nothing(GOAL_Schedule *schedule) { (void)schedule; }
void add_barrier(GOAL_Schedule *schedule) { TRY(GOAL_Barrier(schedule, &world, NULL)); }
void add_allreduce(GOAL_Schedule *schedule) { TRY(GOAL_Allreduce(schedule, &world, GOAL_User(in), GOAL_User(out), 1, GOAL_INT64, GOAL_ADD, NULL)); }
void add_alltoall(GOAL_Schedule *schedule) {
    TRY(GOAL_Alltoall(schedule, &world, GOAL_User(in), GOAL_User(out), kCount * sizeof *in, NULL));
}
void add_chain(GOAL_Schedule *schedule) {
    GOAL_Op before = 0, op;
    for (int i = 0; i < kChain; ++i) {
        TRY(GOAL_Local(*schedule, GOAL_ADD, GOAL_INT64, GOAL_User(out), GOAL_User(out), GOAL_User(in), 1, &op));
        if (i > 0) TRY(GOAL_Requires(*schedule, op, before));
        before = op;
    }
}

static void free_it(GOAL_Schedule schedule) { TRY(GOAL_Free(&schedule)); }
static GOAL_Schedule made(void (*add)(GOAL_Schedule *)) {
    GOAL_Schedule schedule;
    TRY(GOAL_Create(&schedule));
    add(&schedule);
    return schedule;
}
static GOAL_Schedule compiled(void (*add)(GOAL_Schedule *)) {
    const GOAL_Schedule schedule = made(add);
    TRY(GOAL_Compile(schedule));
    return schedule;
}
static void start_and_wait(GOAL_Schedule schedule) {
    TRY(GOAL_Run(schedule, &run));
    TRY(GOAL_Wait(&run));
}

static void create(void) { free_it(made(add_nothing)); }
static void create_allreduce(void) { free_it(made(add_allreduce)); }
static void compile_empty(void) { free_it(compiled(add_nothing)); }
static void compile_barrier(void) { free_it(compiled(add_barrier)); }
static void compile_allreduce(void) { free_it(compiled(add_allreduce)); }
static void compile_alltoall(void) { free_it(compiled(add_alltoall)); }
static void compile_chain(void) { free_it(compiled(add_chain)); }
static void sum_once(GOAL_Schedule schedule) {
    in[0] = ++turn;
    start_and_wait(schedule);
    expect(out[0] == turn * ranks);
    free_it(schedule);
}
static void compile_run(void) { sum_once(compiled(add_allreduce)); }
static GOAL_Schedule copied(void) {
    GOAL_Schedule copy;
    TRY(GOAL_Clone(kept, &copy));
    TRY(GOAL_Compile(copy));
    return copy;
}
static void clone(void) { free_it(copied()); }
static void clone_run(void) { sum_once(copied()); }
/* The copy adds other memory than the original. */
static void clone_bind_run(void) {
    GOAL_Schedule copy;
    int64_t sum = 0;
    in[0] = ++turn;
    TRY(GOAL_Clone(kept, &copy));
    TRY(GOAL_Bind(copy, 0, &in[0], sizeof in[0]));
    TRY(GOAL_Bind(copy, 1, &sum, sizeof sum));
    TRY(GOAL_Compile(copy));
    start_and_wait(copy);
    expect(sum == turn * ranks);
    free_it(copy);
}
static void add_bound(GOAL_Schedule *schedule) {
    TRY(GOAL_Allreduce(schedule, &world, GOAL_Arg(0, 0), GOAL_Arg(1, 0), 1, GOAL_INT64, GOAL_ADD, NULL));
}
static void make_bound(void) {
    kept = made(add_bound);
    TRY(GOAL_Bind(kept, 0, in, sizeof *in));
    TRY(GOAL_Bind(kept, 1, out, sizeof *out));
    TRY(GOAL_Compile(kept));
}
static void save(void) {
    static char block[65536];
    size_t bytes = sizeof block;
    TRY(GOAL_Save(kept, block, &bytes));
}
static void save_load(void) {
    static char block[65536];
    size_t bytes = sizeof block;
    GOAL_Schedule loaded;
    TRY(GOAL_Save(kept, block, &bytes));
    TRY(GOAL_Load(block, bytes, &loaded));
    free_it(loaded);
}
static void make_kept(void) { kept = compiled(add_allreduce); }
static void free_kept(void) { free_it(kept); }

const struct Kind schedules[] = {
    {"create-free", create, NULL, NULL},
    {"create-allreduce-free", create_allreduce, NULL, NULL},
    {"compile-empty-free", compile_empty, NULL, NULL},
    {"compile-barrier-free", compile_barrier, NULL, NULL},
    {"compile-allreduce-free", compile_allreduce, NULL, NULL},
    {"compile-alltoall-free", compile_alltoall, NULL, NULL},
    {"compile-chain-free", compile_chain, NULL, NULL},
    {"compile-run-free", compile_run, NULL, NULL},
    {"clone-compile-free", clone, make_kept, free_kept},
    {"clone-run-free", clone_run, make_kept, free_kept},
    {"clone-bind-run-free", clone_bind_run, make_bound, free_kept},
    {"save", save, make_bound, free_kept},
    {"save-load-free", save_load, make_bound, free_kept},
    {NULL, NULL, NULL, NULL},
};

/* A schedule that stays; what it sums up or passes on is the number of the round. */
static void again(void) { start_and_wait(kept); }
static void prepare_in(void) {
    ++turn;
    for (int i = 0; i < ranks; ++i) in[i * kCount] = turn;
}
static void check_parts(void) {
    for (int i = 0; i < ranks; ++i) expect(out[i * kCount] == turn);
}
static void again_parts(void) {
    prepare_in();
    again();
    check_parts();
}
static void again_first(void) {
    prepare_in();
    again();
    expect(me == 0 || out[0] == turn);
}
static void again_scatter(void) {
    prepare_in();
    again();
    expect(out[0] == turn);
}
static void again_root_parts(void) {
    prepare_in();
    again();
    if (me == 0) check_parts();
}
static void again_sum(void) {
    prepare_in();
    again();
    expect(out[0] == turn * ranks);
}
static void again_root_sum(void) {
    prepare_in();
    again();
    expect(me != 0 || out[0] == turn * ranks);
}
static void again_scan(void) {
    prepare_in();
    again();
    expect(out[0] == turn * (me + 1));
}
static void again_exscan(void) {
    prepare_in();
    again();
    expect(me == 0 || out[0] == turn * me);
}
static void again_chain(void) {
    in[0] = ++turn;
    out[0] = 0;
    again();
    expect(out[0] == kChain * turn);
}
static void again_message(void) {
    in[0] = ++turn;
    again();
    expect(out[0] == turn);
}
static void again_ring(void) {
    if (me == 0) out[0] = ++turn;
    again();
    expect(me != 0 || in[0] == turn);
}
static void again_test(void) {
    prepare_in();
    TRY(GOAL_Run(kept, &run));
    for (int done = 0; !done;) TRY(GOAL_Test(&run, &done));
    expect(out[0] == turn * ranks);
}
static void two_at_once(void) {
    GOAL_Request other;
    prepare_in();
    TRY(GOAL_Run(kept, &run));
    TRY(GOAL_Run(second, &other));
    TRY(GOAL_Wait(&run));
    TRY(GOAL_Wait(&other));
    expect(out[0] == turn * ranks);
}

#define BYTES(count) ((size_t)(count) * sizeof(int64_t))
#define FROM_TO GOAL_User(in), GOAL_User(out)
#define MAKE(name, what)                                                    \
    static void add_##name##_now(GOAL_Schedule *schedule) { TRY(what); }    \
    static void make_##name(void) { kept = compiled(add_##name##_now); }
MAKE(bcast, GOAL_Bcast(schedule, &world, me == 0 ? GOAL_User(in) : GOAL_User(out), BYTES(kCount), 0, NULL))
MAKE(reduce, GOAL_Reduce(schedule, &world, FROM_TO, kCount, GOAL_INT64, GOAL_ADD, 0, NULL))
MAKE(gather, GOAL_Gather(schedule, &world, FROM_TO, BYTES(kCount), 0, NULL))
MAKE(scatter, GOAL_Scatter(schedule, &world, FROM_TO, BYTES(kCount), 0, NULL))
MAKE(allgather, GOAL_Allgather(schedule, &world, FROM_TO, BYTES(kCount), NULL))
MAKE(reduce_scatter, GOAL_Reduce_scatter_block(schedule, &world, FROM_TO, kCount, GOAL_INT64, GOAL_ADD, NULL))
MAKE(scan, GOAL_Scan(schedule, &world, FROM_TO, kCount, GOAL_INT64, GOAL_ADD, NULL))
MAKE(exscan, GOAL_Exscan(schedule, &world, FROM_TO, kCount, GOAL_INT64, GOAL_ADD, NULL))
MAKE(allreduce_all, GOAL_Allreduce(schedule, &world, FROM_TO, kCount, GOAL_INT64, GOAL_ADD, NULL))
MAKE(allreduce_long, GOAL_Allreduce(schedule, &world, FROM_TO, kLong, GOAL_INT64, GOAL_ADD, NULL))
MAKE(local, GOAL_Local(*schedule, GOAL_COPY, GOAL_INT64, GOAL_User(out), GOAL_User(in), GOAL_User(in), 1, NULL))

static void make_empty(void) { kept = compiled(add_nothing); }
static void make_barrier(void) { kept = compiled(add_barrier); }
static void make_alltoall(void) { kept = compiled(add_alltoall); }
static void make_chain(void) { kept = compiled(add_chain); }
static void add_exchange(GOAL_Schedule schedule, size_t bytes) {
    TRY(GOAL_Recv(schedule, GOAL_User(out), bytes, left, 0, NULL));
    TRY(GOAL_Send(schedule, GOAL_User(in), bytes, right, 0, NULL));
}
static void add_short(GOAL_Schedule *schedule) { add_exchange(*schedule, sizeof *in); }
static void add_long(GOAL_Schedule *schedule) { add_exchange(*schedule, BYTES(kLong)); }
static void make_exchange(void) { kept = compiled(add_short); }
static void make_long(void) { kept = compiled(add_long); }
/* A message goes once around the ring of ranks, from rank 0's `out` to its `in`. */
static void add_ring(GOAL_Schedule *schedule) {
    GOAL_Op heard, said;
    TRY(GOAL_Recv(*schedule, GOAL_User(in), sizeof *in, left, 0, &heard));
    TRY(GOAL_Send(*schedule, GOAL_User(me == 0 ? out : in), sizeof *in, right, 0, &said));
    if (me != 0) TRY(GOAL_Requires(*schedule, said, heard));
}
static void make_ring(void) { kept = compiled(add_ring); }
static void make_two(void) {
    make_kept();
    second = compiled(add_barrier);
}
static void free_two(void) {
    free_kept();
    free_it(second);
}

const struct Kind runs[] = {
    {"run-empty", again, make_empty, free_kept},
    {"run-local", again_message, make_local, free_kept},
    {"run-chain-of-16", again_chain, make_chain, free_kept},
    {"run-exchange", again_message, make_exchange, free_kept},
    {"run-exchange-64k", again_message, make_long, free_kept},
    {"run-ring", again_ring, make_ring, free_kept},
    {"run-barrier", again, make_barrier, free_kept},
    {"run-bcast", again_first, make_bcast, free_kept},
    {"run-gather", again_root_parts, make_gather, free_kept},
    {"run-scatter", again_scatter, make_scatter, free_kept},
    {"run-allgather", again_parts, make_allgather, free_kept},
    {"run-alltoall", again_parts, make_alltoall, free_kept},
    {"run-reduce", again_root_sum, make_reduce, free_kept},
    {"run-allreduce-1", again_sum, make_kept, free_kept},
    {"run-allreduce", again_sum, make_allreduce_all, free_kept},
    {"run-allreduce-64k", again_sum, make_allreduce_long, free_kept},
    {"run-allreduce-test", again_test, make_kept, free_kept},
    {"run-reduce-scatter", again_sum, make_reduce_scatter, free_kept},
    {"run-scan", again_scan, make_scan, free_kept},
    {"run-exscan", again_exscan, make_exscan, free_kept},
    {"run-two-at-once", two_at_once, make_two, free_two},
    {NULL, NULL, NULL, NULL},
};
