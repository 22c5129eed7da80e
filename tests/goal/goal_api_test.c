/* The GOAL_* calls, as a C99 program on any number of ranks: schedules that depend on memory, run many times; errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/goal/goal.h"
#include "portals/portals4.h"
#include "tests/goal/check.h"

static int rank, size;

enum { kEpochs = 300, kCount = 1000 };

static GOAL_Buffer none(void) { return GOAL_User(NULL); }

/* A sum around the ring, in place: each step receives into the same piece of scratchpad that the step before read. */
static void ring_sum_reuses_one_scratch_block(void) {
    static int64_t sum[kCount], passing[kCount];
    GOAL_Schedule s;
    GOAL_Op recv, add, copy, send, last_add = 0, last_copy = 0;
    OK(GOAL_Create(&s));
    OK(GOAL_Scratch(s, sizeof passing));
    for (int step = 1; step < size; ++step) {
        OK(GOAL_Send(s, GOAL_User(passing), sizeof passing, (rank + 1) % size, 3, &send));
        OK(GOAL_Recv(s, GOAL_Pad(0), sizeof passing, (rank + size - 1) % size, 3, &recv));
        OK(GOAL_Local(s, GOAL_ADD, GOAL_INT64, GOAL_User(sum), GOAL_User(sum), GOAL_Pad(0), kCount, &add));
        OK(GOAL_Local(s, GOAL_COPY, GOAL_INT64, GOAL_User(passing), GOAL_Pad(0), none(), kCount, &copy));
        OK(GOAL_Requires(s, add, recv));
        OK(GOAL_Requires(s, copy, recv));
        OK(GOAL_Requires(s, copy, send));
        if (step > 1) {
            OK(GOAL_Requires(s, send, last_copy));
            OK(GOAL_Requires(s, recv, last_copy));
            OK(GOAL_Requires(s, recv, last_add));
            OK(GOAL_Requires(s, add, last_add));
        }
        last_add = add;
        last_copy = copy;
    }
    OK(GOAL_Compile(s));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
        for (int i = 0; i < kCount; ++i) sum[i] = passing[i] = (int64_t)(rank + 1) * (i + epoch);
        GOAL_Request request;
        OK(GOAL_Run(s, &request));
        CHECK(GOAL_Run(s, &request) == GOAL_ERR_STATE);
        OK(GOAL_Wait(&request));
        CHECK(request == GOAL_REQUEST_NULL);
        for (int i = 0; i < kCount; ++i) CHECK(sum[i] == (int64_t)size * (size + 1) / 2 * (i + epoch));
    }
    OK(GOAL_Free(&s));
    CHECK(s == NULL);
}

/* All pairs at once, sizes from nothing to far beyond an eager message; the process itself is a peer like any other. */
static void all_to_all(void) {
    const size_t sizes[] = {0, 1, 4096, 300000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        const size_t n = sizes[k];
        unsigned char *out = malloc(n * size + 1), *in = malloc(n * size + 1);
        GOAL_Schedule s;
        OK(GOAL_Create(&s));
        for (int peer = 0; peer < size; ++peer) {
            OK(GOAL_Send(s, GOAL_User(out + n * peer), n, peer, (uint32_t)k, NULL));
            OK(GOAL_Recv(s, GOAL_User(in + n * peer), n, peer, (uint32_t)k, NULL));
        }
        OK(GOAL_Compile(s));
        for (int epoch = 0; epoch < 5; ++epoch) {
            for (int peer = 0; peer < size; ++peer) memset(out + n * peer, 16 * rank + peer + epoch, n);
            GOAL_Request request;
            int done = 0;
            OK(GOAL_Run(s, &request));
            while (!done) OK(GOAL_Test(&request, &done));
            for (int peer = 0; peer < size; ++peer) {
                for (size_t i = 0; i < n; ++i) CHECK(in[n * peer + i] == (unsigned char)(16 * peer + rank + epoch));
            }
        }
        OK(GOAL_Free(&s));
        free(out);
        free(in);
    }
}

