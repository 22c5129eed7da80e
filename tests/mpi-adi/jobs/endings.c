/* endings.c: one program, many ways to end. What each should print and return is in endings_test.py. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last rank dies; each of the others finds out by `how` it deals with it, and goes on. */
static int outlives(const char *how, int rank, int size) {
    static char large[1000000];
    int dead = size - 1, word = 0, error = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; !strcmp(how, "after_many") && i < 20; ++i) MPI_Allreduce(&rank, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, dead, 1, MPI_COMM_WORLD);
    if (rank == dead) {
        for (int i = 0; i < size; ++i) MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < size; ++i) MPI_Send(&rank, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
        /* The last of them was to itself: when it is here, the others have left. */
        MPI_Recv(&word, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    if (!strcmp(how, "recv")) error = MPI_Recv(&word, 1, MPI_INT, dead, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "any")) error = MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "probe")) error = MPI_Probe(dead, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "ssend")) error = MPI_Ssend(large, sizeof large, MPI_CHAR, dead, 3, MPI_COMM_WORLD);
    if (!strcmp(how, "wait")) {
        MPI_Request requests[2];
        MPI_Irecv(&word, 1, MPI_INT, dead, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(large, sizeof large, MPI_CHAR, dead, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        error = statuses[0].MPI_ERROR == statuses[1].MPI_ERROR ? statuses[0].MPI_ERROR : MPI_ERR_OTHER;
    }
    if (!strcmp(how, "allreduce")) error = MPI_Allreduce(&rank, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "bulk")) error = MPI_Allreduce(MPI_IN_PLACE, large, sizeof large, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
    if (!strcmp(how, "after_many")) {
        error = MPI_Allreduce(&rank, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (MPI_Barrier(MPI_COMM_WORLD) != error) error = MPI_ERR_OTHER;
    }
    if (!strcmp(how, "barrier")) error = MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "ialltoall")) {
        int out[8] = {0}, in[8];
        MPI_Request request;
        MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &request);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "dup")) {
        MPI_Comm copy;
        error = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    }
    if (!strcmp(how, "idup")) {
        MPI_Comm copy;
        MPI_Request request;
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    while (error == MPI_SUCCESS && !strcmp(how, "send")) {
        int flag; /* short sends are complete at once: that somebody died is learnt in calls that look for messages */
        MPI_Iprobe(rank, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        error = MPI_Send(&word, 1, MPI_INT, dead, 3, MPI_COMM_WORLD);
    }
    if (error != MPI_ERR_PROC_ABORTED) return 4;
    /* Messages from before its end are there, and the living hear one another. */
    if (MPI_Recv(&word, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS || word != dead) return 5;
    int next = (rank + 1) % dead, other = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 4, &other, 1, MPI_INT, (rank + dead - 1) % dead, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return other == (rank + dead - 1) % dead ? 0 : 6;
}

/* The last rank dies before its `at`th collective, while the others have schedules for several: all hear of it, also those who wait in one
 * that the others never begin. */
static int dies_among_sizes(int at, int rank, int size) {
    static int in[2000], out[2000];
    const int counts[] = {1, 200, 3, 800, 2000};
    int error = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; error == MPI_SUCCESS; ++i) {
        if (rank == size - 1 && i == at) raise(SIGKILL);
        error = MPI_Allreduce(in, out, counts[i % 5], MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (error == MPI_SUCCESS && i % 3 == 0) error = MPI_Bcast(in, counts[i % 5], MPI_INT, i % size, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return error == MPI_ERR_PROC_ABORTED ? 0 : 4;
}

/* The last rank calls another collective than the others, or the same with another size: some are told, and none waits. */
static int disagrees(const char *how, int rank, int size) {
    static char out[400000], in[1200000];
    int odd = rank == size - 1, one = 1, sum, expected = MPI_ERR_TRUNCATE, error = MPI_SUCCESS;
    int before = !strcmp(how, "meeting") ? 3 : !strcmp(how, "early") ? 0 : 10; /* the fourth small one makes room to meet in */
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < before; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "size")) error = MPI_Allreduce(out, in, odd ? 1 : 2000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "meeting")) error = MPI_Allgather(out, odd ? 8 : 400000, MPI_CHAR, in, odd ? 8 : 400000, MPI_CHAR, MPI_COMM_WORLD);
    if (!strcmp(how, "waiting")) {
        MPI_Iallreduce(out, in, odd ? 1 : 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "waitany")) {
        int index;
        MPI_Iallgather(out, odd ? 8 : 400000, MPI_CHAR, in, odd ? 8 : 400000, MPI_CHAR, MPI_COMM_WORLD, &request);
        error = MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "function") || !strcmp(how, "early")) {
        expected = MPI_ERR_OTHER;
        error = odd ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "ifunction")) { /* the lengths of the two do not fit either */
        expected = MPI_ERR_OTHER;
        if (odd) MPI_Ialltoall(out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD, &request);
        else MPI_Iallgather(out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD, &request);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "root")) error = MPI_Bcast(out, odd ? 8 : 400000, MPI_CHAR, 0, MPI_COMM_WORLD);
    /* Some need not wait for the others, and may learn of it in their next one. Where schedules carry it, over a network and early on, some
       may get the other call's message first, which does not fit. */
    const char *node = getenv("PTL_NODE");
    if (error == MPI_ERR_TRUNCATE && (!before || (node && !strcmp(node, "0")))) error = expected;
    if (error != MPI_SUCCESS && error != expected) return error;
    int told = MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS || error == expected, other;
    for (int i = 0; i < size; ++i) MPI_Send(&told, 1, MPI_INT, i, 5, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) {
        MPI_Recv(&other, 1, MPI_INT, i, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        told = told || other;
    }
    if (!told) return 4;
    MPI_Finalize();
    return 0;
}

