/* mistaken.c MISTAKE CALL: a job with one deliberate mistake, made with that call; "correct" and some others are none. See
 * mistaken_test.py. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define NOWHERE MPI_STATUS_IGNORE

static int rank, size;
static const char *call;
static int in[1 << 16], out[1 << 18];
static int counts[64], places[64];
static MPI_Datatype types[64];
static MPI_Win window;

static int is(const char *name) { return !strcmp(call, name); }
static int next(void) { return (rank + 1) % size; }
static int previous(void) { return (rank + size - 1) % size; }
static int is_odd_one(void) { return rank == size - 1; }
static void wait_for(MPI_Request *request) { MPI_Wait(request, NOWHERE); }

static void spread(int count, MPI_Datatype type) {
    for (int i = 0; i < 64; ++i) counts[i] = count, places[i] = 0, types[i] = type;
}

/* ---- one collective, with these arguments ---- */
typedef struct {
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
} Arguments;
static const Arguments kGood = {4, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD};

/* The datatype and the number of what two ranks exchange depend on both. */
static void each_pair_its_own(void) {
    int bytes[64];
    for (int i = 0; i < size; ++i) {
        bytes[i] = 256 * i;
        counts[i] = rank + i;
        types[i] = (rank + i) % 3 == 0 ? MPI_INT : (rank + i) % 3 == 1 ? MPI_FLOAT : MPI_BYTE;
    }
    MPI_Alltoallw(in, counts, bytes, types, out, counts, bytes, types, W);
}

/* On a ring, along both of its edges; so often that ranks look at what others have called before the ring is gone. */
static void neighbors(Arguments a) {
    const int periodic = 1;
    MPI_Comm ring;
    MPI_Cart_create(a.comm, 1, &size, &periodic, 0, &ring);
    for (int i = 0; i < 40; ++i) MPI_Neighbor_alltoall(in, a.count, a.type, out, a.count, a.type, ring);
    MPI_Comm_free(&ring);
}

static void collective(const char *name, Arguments a) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int each = a.count, root = a.root;
    spread(each, a.type);
    for (int i = 0; i < 64; ++i) places[i] = i * each;
    if (!strcmp(name, "Barrier")) MPI_Barrier(a.comm);
    else if (!strcmp(name, "Bcast")) MPI_Bcast(in, each, a.type, root, a.comm);
    else if (!strcmp(name, "Gather")) MPI_Gather(in, each, a.type, out, each, a.type, root, a.comm);
    else if (!strcmp(name, "Gatherv")) MPI_Gatherv(in, each, a.type, out, counts, places, a.type, root, a.comm);
    else if (!strcmp(name, "Scatter")) MPI_Scatter(out, each, a.type, in, each, a.type, root, a.comm);
    else if (!strcmp(name, "Scatterv")) MPI_Scatterv(out, counts, places, a.type, in, each, a.type, root, a.comm);
    else if (!strcmp(name, "Allgather")) MPI_Allgather(in, each, a.type, out, each, a.type, a.comm);
    else if (!strcmp(name, "Allgatherv")) MPI_Allgatherv(in, each, a.type, out, counts, places, a.type, a.comm);
    else if (!strcmp(name, "Alltoall")) MPI_Alltoall(in, each, a.type, out, each, a.type, a.comm);
    else if (!strcmp(name, "Alltoallv")) MPI_Alltoallv(in, counts, places, a.type, out, counts, places, a.type, a.comm);
    else if (!strcmp(name, "Alltoallw")) {
        for (int i = 0; i < 64; ++i) places[i] *= (int)sizeof(int);
        MPI_Alltoallw(in, counts, places, types, out, counts, places, types, a.comm);
    } else if (!strcmp(name, "Neighbor_alltoall")) neighbors(a);
    else if (!strcmp(name, "Reduce")) MPI_Reduce(in, out, each, a.type, a.op, root, a.comm);
    else if (!strcmp(name, "Allreduce")) MPI_Allreduce(in, out, each, a.type, a.op, a.comm);
    else if (!strcmp(name, "Reduce_scatter")) MPI_Reduce_scatter(in, out, counts, a.type, a.op, a.comm);
    else if (!strcmp(name, "Reduce_scatter_block")) MPI_Reduce_scatter_block(in, out, each, a.type, a.op, a.comm);
    else if (!strcmp(name, "Scan")) MPI_Scan(in, out, each, a.type, a.op, a.comm);
    else if (!strcmp(name, "Exscan")) MPI_Exscan(in, out, each, a.type, a.op, a.comm);
    else if (!strcmp(name, "Ibarrier")) MPI_Ibarrier(a.comm, &request);
    else if (!strcmp(name, "Ibcast")) MPI_Ibcast(in, each, a.type, root, a.comm, &request);
    else if (!strcmp(name, "Igather")) MPI_Igather(in, each, a.type, out, each, a.type, root, a.comm, &request);
    else if (!strcmp(name, "Iscatter")) MPI_Iscatter(out, each, a.type, in, each, a.type, root, a.comm, &request);
    else if (!strcmp(name, "Iallgather")) MPI_Iallgather(in, each, a.type, out, each, a.type, a.comm, &request);
    else if (!strcmp(name, "Ialltoall")) MPI_Ialltoall(in, each, a.type, out, each, a.type, a.comm, &request);
    else if (!strcmp(name, "Ireduce")) MPI_Ireduce(in, out, each, a.type, a.op, root, a.comm, &request);
    else if (!strcmp(name, "Iallreduce")) MPI_Iallreduce(in, out, each, a.type, a.op, a.comm, &request);
    else if (!strcmp(name, "Iscan")) MPI_Iscan(in, out, each, a.type, a.op, a.comm, &request);
    else exit(77);
    wait_for(&request);
}