/* Two schedules with the same peers and tags run at once and do not meet. */
static void schedules_are_kept_apart(void) {
    static int out[2][2], in[2][2];
    GOAL_Schedule s[2];
    GOAL_Request request[2];
    for (int k = 0; k < 2; ++k) {
        OK(GOAL_Create(&s[k]));
        for (int i = 0; i < 2; ++i) {
            OK(GOAL_Send(s[k], GOAL_User(&out[k][i]), sizeof(int), (rank + 1) % size, 0, NULL));
            OK(GOAL_Recv(s[k], GOAL_User(&in[k][i]), sizeof(int), (rank + size - 1) % size, 0, NULL));
            out[k][i] = 100 * k + 10 * i + rank;
        }
        OK(GOAL_Compile(s[k]));
    }
    for (int k = 0; k < 2; ++k) {
        const int which = (rank + k) % 2; /* the ranks start them in different orders */
        OK(GOAL_Run(s[which], &request[which]));
    }
    for (int k = 0; k < 2; ++k) {
        OK(GOAL_Wait(&request[k]));
        for (int i = 0; i < 2; ++i) CHECK(in[k][i] == 100 * k + 10 * i + (rank + size - 1) % size);
        OK(GOAL_Free(&s[k]));
    }
}

static void local_work_is_ordered(void) {
    uint64_t before = 0, after = 0, beside = 0;
    double x[3] = {1, 2, 3}, y[3] = {4, 5, 6}, z[3] = {0, 0, 0};
    GOAL_Schedule s;
    GOAL_Op first, wait, last, start, mult, sub;
    GOAL_Request request;
    OK(GOAL_Create(&s));
    OK(GOAL_Local(s, GOAL_TIMESTAMP, GOAL_UINT64, GOAL_User(&before), none(), none(), 0, &first));
    OK(GOAL_Local(s, GOAL_DELAY, GOAL_UINT64, none(), none(), none(), 2000000, &wait));
    OK(GOAL_Local(s, GOAL_TIMESTAMP, GOAL_UINT64, GOAL_User(&after), none(), none(), 0, &last));
    OK(GOAL_Local(s, GOAL_TIMESTAMP, GOAL_UINT64, GOAL_User(&beside), none(), none(), 0, &start));
    OK(GOAL_Requires(s, wait, first));
    OK(GOAL_Requires(s, last, wait));
    OK(GOAL_IRequires(s, start, wait));
    OK(GOAL_Local(s, GOAL_MULT, GOAL_DOUBLE, GOAL_User(z), GOAL_User(x), GOAL_User(y), 3, &mult));
    OK(GOAL_Local(s, GOAL_SUB, GOAL_DOUBLE, GOAL_User(z), GOAL_User(z), GOAL_User(x), 3, &sub));
    OK(GOAL_Requires(s, sub, mult));
    OK(GOAL_Compile(s));
    OK(GOAL_Run(s, &request));
    OK(GOAL_Wait(&request));
    CHECK(after - before >= 2000000);
    CHECK(beside >= before);
    CHECK(z[0] == 3 && z[1] == 8 && z[2] == 15);
    OK(GOAL_Free(&s));
}

static void division_by_zero_fails_the_run(void) {
    static const int a[2] = {6, 6}, b[2] = {3, 0};
    static int c[2];
    GOAL_Schedule s;
    GOAL_Request request;
    GOAL_Op divide, then;
    OK(GOAL_Create(&s));
    OK(GOAL_Local(s, GOAL_DIV, GOAL_INT32, GOAL_User(c), GOAL_User(a), GOAL_User(b), 2, &divide));
    OK(GOAL_Local(s, GOAL_DELAY, GOAL_INT32, none(), none(), none(), 1, &then));
    OK(GOAL_Requires(s, then, divide));
    OK(GOAL_Compile(s));
    OK(GOAL_Run(s, &request));
    CHECK(GOAL_Wait(&request) == GOAL_ERR_FAILED);
    CHECK(request == GOAL_REQUEST_NULL);
    CHECK(GOAL_Run(s, &request) == GOAL_ERR_STATE);
    OK(GOAL_Free(&s));
}