/* No MPI_Init: all of MPI is reached by a session. */
static int in_a_session(void) {
    MPI_Session session;
    MPI_Group all;
    MPI_Comm comm;
    int one = 1, sum = 0, size, flag;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 3;
    MPI_Initialized(&flag);
    if (flag) return 4;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_size(all, &size);
    if (MPI_Comm_create_from_group(all, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) != MPI_SUCCESS) return 5;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    return MPI_Session_finalize(&session) == MPI_SUCCESS && sum == size ? 0 : 6;
}

/* After the last session MPI can begin again, as often as a process likes: others need not do the same. */
static int in_many_sessions(void) {
    int rank = 0, level = 0;
    for (int round = 0; round < 3; ++round) {
        MPI_Session session;
        MPI_Group self;
        MPI_Info info;
        char value[64] = "";
        int flag, length = sizeof value;
        if (in_a_session() != 0) return 10 + round;
        for (int i = 0; i <= rank; ++i) {
            if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 20 + round;
            MPI_Session_get_info(session, &info);
            MPI_Info_get_string(info, "thread_level", &length, value, &flag);
            MPI_Info_free(&info);
            if (!flag || strcmp(value, "MPI_THREAD_MULTIPLE") != 0) return 30;
            if (MPI_Group_from_session_pset(session, "MPI://self", &self) != MPI_SUCCESS) return 40; /* names are in any case */
            MPI_Group_free(&self);
            if (MPI_Session_init((MPI_Info)&info, MPI_ERRORS_RETURN, &(MPI_Session){MPI_SESSION_NULL}) != MPI_ERR_INFO) return 50;
            if (MPI_Session_finalize(&session) != MPI_SUCCESS) return 60;
        }
        if (round == 0) rank = getpid() % 3; /* some do it more often */
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return level == MPI_THREAD_MULTIPLE ? 0 : 70;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "well";
    int rank, size, value = 1, room[2] = {0, 0}, both[16] = {0};

    if (!strcmp(how, "session")) return in_a_session();
    if (!strcmp(how, "sessions")) return in_many_sessions();
    if (!strcmp(how, "before")) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && !strcmp(how, "outlives")) return outlives(argv[2], rank, size);
    if (argc > 2 && !strcmp(how, "sizes")) return dies_among_sizes(atoi(argv[2]), rank, size);
    if (argc > 2 && !strcmp(how, "disagrees")) return disagrees(argv[2], rank, size);
    if (rank == size - 1) {
        if (!strcmp(how, "rank")) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
        if (!strcmp(how, "tag")) MPI_Send(&value, 1, MPI_INT, 0, -1, MPI_COMM_WORLD);
        if (!strcmp(how, "truncate")) {
            MPI_Request request;
            MPI_Irecv(room, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
            MPI_Send(room, 2, MPI_INT, rank, 5, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (!strcmp(how, "type")) MPI_Recv(room, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strcmp(how, "itself")) MPI_Gather(room, 1, MPI_INT, both, 2, MPI_INT, rank, MPI_COMM_WORLD);
        if (!strcmp(how, "nobody")) MPI_Barrier(MPI_COMM_NULL);
        if (!strcmp(how, "collective")) MPI_Bcast(room, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 42);
        if (!strcmp(how, "abort256")) MPI_Abort(MPI_COMM_WORLD, 256);
        if (!strcmp(how, "twice")) MPI_Init(NULL, NULL);
        if (!strcmp(how, "requests")) {
            MPI_Request request;
            for (;;) MPI_Irecv(room, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        }
    }
    if (!strcmp(how, "ifunctions")) {
        MPI_Request request;
        if (rank == size - 1) MPI_Ibcast(room, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        else MPI_Iscatter(both, 2, MPI_INT, room, 2, MPI_INT, 0, MPI_COMM_WORLD, &request);
        if (rank == size - 1) MPI_Wait(&request, MPI_STATUS_IGNORE); /* 8 bytes come, 4 are expected */
    }
    if (!strcmp(how, "functions"))
        (void)(rank == size - 1 ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Gather(room, 1, MPI_INT, NULL, 1, MPI_INT, size - 1, MPI_COMM_WORLD));
    if (!strcmp(how, "collective") && rank < size - 1) MPI_Bcast(room, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (strcmp(how, "well") && strcmp(how, "after") && strcmp(how, "freed"))
        MPI_Recv(room, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* never sent: the job is ended */
    if (!strcmp(how, "freed")) { /* MPI_Finalize delivers what nobody waits for */
        static int large[100000], got[100000];
        MPI_Request request;
        large[99999] = rank + 1;
        MPI_Isend(large, 100000, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Recv(got, 100000, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got[99999] != (rank + size - 1) % size + 1) return 3;
    }
    MPI_Finalize();
    if (!strcmp(how, "after")) MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