/* ---- one message ---- */
static void send_by(const char *name, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (!strcmp(name, "Send")) MPI_Send(in, count, type, to, tag, comm);
    else if (!strcmp(name, "Ssend")) MPI_Ssend(in, count, type, to, tag, comm);
    else if (!strcmp(name, "Rsend")) MPI_Rsend(in, count, type, to, tag, comm);
    else if (!strcmp(name, "Isend")) MPI_Isend(in, count, type, to, tag, comm, &request);
    else if (!strcmp(name, "Issend")) MPI_Issend(in, count, type, to, tag, comm, &request);
    else if (!strcmp(name, "Send_init")) {
        MPI_Send_init(in, count, type, to, tag, comm, &request);
        MPI_Start(&request);
        wait_for(&request);
        MPI_Request_free(&request);
    } else exit(77);
    wait_for(&request);
}
static void receive_by(const char *name, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    if (!strcmp(name, "Recv")) MPI_Recv(out, count, type, from, tag, comm, NOWHERE);
    else if (!strcmp(name, "Irecv")) MPI_Irecv(out, count, type, from, tag, comm, &request);
    else if (!strcmp(name, "Probe")) {
        MPI_Probe(from, tag, comm, NOWHERE);
        MPI_Recv(out, count, type, from, tag, comm, NOWHERE);
    } else if (!strcmp(name, "Mprobe")) {
        MPI_Mprobe(from, tag, comm, &message, NOWHERE);
        MPI_Mrecv(out, count, type, &message, NOWHERE);
    } else if (!strcmp(name, "Recv_init")) {
        MPI_Recv_init(out, count, type, from, tag, comm, &request);
        MPI_Start(&request);
        wait_for(&request);
        MPI_Request_free(&request);
    } else exit(77);
    wait_for(&request);
}
static int is_send(void) { return strstr(call, "end") != NULL; }
/* From rank 0 to rank 1, by `call` and its usual opposite. */
static void message(int sent, MPI_Datatype send_type, int received, MPI_Datatype receive_type, int tag, int other_tag) {
    if (rank == 0) send_by(is_send() ? call : "Send", sent, send_type, 1, tag, W);
    if (rank == 1) receive_by(is_send() ? "Recv" : call, received, receive_type, 0, other_tag, W);
}