/* Every second word of one array travels into the odd words of another, and is added up there, from pieces. */
static void memory_in_pieces(void) {
    enum { kWords = 64 };
    static uint32_t from[2 * kWords], to[2 * kWords], sum[kWords];
    GOAL_Piece out[kWords], in[kWords];
    GOAL_Schedule s;
    GOAL_Op recv, add;
    GOAL_Request request;
    for (int i = 0; i < kWords; ++i) {
        out[i] = GOAL_Part(GOAL_User(&from[2 * i]), 4);
        in[i] = GOAL_Part(GOAL_User(&to[2 * i + 1]), 4);
    }
    OK(GOAL_Create(&s));
    OK(GOAL_Send(s, GOAL_Pieces(out, kWords), 4 * kWords, (rank + 1) % size, 0, NULL));
    OK(GOAL_Recv(s, GOAL_Pieces(in, kWords), 4 * kWords, (rank + size - 1) % size, 0, &recv));
    OK(GOAL_Local(s, GOAL_ADD, GOAL_UINT32, GOAL_User(sum), GOAL_User(sum), GOAL_Pieces(in, kWords), kWords, &add));
    OK(GOAL_Requires(s, add, recv));
    OK(GOAL_Compile(s));
    for (uint32_t epoch = 1; epoch <= 10; ++epoch) {
        for (int i = 0; i < kWords; ++i) from[2 * i] = (uint32_t)(1000 * rank + i), from[2 * i + 1] = 77;
        OK(GOAL_Run(s, &request));
        OK(GOAL_Wait(&request));
        const uint32_t left = (uint32_t)((rank + size - 1) % size);
        for (uint32_t i = 0; i < kWords; ++i) CHECK(to[2 * i] == 0 && to[2 * i + 1] == 1000 * left + i && sum[i] == epoch * (1000 * left + i));
    }
    OK(GOAL_Free(&s));
}

/* Odd ranks run the same schedule all the time; on even ranks a copy goes on where it left off, while the third run is still
 * under way. */
static void a_copy_goes_on_where_the_original_left_off(void) {
    int64_t out[2] = {0, 0}, in[2] = {0, 0};
    GOAL_Schedule s[2];
    GOAL_Request request, last = GOAL_REQUEST_NULL;
    OK(GOAL_Create(&s[0]));
    OK(GOAL_Context(s[0], 7));
    OK(GOAL_Send(s[0], GOAL_Arg(0, 0), 8, (rank + 1) % size, 0, NULL));
    OK(GOAL_Recv(s[0], GOAL_Arg(1, 0), 8, (rank + size - 1) % size, 0, NULL));
    OK(GOAL_Bind(s[0], 0, &out[0], 8));
    OK(GOAL_Bind(s[0], 1, &in[0], 8));
    OK(GOAL_Compile(s[0]));
    CHECK(GOAL_Epoch(s[0], 1) == GOAL_ERR_STATE);
    OK(GOAL_Clone(s[0], &s[1]));
    OK(GOAL_Context(s[1], 7));
    OK(GOAL_Epoch(s[1], 3));
    OK(GOAL_Bind(s[1], 0, &out[1], 8));
    OK(GOAL_Bind(s[1], 1, &in[1], 8));
    OK(GOAL_Compile(s[1]));
    for (int epoch = 0; epoch < 300; ++epoch) {
        const int which = rank % 2 == 0 && epoch >= 3;
        out[which] = 100 * epoch + rank;
        OK(GOAL_Run(s[which], &request));
        if (epoch == 2 && rank % 2 == 0) {
            last = request;
            continue;
        }
        OK(GOAL_Wait(&request));
        CHECK(in[which] == 100 * epoch + (rank + size - 1) % size);
        if (epoch == 3 && which == 1) {
            OK(GOAL_Wait(&last));
            CHECK(in[0] == 200 + (rank + size - 1) % size);
        }
    }
    for (int k = 0; k < 2; ++k) OK(GOAL_Free(&s[k]));
}

/* A schedule that doubles what comes from the left: its memory is named by arguments, two of its copies run at once, and a
 * third one was a block of bytes meanwhile. */
