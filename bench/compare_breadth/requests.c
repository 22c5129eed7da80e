/* Requests: nonblocking and persistent sends and receives, all ways to wait for them, partitions. */
#include "kinds.h"

static MPI_Request pair[2], many[kMostRequests];
static char flags[kMostRequests];

static void start_pair(void) {
    MPI_Irecv(received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &pair[0]);
    MPI_Isend(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &pair[1]);
}
static void wait_pair(void) { MPI_Waitall(2, pair, MPI_STATUSES_IGNORE); }

static void isend_irecv(void) {
    start_pair();
    wait_pair();
}
static void wait_one(void) {
    start_pair();
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
}
static void issend(void) {
    MPI_Irecv(received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &pair[0]);
    MPI_Issend(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &pair[1]);
    wait_pair();
}
static void test(void) {
    start_pair();
    for (int at = 0; at < 2; ++at)
        for (int flag = 0; !flag;) MPI_Test(&pair[at], &flag, MPI_STATUS_IGNORE);
}
static void testall(void) {
    start_pair();
    for (int flag = 0; !flag;) MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE);
}
static void testany(void) {
    start_pair();
    for (int done = 0; done < 2;) {
        int index, flag;
        MPI_Testany(2, pair, &index, &flag, MPI_STATUS_IGNORE);
        done += flag;
    }
}
static void testsome(void) {
    start_pair();
    for (int done = 0; done < 2;) {
        int count, indices[2];
        MPI_Testsome(2, pair, &count, indices, MPI_STATUSES_IGNORE);
        done += count;
    }
}
static void waitany(void) {
    start_pair();
    for (int done = 0; done < 2; ++done) {
        int index;
        MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE);
    }
}
static void waitsome(void) {
    start_pair();
    for (int done = 0; done < 2;) {
        int count, indices[2];
        MPI_Waitsome(2, pair, &count, indices, MPI_STATUSES_IGNORE);
        done += count;
    }
}
static void start_many(void) {
    for (int i = 0; i < kMostRequests / 2; ++i) {
        MPI_Irecv(&flags[i], 1, MPI_CHAR, left, i, MPI_COMM_WORLD, &many[i]);
        MPI_Isend(&flags[kMostRequests / 2 + i], 1, MPI_CHAR, right, i, MPI_COMM_WORLD, &many[kMostRequests / 2 + i]);
    }
}
static void waitall_many(void) {
    start_many();
    MPI_Waitall(kMostRequests, many, MPI_STATUSES_IGNORE);
}
static void waitany_many(void) {
    start_many();
    for (int i = 0; i < kMostRequests; ++i) {
        int index;
        MPI_Waitany(kMostRequests, many, &index, MPI_STATUS_IGNORE);
    }
}
static void waitsome_many(void) {
    start_many();
    for (int done = 0; done < kMostRequests;) {
        int count, indices[kMostRequests];
        MPI_Waitsome(kMostRequests, many, &count, indices, MPI_STATUSES_IGNORE);
        done += count;
    }
}
static void cancel(void) {
    MPI_Request never;
    MPI_Irecv(received, kCount, MPI_DOUBLE, left, kTag + 1, MPI_COMM_WORLD, &never);
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
}
static void get_status(void) {
    int flag = 0;
    start_pair();
    while (!flag) MPI_Request_get_status(pair[0], &flag, MPI_STATUS_IGNORE);
    wait_pair();
}

static int fill(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int discard(void *state) { return (void)state, MPI_SUCCESS; }
static int stop(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }
static void generalized(void) {
    MPI_Request own;
    MPI_Grequest_start(fill, discard, stop, NULL, &own);
    MPI_Grequest_complete(own);
    MPI_Wait(&own, MPI_STATUS_IGNORE);
}

static void startall(void) {
    MPI_Startall(2, pair);
    wait_pair();
}
static void make_receive(void) { MPI_Recv_init(received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &pair[0]); }
static void make_pair(void) {
    make_receive();
    MPI_Send_init(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &pair[1]);
}
static void make_synchronous(void) {
    make_receive();
    MPI_Ssend_init(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &pair[1]);
}
static void free_pair(void) {
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
}
static void init_and_free(void) {
    make_pair();
    free_pair();
}

#if MPI_VERSION >= 4
static void isendrecv(void) {
    MPI_Isendrecv(sent, kCount, MPI_DOUBLE, right, kTag, received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &pair[0]);
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
}
enum { kPartitions = 4 };
static void make_partitions(void) {
    MPI_Precv_init(received, kPartitions, kCount / kPartitions, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]);
    MPI_Psend_init(sent, kPartitions, kCount / kPartitions, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[1]);
}
static void partitions(void) {
    MPI_Startall(2, pair);
    for (int i = 0; i < kPartitions; ++i) MPI_Pready(i, pair[1]);
    wait_pair();
}
#else
#define isendrecv NULL
#define make_partitions NULL
#define partitions NULL
#endif

const struct Kind requests[] = {
    {"isend-irecv", isend_irecv, NULL, NULL},
    {"isend-irecv-wait", wait_one, NULL, NULL},
    {"issend", issend, NULL, NULL},
    {"isendrecv", isendrecv, NULL, NULL},
    {"test", test, NULL, NULL},
    {"testall", testall, NULL, NULL},
    {"testany", testany, NULL, NULL},
    {"testsome", testsome, NULL, NULL},
    {"waitany", waitany, NULL, NULL},
    {"waitsome", waitsome, NULL, NULL},
    {"waitall-128", waitall_many, NULL, NULL},
    {"waitany-128", waitany_many, NULL, NULL},
    {"waitsome-128", waitsome_many, NULL, NULL},
    {"cancel", cancel, NULL, NULL},
    {"request-get-status", get_status, NULL, NULL},
    {"grequest", generalized, NULL, NULL},
    {"send-init", startall, make_pair, free_pair},
    {"ssend-init", startall, make_synchronous, free_pair},
    {"init-and-free", init_and_free, NULL, NULL},
    {"partitions", partitions, make_partitions, free_pair},
    {NULL, NULL, NULL, NULL},
};