/* ---- no mistakes ---- */
static void correct(void) {
    for (int i = 0; i < 3; ++i) {
        if (is("messages")) {
            static const char *const kSends[] = {"Send", "Ssend", "Isend", "Issend", "Send_init"};
            static const char *const kReceives[] = {"Recv", "Irecv", "Probe", "Mprobe", "Recv_init"};
            for (int s = 0; s < 5; ++s)
                for (int r = 0; r < 5; ++r) {
                    if (rank == 0) send_by(kSends[s], 1 << 4 * i, MPI_INT, 1, 5, W);
                    if (rank == 1) receive_by(kReceives[r], 1 << 4 * i, MPI_INT, i ? 0 : MPI_ANY_SOURCE, i ? 5 : MPI_ANY_TAG, W);
                }
        } else if (is("ring")) {
            MPI_Sendrecv(in, 100, MPI_INT, next(), i, out, 200, MPI_INT, previous(), i, W, NOWHERE);
            MPI_Sendrecv_replace(in, 100, MPI_INT, next(), i, previous(), i, W, NOWHERE);
        } else if (is("bytes")) {
            if (rank == 0) MPI_Send(in, 8, MPI_BYTE, 1, 0, W);
            if (rank == 1) MPI_Recv(out, 2, MPI_FLOAT, 0, 0, W, NOWHERE);
        } else if (is("fence")) {
            MPI_Win_fence(0, window);
            MPI_Put(in, 1, MPI_INT, next(), 0, 1, MPI_INT, window);
            MPI_Win_fence(0, window);
        } else if (is("lock")) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Accumulate(in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
            MPI_Win_unlock(0, window);
        } else if (is("post")) {
            MPI_Group all, one;
            const int peer = rank ? 0 : 1;
            MPI_Comm_group(W, &all);
            MPI_Group_incl(all, 1, &peer, &one);
            if (rank == 0) MPI_Win_post(one, 0, window), MPI_Win_wait(window);
            if (rank == 1) MPI_Win_start(one, 0, window), MPI_Put(in, 1, MPI_INT, 0, 0, 1, MPI_INT, window), MPI_Win_complete(window);
            MPI_Group_free(&one);
            MPI_Group_free(&all);
        } else if (is("pairs")) {
            for (int n = 0; n < 50; ++n) each_pair_its_own();
        } else collective(call, kGood);
    }
}

/* ---- order of calls ---- */
static void receives_first(void) {
    receive_by(call, 1, MPI_INT, next(), 0, W);
    send_by("Send", 1, MPI_INT, previous(), 0, W);
}
static void sends_first(void) {
    if (is("Send")) send_by(call, 1 << 16, MPI_INT, next(), 0, W);
    else send_by(call, 1, MPI_INT, next(), 0, W);
    receive_by("Recv", 1 << 16, MPI_INT, previous(), 0, W);
}
/* CALL is of two names: one rank makes them in the other order. */
static void other_order(void) {
    char first[32];
    strcpy(first, call);
    char *second = strchr(first, '+');
    *second++ = '\0';
    collective(is_odd_one() ? second : first, kGood);
    collective(is_odd_one() ? first : second, kGood);
}
static void other_communicators(void) {
    MPI_Comm twin;
    Arguments on_twin = kGood;
    MPI_Comm_dup(W, &twin);
    on_twin.comm = twin;
    collective(call, is_odd_one() ? on_twin : kGood);
    collective(call, is_odd_one() ? kGood : on_twin);
    MPI_Comm_free(&twin);
}
static void against_receive(void) {
    if (rank == 0) receive_by("Recv", 1, MPI_INT, 1, 0, W);
    collective(call, kGood);
    if (rank == 1) send_by("Send", 1, MPI_INT, 0, 0, W);
}