static void copies_run_at_once(void) {
    int64_t out[3], in[3];
    GOAL_Schedule s[3];
    GOAL_Request request[3];
    GOAL_Op recv, twice;
    char block[4096];
    size_t bytes = 0;
    OK(GOAL_Create(&s[0]));
    OK(GOAL_Scratch(s[0], 8));
    OK(GOAL_Send(s[0], GOAL_Arg(0, 0), 8, (rank + 1) % size, 0, NULL));
    OK(GOAL_Recv(s[0], GOAL_Pad(0), 8, (rank + size - 1) % size, 0, &recv));
    OK(GOAL_Local(s[0], GOAL_ADD, GOAL_INT64, GOAL_Arg(1, 0), GOAL_Pad(0), GOAL_Pad(0), 1, &twice));
    OK(GOAL_Requires(s[0], twice, recv));
    OK(GOAL_Bind(s[0], 0, &out[0], 8));
    OK(GOAL_Bind(s[0], 1, &in[0], 8));
    CHECK(GOAL_Clone(s[0], &s[1]) == GOAL_ERR_STATE);
    CHECK(GOAL_Save(s[0], NULL, &bytes) == GOAL_ERR_STATE);
    OK(GOAL_Compile(s[0]));
    OK(GOAL_Clone(s[0], &s[1]));
    OK(GOAL_Save(s[0], NULL, &bytes));
    CHECK(bytes > 0 && bytes < sizeof block);
    --bytes;
    CHECK(GOAL_Save(s[0], block, &bytes) == GOAL_ERR_NO_SPACE);
    OK(GOAL_Save(s[0], block, &bytes));
    CHECK(GOAL_Load(block, bytes - 4, &s[2]) == GOAL_ERR_ARG);
    block[bytes / 2] ^= 4;
    CHECK(GOAL_Load(block, bytes, &s[2]) == GOAL_ERR_ARG && strstr(GOAL_Explain(), "damaged"));
    block[bytes / 2] ^= 4;
    OK(GOAL_Load(block, bytes, &s[2]));
    CHECK(GOAL_Send(s[2], GOAL_Arg(0, 0), 8, 0, 0, NULL) == GOAL_ERR_STATE);
    for (int k = 1; k < 3; ++k) {
        OK(GOAL_Bind(s[k], 0, &out[k], 8));
        OK(GOAL_Bind(s[k], 1, &in[k], 8));
        OK(GOAL_Compile(s[k]));
        CHECK(GOAL_Bind(s[k], 1, &in[k], 8) == GOAL_ERR_STATE);
    }
    for (int epoch = 0; epoch < 20; ++epoch) {
        for (int k = 0; k < 3; ++k) out[k] = 100 * epoch + 10 * k + rank;
        for (int k = 0; k < 3; ++k) OK(GOAL_Run(s[k], &request[k]));
        for (int k = 2; k >= 0; --k) OK(GOAL_Wait(&request[k]));
        for (int k = 0; k < 3; ++k) CHECK(in[k] == 2 * (100 * epoch + 10 * k + (rank + size - 1) % size));
    }
    for (int k = 0; k < 3; ++k) OK(GOAL_Free(&s[k]));

    GOAL_Schedule small;
    OK(GOAL_Load(block, bytes, &small));
    OK(GOAL_Bind(small, 0, &out[0], 8));
    OK(GOAL_Bind(small, 1, &in[0], 4));
    CHECK(GOAL_Compile(small) == GOAL_ERR_ARG && strstr(GOAL_Explain(), "8 bytes of argument 1"));
    OK(GOAL_Free(&small));
}