/* ---- calls that miss their opposite ---- */
static void one_leaves_it_out(void) {
    if (!is_odd_one()) collective(call, kGood);
}
static void root_leaves_it_out(void) {
    if (rank) collective(call, kGood);
}
static void one_calls_it_twice(void) {
    collective(call, kGood);
    if (is_odd_one()) collective(call, kGood);
}
static void nobody_sends(void) {
    if (rank == 0) receive_by(call, 1, MPI_INT, 1, 0, W);
}
static void nobody_receives(void) {
    if (rank == 0) send_by(call, 1, MPI_INT, 1, 0, W);
}
static void other_tag(void) { message(1, MPI_INT, 1, MPI_INT, 3, 4); }
static void other_communicator(void) {
    MPI_Comm twin;
    MPI_Comm_dup(W, &twin);
    if (rank == 0) send_by("Send", 1, MPI_INT, 1, 0, W);
    if (rank == 1) receive_by(call, 1, MPI_INT, 0, 0, twin);
    MPI_Comm_free(&twin);
}
static void ends_early(void) {
    if (is_odd_one() && is("without")) exit(0);
    if (is_odd_one() && is("with")) {
        MPI_Finalize();
        exit(0);
    }
    MPI_Barrier(W);
}

/* ---- arguments that differ between ranks ---- */
static void other_type(void) { message(4, MPI_INT, 4, MPI_FLOAT, 0, 0); }
static void other_length_of_type(void) { message(4, MPI_INT, 2, MPI_DOUBLE, 0, 0); }
static void too_long(void) { message(8, MPI_INT, 4, MPI_INT, 0, 0); }
static void other_type_of_collective(void) {
    Arguments a = kGood;
    if (is_odd_one()) a.type = MPI_FLOAT;
    collective(call, a);
}
static void other_count(void) {
    Arguments a = kGood;
    if (is_odd_one()) a.count = 2;
    collective(call, a);
}
static void other_op(void) {
    Arguments a = kGood;
    if (is_odd_one()) a.op = MPI_MAX;
    collective(call, a);
}
static void other_root(void) {
    Arguments a = kGood;
    if (is_odd_one()) a.root = size - 1;
    collective(call, a);
}

/* ---- arguments that are wrong by themselves ---- */
static void invalid(void) {
    MPI_Datatype type = MPI_INT;
    MPI_Comm comm = W;
    MPI_Request request;
    if (is("count")) MPI_Send(in, -1, MPI_INT, 0, 0, W);
    else if (is("tag")) MPI_Send(in, 1, MPI_INT, 0, -5, W);
    else if (is("peer")) MPI_Send(in, 1, MPI_INT, size, 0, W);
    else if (is("source")) MPI_Irecv(in, 1, MPI_INT, -7, 0, W, &request);
    else if (is("buffer")) MPI_Send(NULL, 1, MPI_INT, 0, 0, W);
    else if (is("type")) MPI_Send(in, 1, MPI_DATATYPE_NULL, 0, 0, W);
    else if (is("communicator")) MPI_Barrier(MPI_COMM_NULL);
    else if (is("request")) MPI_Isend(in, 1, MPI_INT, 0, 0, W, NULL);
    else if (is("uncommitted")) {
        MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Send(in, 1, type, 0, 0, W);
    } else if (is("freed_type")) {
        MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Datatype copy = type;
        MPI_Type_free(&type);
        MPI_Send(in, 1, copy, 0, 0, W);
    } else if (is("freed_communicator")) {
        MPI_Comm_dup(W, &comm);
        MPI_Comm copy = comm;
        MPI_Comm_free(&comm);
        MPI_Barrier(copy);
    } else if (is("root")) MPI_Bcast(in, 1, MPI_INT, size, W);
    else if (is("op")) MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, W);
    else if (is("op_for_type")) MPI_Allreduce(in, out, 1, MPI_FLOAT, MPI_BAND, W);
    else if (is("aliased")) MPI_Allreduce(in, in, 4, MPI_INT, MPI_SUM, W);
    else if (is("in_place")) MPI_Alltoall(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, W);
    else if (is("predefined")) MPI_Type_free(&type);
    else if (is("world")) MPI_Comm_free(&comm);
    else if (is("group")) {
        MPI_Group all, some;
        const int twice[] = {0, 0};
        MPI_Comm_group(W, &all);
        MPI_Group_incl(all, 2, twice, &some);
    } else if (is("negative_block")) MPI_Type_vector(2, -1, 3, MPI_INT, &type);
    else if (is("target")) MPI_Win_fence(0, window), MPI_Put(in, 1, MPI_INT, size, 0, 1, MPI_INT, window);
    else if (is("displacement")) MPI_Win_fence(0, window), MPI_Put(in, 1, MPI_INT, 0, 1 << 20, 1, MPI_INT, window), MPI_Win_fence(0, window);
    else if (is("window")) MPI_Win_fence(0, MPI_WIN_NULL);
    else exit(77);
}

/* ---- requests ---- */
static void request_life(void) {
    MPI_Request request = MPI_REQUEST_NULL, copy;
    if (is("no_wait")) {
        if (rank == 0) MPI_Irecv(in, 1, MPI_INT, 1, 0, W, &request);
        if (rank == 1) MPI_Send(in, 1, MPI_INT, 0, 0, W);
    } else if (is("no_wait_for_send")) {
        if (rank == 0) MPI_Issend(in, 1, MPI_INT, 1, 0, W, &request);
        if (rank == 1) MPI_Recv(in, 1, MPI_INT, 0, 0, W, NOWHERE);
    } else if (is("no_wait_for_collective")) MPI_Ibarrier(W, &request);
    else if (is("waits_twice")) {
        MPI_Irecv(out, 1, MPI_INT, rank, 0, W, &request);
        copy = request;
        MPI_Send(in, 1, MPI_INT, rank, 0, W);
        wait_for(&request);
        wait_for(&copy);
    } else if (is("frees_twice")) {
        MPI_Recv_init(in, 1, MPI_INT, 0, 0, W, &request);
        copy = request;
        MPI_Request_free(&request);
        MPI_Request_free(&copy);
    } else if (is("starts_twice")) {
        MPI_Recv_init(in, 1, MPI_INT, rank, 0, W, &request);
        MPI_Start(&request);
        MPI_Start(&request);
    } else if (is("starts_a_receive")) {
        MPI_Irecv(in, 1, MPI_INT, rank, 0, W, &request);
        MPI_Start(&request);
    } else if (is("starts_nothing")) MPI_Start(&request);
    else if (is("no_free")) MPI_Send_init(in, 1, MPI_INT, rank, 0, W, &request);
    else if (is("ready_twice")) {
        if (rank == 0) {
            MPI_Psend_init(in, 2, 1, MPI_INT, 1, 0, W, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Pready(0, request);
            MPI_Pready(0, request);
        }
    } else if (is("ready_before_start")) {
        MPI_Psend_init(in, 2, 1, MPI_INT, next(), 0, W, MPI_INFO_NULL, &request);
        MPI_Pready(0, request);
    } else if (is("frees_collective")) {
        MPI_Ibarrier(W, &request);
        MPI_Request_free(&request);
    } else exit(77);
}

/* ---- epochs ---- */
static void epoch(void) {
    void *memory;
    MPI_Group all;
    MPI_Comm_group(W, &all);
    if (is("put_outside")) MPI_Put(in, 1, MPI_INT, next(), 0, 1, MPI_INT, window);
    else if (is("get_outside")) MPI_Get(in, 1, MPI_INT, next(), 0, 1, MPI_INT, window);
    else if (is("accumulate_outside")) MPI_Accumulate(in, 1, MPI_INT, next(), 0, 1, MPI_INT, MPI_SUM, window);
    else if (is("locks_twice")) MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window), MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window);
    else if (is("unlocks_only")) MPI_Win_unlock(next(), window);
    else if (is("unlocks_another")) MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window), MPI_Win_unlock(previous() == next() ? rank : previous(), window);
    else if (is("unlocks_all_only")) MPI_Win_unlock_all(window);
    else if (is("completes_only")) MPI_Win_complete(window);
    else if (is("waits_only")) MPI_Win_wait(window);
    else if (is("flushes_only")) MPI_Win_flush(next(), window);
    else if (is("fence_in_lock")) MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window), MPI_Win_fence(0, window);
    else if (is("posts_twice")) MPI_Win_post(all, 0, window), MPI_Win_post(all, 0, window);
    else if (is("rput_in_fence")) {
        MPI_Request request;
        MPI_Win_fence(0, window);
        MPI_Rput(in, 1, MPI_INT, next(), 0, 1, MPI_INT, window, &request);
    } else if (is("put_after_last_fence")) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
        MPI_Put(in, 1, MPI_INT, next(), 0, 1, MPI_INT, window);
    } else if (is("frees_in_lock")) {
        MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window);
        MPI_Win_free(&window);
    } else if (is("no_fence")) {
        if (!is_odd_one()) MPI_Win_fence(0, window), MPI_Put(in, 1, MPI_INT, 0, 0, 1, MPI_INT, window), MPI_Win_fence(0, window);
    } else if (is("no_post")) {
        if (rank == 0) MPI_Win_start(all, 0, window), MPI_Win_complete(window);
    } else if (is("no_complete")) {
        if (rank == 0) MPI_Win_post(all, 0, window), MPI_Win_wait(window);
    } else if (is("lock_and_receive")) {
        MPI_Win_free(&window); /* one whose locks are taken by the processor, where ranks share a node */
        MPI_Win_allocate(4, 4, MPI_INFO_NULL, W, &memory, &window);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Send(in, 1, MPI_INT, 1, 1, W);
            MPI_Recv(in, 1, MPI_INT, 1, 0, W, NOWHERE);
            MPI_Win_unlock(0, window);
        } else if (rank == 1) {
            MPI_Recv(in, 1, MPI_INT, 0, 1, W, NOWHERE);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Win_unlock(0, window);
            MPI_Send(in, 1, MPI_INT, 0, 0, W);
        }
    } else exit(77);
    MPI_Group_free(&all);
}