/* Rank 0 writes down what the others do, and sends it to them as a block of bytes: they get a word from it, double it and send it back. */
static void a_schedule_travels_to_who_runs_it(void) {
    char block[4096];
    size_t bytes = 0;
    int64_t word = 21, twice = 0, all[64];
    GOAL_Schedule work, post;
    GOAL_Request request;
    GOAL_Op recv, add, send;
    if (size < 2 || size > 64) return;
    if (rank == 0) {
        OK(GOAL_Create(&work));
        OK(GOAL_Scratch(work, 8));
        OK(GOAL_Recv(work, GOAL_Pad(0), 8, 0, 0, &recv));
        OK(GOAL_Local(work, GOAL_ADD, GOAL_INT64, GOAL_Arg(0, 0), GOAL_Pad(0), GOAL_Pad(0), 1, &add));
        OK(GOAL_Send(work, GOAL_Arg(0, 0), 8, 0, 0, &send));
        OK(GOAL_Requires(work, add, recv));
        OK(GOAL_Requires(work, send, add));
        OK(GOAL_Bind(work, 0, &twice, 8));
        OK(GOAL_Context(work, 10));
        OK(GOAL_Compile(work));
        bytes = sizeof block;
        OK(GOAL_Save(work, block, &bytes));
        OK(GOAL_Free(&work));
    }
    OK(GOAL_Create(&post));
    if (rank == 0) {
        for (int peer = 1; peer < size; ++peer) {
            OK(GOAL_Send(post, GOAL_User(&bytes), sizeof bytes, peer, 0, NULL));
            OK(GOAL_Send(post, GOAL_User(block), sizeof block, peer, 1, NULL));
        }
    } else {
        OK(GOAL_Recv(post, GOAL_User(&bytes), sizeof bytes, 0, 0, NULL));
        OK(GOAL_Recv(post, GOAL_User(block), sizeof block, 0, 1, NULL));
    }
    OK(GOAL_Context(post, 8));
    OK(GOAL_Compile(post));
    OK(GOAL_Run(post, &request));
    OK(GOAL_Wait(&request));
    OK(GOAL_Free(&post));
    if (rank == 0) {
        OK(GOAL_Create(&work));
        for (int peer = 1; peer < size; ++peer) {
            OK(GOAL_Send(work, GOAL_User(&word), 8, peer, 0, NULL));
            OK(GOAL_Recv(work, GOAL_User(&all[peer]), 8, peer, 0, NULL));
        }
    } else {
        OK(GOAL_Load(block, bytes, &work));
        OK(GOAL_Bind(work, 0, &twice, 8));
    }
    OK(GOAL_Context(work, 9));
    OK(GOAL_Compile(work));
    OK(GOAL_Run(work, &request));
    OK(GOAL_Wait(&request));
    for (int peer = 1; rank == 0 && peer < size; ++peer) CHECK(all[peer] == 42);
    CHECK(rank == 0 || twice == 42);
    OK(GOAL_Free(&work));
}

/* A delay or a message from the left, whichever comes first, lets a message go to the right. All messages wait for one of these: if
 * both were needed, nobody would begin. The one that comes later belongs to the execution all the same. */
static void any_of_several_is_enough(void) {
    uint64_t stamps[2];
    static int64_t out, in;
    GOAL_Schedule s;
    GOAL_Op soon, late, either, send, when[2];
    GOAL_Request request;
    OK(GOAL_Create(&s));
    OK(GOAL_Local(s, GOAL_DELAY, GOAL_INT8, none(), none(), none(), 1000, &soon));
    OK(GOAL_Recv(s, GOAL_User(&in), sizeof in, (rank + size - 1) % size, 0, &late));
    OK(GOAL_Local(s, GOAL_DELAY, GOAL_INT8, none(), none(), none(), 0, &either));
    OK(GOAL_Send(s, GOAL_User(&out), sizeof out, (rank + 1) % size, 0, &send));
    for (int i = 0; i < 2; ++i) OK(GOAL_Timestamp(s, GOAL_User(&stamps[i]), &when[i]));
    OK(GOAL_Requires(s, either, soon));
    OK(GOAL_Requires(s, either, late));
    OK(GOAL_Needs(s, either, 1));
    CHECK(GOAL_Needs(s, either, 0) == GOAL_ERR_ARG);
    OK(GOAL_Requires(s, send, either));
    OK(GOAL_Requires(s, when[0], either));
    OK(GOAL_Requires(s, when[1], late));
    OK(GOAL_Requires(s, when[1], soon));
    OK(GOAL_Compile(s));
    for (int epoch = 0; epoch < 20; ++epoch) {
        memset(stamps, 0, sizeof stamps);
        out = 100 * epoch + rank;
        OK(GOAL_Run(s, &request));
        OK(GOAL_Wait(&request));
        CHECK(stamps[0] != 0 && stamps[0] <= stamps[1]);
        CHECK(in == 100 * epoch + (rank + size - 1) % size);
    }
    OK(GOAL_Free(&s));
}