/* ---- at the same time ---- */
static void concurrent(void) {
    MPI_Request request;
    if (is("changes_sent")) {
        if (rank == 0) MPI_Issend(in, 1 << 16, MPI_INT, 1, 0, W, &request), in[0] = 1, wait_for(&request);
        if (rank == 1) MPI_Recv(out, 1 << 16, MPI_INT, 0, 0, W, NOWHERE);
    } else if (is("changes_copied")) {
        if (rank == 0) MPI_Isend(in, 1, MPI_INT, 1, 0, W, &request), in[0] = 1, wait_for(&request);
        if (rank == 1) MPI_Recv(out, 1, MPI_INT, 0, 0, W, NOWHERE);
    } else if (is("empty")) { /* no mistake: nothing lies in the middle */
        MPI_Request both[2];
        if (rank == 0) MPI_Irecv(in + 1, 0, MPI_INT, 1, 1, W, both), MPI_Irecv(in, 4, MPI_INT, 1, 0, W, both + 1), MPI_Send(in + 2, 0, MPI_INT, 1, 0, W), MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        if (rank == 1) MPI_Recv(out, 0, MPI_INT, 0, 0, W, NOWHERE), MPI_Send(in, 4, MPI_INT, 0, 0, W), MPI_Send(in, 0, MPI_INT, 0, 1, W);
    } else if (is("sends_received")) {
        if (rank == 0) MPI_Irecv(in, 4, MPI_INT, 1, 0, W, &request), MPI_Send(in + 3, 1, MPI_INT, 1, 0, W), wait_for(&request);
        if (rank == 1) MPI_Recv(out, 1, MPI_INT, 0, 0, W, NOWHERE), MPI_Send(in, 4, MPI_INT, 0, 0, W);
    } else if (is("receives_sent")) {
        if (rank == 0) MPI_Isend(in, 4, MPI_INT, 1, 0, W, &request), MPI_Recv(in, 1, MPI_INT, 1, 0, W, NOWHERE), wait_for(&request);
        if (rank == 1) MPI_Recv(out, 4, MPI_INT, 0, 0, W, NOWHERE), MPI_Send(in, 1, MPI_INT, 0, 0, W);
    } else if (is("starts_on_received")) {
        MPI_Request started;
        MPI_Send_init(in, 1, MPI_INT, next(), 0, W, &started);
        if (rank == 0) MPI_Irecv(in, 1, MPI_INT, 1, 1, W, &request), MPI_Start(&started), MPI_Wait(&started, NOWHERE), wait_for(&request);
        MPI_Request_free(&started);
    } else if (is("reads_received")) {
        if (rank == 0) MPI_Irecv(out, 1, MPI_INT, 1, 0, W, &request), in[0] = out[0], wait_for(&request);
        if (rank == 1) MPI_Send(in, 1, MPI_INT, 0, 0, W);
    } else if (is("receives_twice")) {
        MPI_Request both[2];
        if (rank == 0) MPI_Irecv(out, 4, MPI_INT, 1, 0, W, both), MPI_Irecv(out, 4, MPI_INT, 1, 0, W, both + 1), MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        if (rank == 1) MPI_Send(in, 4, MPI_INT, 0, 0, W), MPI_Send(in, 4, MPI_INT, 0, 0, W);
    } else if (is("any_source")) {
        for (int i = 1; rank == 0 && i < size; ++i) MPI_Recv(out, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, NOWHERE);
        if (rank) MPI_Send(in, 1, MPI_INT, 0, 0, W);
    } else if (is("puts_to_one_place")) {
        MPI_Win_fence(0, window);
        MPI_Put(in, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
    } else exit(77);
}

/* ---- things that are left ---- */
static void adds_nothing(void *in_values, void *inout, int *length, MPI_Datatype *type) { (void)in_values, (void)inout, (void)length, (void)type; }
static void does_nothing(MPI_Comm *comm, int *error, ...) { (void)comm, (void)error; }
static void left(void) {
    if (is("communicator")) {
        MPI_Comm twin;
        MPI_Comm_dup(W, &twin);
    } else if (is("datatype")) {
        MPI_Datatype type;
        MPI_Type_contiguous(2, MPI_INT, &type);
    } else if (is("operation")) {
        MPI_Op op;
        MPI_Op_create(adds_nothing, 1, &op);
    } else if (is("group")) {
        MPI_Group all, some;
        const int one = 0;
        MPI_Comm_group(W, &all);
        MPI_Group_incl(all, 1, &one, &some);
    } else if (is("info")) {
        MPI_Info info;
        MPI_Info_create(&info);
    } else if (is("window")) {
        MPI_Win another;
        MPI_Win_create(in, sizeof in, sizeof(int), MPI_INFO_NULL, W, &another);
    } else if (is("error handler")) {
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(does_nothing, &handler);
    } else if (is("keyval")) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    } else if (is("message")) {
        if (rank == 0) MPI_Send(in, 1, MPI_INT, 1, 0, W);
    } else exit(77);
}