/* Everybody waits for a message that nobody sends; the first rank gives up, which reaches one after the other. */
static void giving_up_is_a_failure_for_all_who_wait(int by_free) {
    static int boxes[2];
    GOAL_Schedule s, bystander;
    GOAL_Request request, other;
    OK(GOAL_Create(&s));
    OK(GOAL_Recv(s, GOAL_User(&boxes[0]), 4, (rank + 1) % size, 0, NULL));
    OK(GOAL_Compile(s));
    OK(GOAL_Create(&bystander));
    OK(GOAL_Send(bystander, GOAL_User(&rank), 4, (rank + 1) % size, 0, NULL));
    OK(GOAL_Recv(bystander, GOAL_User(&boxes[1]), 4, (rank + size - 1) % size, 0, NULL));
    OK(GOAL_Compile(bystander));
    int code = GOAL_Run(s, &request); /* the first one may have given up already */
    OK(GOAL_Run(bystander, &other));
    if (rank != 0) {
        CHECK((code == GOAL_SUCCESS ? GOAL_Wait(&request) : code) == GOAL_ERR_FAILED);
        CHECK(GOAL_Run(s, &request) == GOAL_ERR_STATE);
    } else if (!by_free) {
        OK(GOAL_Cancel(&request));
        CHECK(request == GOAL_REQUEST_NULL);
        OK(GOAL_Cancel(&request));
        CHECK(GOAL_Run(s, &request) == GOAL_ERR_STATE);
    }
    OK(GOAL_Free(&s));
    OK(GOAL_Wait(&other));
    CHECK(boxes[1] == (rank + size - 1) % size);
    OK(GOAL_Free(&bystander));
}