static const struct {
    const char *name;
    void (*make)(void);
} kMistakes[] = {
    {"correct", correct}, {"receives_first", receives_first}, {"sends_first", sends_first}, {"other_order", other_order},
    {"other_communicators", other_communicators}, {"against_receive", against_receive}, {"one_leaves_it_out", one_leaves_it_out},
    {"root_leaves_it_out", root_leaves_it_out}, {"one_calls_it_twice", one_calls_it_twice}, {"nobody_sends", nobody_sends},
    {"nobody_receives", nobody_receives}, {"other_tag", other_tag}, {"other_communicator", other_communicator}, {"ends_early", ends_early},
    {"other_type", other_type}, {"other_length_of_type", other_length_of_type}, {"too_long", too_long},
    {"other_type_of_collective", other_type_of_collective}, {"other_count", other_count}, {"other_op", other_op},
    {"other_root", other_root}, {"invalid", invalid}, {"request_life", request_life}, {"epoch", epoch}, {"concurrent", concurrent},
    {"left", left},
};

int main(int argc, char **argv) {
    call = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    /* One window for all: what is mistaken is the last thing that happens. */
    MPI_Win_create(out, sizeof out, sizeof(int), MPI_INFO_NULL, W, &window);
    for (size_t i = 0; argc > 2 && i < sizeof kMistakes / sizeof kMistakes[0]; ++i)
        if (!strcmp(argv[1], kMistakes[i].name)) kMistakes[i].make();
    if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