static void mistakes_are_told(void) {
    int box = 0;
    GOAL_Schedule s;
    GOAL_Request request;
    GOAL_Op a, b;
    OK(GOAL_Create(&s));
    CHECK(GOAL_Send(s, GOAL_User(&box), 4, size, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Recv(s, GOAL_User(&box), 4, -1, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Recv(s, none(), 4, 0, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Send(s, GOAL_User(&box), 4, 0, UINT32_MAX, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Local(s, GOAL_XOR, GOAL_FLOAT, GOAL_User(&box), GOAL_User(&box), GOAL_User(&box), 1, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Send(NULL, GOAL_User(&box), 4, 0, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Run(s, &request) == GOAL_ERR_STATE);
    OK(GOAL_Local(s, GOAL_DELAY, GOAL_INT8, none(), none(), none(), 1, &a));
    OK(GOAL_Local(s, GOAL_DELAY, GOAL_INT8, none(), none(), none(), 1, &b));
    CHECK(GOAL_Requires(s, a, b + 1) == GOAL_ERR_ARG);
    OK(GOAL_Requires(s, a, b));
    OK(GOAL_IRequires(s, b, a));
    CHECK(GOAL_Compile(s) == GOAL_ERR_CYCLE);
    CHECK(strstr(GOAL_Explain(), "wait for each other in a circle") != NULL);
    CHECK(GOAL_Compile(s) == GOAL_ERR_STATE);
    OK(GOAL_Free(&s));
    CHECK(GOAL_Free(&s) == GOAL_ERR_ARG);

    OK(GOAL_Create(&s));
    OK(GOAL_Scratch(s, 8));
    OK(GOAL_Recv(s, GOAL_Pad(4), 8, 0, 0, NULL));
    CHECK(GOAL_Compile(s) == GOAL_ERR_ARG);
    CHECK(GOAL_Finalize() == GOAL_ERR_STATE); /* there is a schedule left */
    OK(GOAL_Free(&s));
}

/* Each sends its vector and then takes its neighbour's into the same memory, the next round's after that: nobody could begin. */
static void long_messages_change_places(void) {
    enum { kBytes = 100000, kRounds = 3 };
    static char box[kBytes], own[kBytes];
    GOAL_Schedule s;
    GOAL_Request request;
    GOAL_Op send, recv = 0;
    OK(GOAL_Create(&s));
    for (int round = 0; round < kRounds; ++round) {
        OK(GOAL_Send(s, GOAL_User(box), kBytes, (rank + 1) % size, 0, &send));
        if (round > 0) OK(GOAL_Requires(s, send, recv));
        OK(GOAL_Recv(s, GOAL_User(box), kBytes, (rank + size - 1) % size, 0, &recv));
        OK(GOAL_Requires(s, recv, send));
    }
    OK(GOAL_Compile(s));
    CHECK(GOAL_Unbuffered(s) == GOAL_ERR_STATE);
    for (int epoch = 0; epoch < 5; ++epoch) {
        memset(box, 10 * epoch + rank, kBytes);
        memset(own, 10 * epoch + (rank + kRounds * (size - 1)) % size, kBytes);
        OK(GOAL_Run(s, &request));
        OK(GOAL_Wait(&request));
        CHECK(memcmp(box, own, kBytes) == 0);
    }
    OK(GOAL_Free(&s));
}

static void nothing_to_do_is_done(void) {
    GOAL_Schedule s;
    GOAL_Request request = GOAL_REQUEST_NULL;
    int done = 0;
    OK(GOAL_Wait(&request));
    OK(GOAL_Create(&s));
    OK(GOAL_Compile(s));
    OK(GOAL_Run(s, &request));
    OK(GOAL_Test(&request, &done));
    CHECK(done == 1 && request == GOAL_REQUEST_NULL);
    OK(GOAL_Test(&request, &done));
    CHECK(done == 1);
    OK(GOAL_Free(&s));
}

static void ends_are_counted_where_the_program_can_see_them(void) {
    GOAL_Schedule s;
    GOAL_Request request;
    uint32_t finish, failures;
    uint64_t each, total = 0, word = 1;
    OK(GOAL_Create(&s));
    CHECK(GOAL_Counters(s, &finish, &each, &failures) == GOAL_ERR_STATE);
    OK(GOAL_Send(s, GOAL_User(&word), 8, (rank + 1) % size, 0, NULL));
    OK(GOAL_Recv(s, GOAL_User(&total), 8, (rank + size - 1) % size, 0, NULL));
    OK(GOAL_Compile(s));
    OK(GOAL_Counters(s, &finish, &each, &failures));
    CHECK(each > 0);
    ptl_ct_event_t value;
    for (uint64_t epoch = 1; epoch <= 20; ++epoch) {
        OK(GOAL_Run(s, &request));
        CHECK(PtlCTWait(finish, epoch * each, &value) == PTL_OK && value.success == epoch * each);
        OK(GOAL_Wait(&request));
    }
    CHECK(PtlCTGet(failures, &value) == PTL_OK && value.success == 0);
    OK(GOAL_Free(&s));
}

static void messages_of_another_length_than_their_receives_are_counted(void) {
    GOAL_Schedule s;
    GOAL_Request request;
    const uint64_t *mismatches;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    uint32_t words[2] = {7, 8}, shorter = 0, longer[3] = {1, 1, 1}, same[2];
    OK(GOAL_Create(&s));
    CHECK(GOAL_Mismatches(s, &mismatches) == GOAL_ERR_STATE);
    for (uint32_t tag = 0; tag < 3; ++tag) OK(GOAL_Send(s, GOAL_User(words), sizeof words, right, tag, NULL));
    OK(GOAL_Recv(s, GOAL_User(&shorter), sizeof shorter, left, 0, NULL));
    OK(GOAL_Recv(s, GOAL_User(longer), sizeof longer, left, 1, NULL));
    OK(GOAL_Recv(s, GOAL_User(same), sizeof same, left, 2, NULL));
    OK(GOAL_Compile(s));
    OK(GOAL_Mismatches(s, &mismatches));
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        CHECK(*mismatches == 2 * epoch);
        OK(GOAL_Run(s, &request));
        OK(GOAL_Wait(&request));
    }
    CHECK(shorter == 7 && longer[1] == 8 && longer[2] == 1 && same[1] == 8);
    OK(GOAL_Free(&s));
}

int main(void) {
    GOAL_Schedule early;
    CHECK(GOAL_Create(&early) == GOAL_ERR_STATE);
    CHECK(GOAL_Finalize() == GOAL_ERR_STATE);
    OK(GOAL_Init(&rank, &size));
    OK(GOAL_Init(NULL, NULL));
    OK(GOAL_Finalize());
    ring_sum_reuses_one_scratch_block();
    all_to_all();
    schedules_are_kept_apart();
    local_work_is_ordered();
    division_by_zero_fails_the_run();
    memory_in_pieces();
    copies_run_at_once();
    a_schedule_travels_to_who_runs_it();
    a_copy_goes_on_where_the_original_left_off();
    any_of_several_is_enough();
    giving_up_is_a_failure_for_all_who_wait(0);
    giving_up_is_a_failure_for_all_who_wait(1);
    mistakes_are_told();
    long_messages_change_places();
    nothing_to_do_is_done();
    ends_are_counted_where_the_program_can_see_them();
    messages_of_another_length_than_their_receives_are_counted();
    OK(GOAL_Finalize());
    CHECK(GOAL_Finalize() == GOAL_ERR_STATE);
    return 0;
}
