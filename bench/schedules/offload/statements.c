/* The statements of the paper on ESPGOAL about offloaded schedules, measured one statement at a time. Each line: statement id=.. and figures.
 *
 *   F4a  two ranks: a round trip through messages that the other side's engine answers: while its application waits in a call (and
 *        so steps the engine itself), or sleeps (and the engine's thread must, spinning or woken)
 *   F4b  one rank: the engine's max of two float vectors against a loop of the program's, the start of the schedule excluded
 *   start  any ranks: what GOAL_Run alone takes of the application, of a resident barrier with the three rounds that 8 ranks have (with
 *        fewer ranks some messages go to the rank itself), reading the clock excluded
 *   D2   one rank: in how many of a million elements the engine's results differ from the program's
 *   D3   any ranks: messages along the edges of a random graph, from unaligned heap memory; all are checked
 *   D4   one rank: what the timing operation sees of a chain of eight copies of 4 KiB
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* aligned_alloc */
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/goal/goal_collectives.h"

static int rank, size;
static double mine, theirs;

#define TRY(call) \
    do { \
        if ((call) != GOAL_SUCCESS) { \
            fprintf(stderr, "statements: %s\n", GOAL_Explain()); \
            exit(1); \
        } \
    } while (0)

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static GOAL_Schedule meeting, maximum;
static void run(GOAL_Schedule what) {
    GOAL_Request running;
    TRY(GOAL_Run(what, &running));
    TRY(GOAL_Wait(&running));
}
static void meet(void) { run(meeting); }
static double largest(double value) {
    mine = value;
    run(maximum);
    return theirs;
}

static void hand_off(int sleeps) {
    enum { kTrips = 50, kTimes = 15 };
    static uint64_t word;
    GOAL_Schedule schedule;
    GOAL_Op before = 0;
    double best = 1e300;
    TRY(GOAL_Create(&schedule));
    for (int i = 0; i < kTrips; ++i) {
        GOAL_Op send, recv;
        if (rank == 0) {
            TRY(GOAL_Send(schedule, GOAL_User(&word), sizeof word, 1, 0, &send));
            TRY(GOAL_Recv(schedule, GOAL_User(&word), sizeof word, 1, 0, &recv));
            if (i > 0) TRY(GOAL_Requires(schedule, send, before));
            TRY(GOAL_Requires(schedule, recv, send));
            before = recv;
        } else {
            TRY(GOAL_Recv(schedule, GOAL_User(&word), sizeof word, 0, 0, &recv));
            TRY(GOAL_Send(schedule, GOAL_User(&word), sizeof word, 0, 0, &send));
            TRY(GOAL_Requires(schedule, send, recv));
            if (i > 0) TRY(GOAL_Requires(schedule, recv, before));
            before = send;
        }
    }
    TRY(GOAL_Compile(schedule));
    for (int i = 0; i < kTimes; ++i) {
        GOAL_Request request;
        const struct timespec nap = {0, 2000000};
        int done = 0;
        meet();
        if (rank == 0) nanosleep(&nap, NULL); /* until the other one sleeps */
        const double begin = now_us();
        TRY(GOAL_Run(schedule, &request));
        while (rank == 1 && sleeps && !done) {
            nanosleep(&nap, NULL);
            TRY(GOAL_Test(&request, &done));
        }
        if (!done) TRY(GOAL_Wait(&request));
        const double took = (now_us() - begin) / kTrips;
        if (took < best) best = took;
    }
    if (rank == 0) printf("statement id=F4a application=%s round_trip_us=%.3f\n", sleeps ? "sleeps" : "waits", best);
    meet();
    TRY(GOAL_Free(&schedule));
}

__attribute__((noinline, optimize("O3"))) static void user_max(float *to, const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; ++i) to[i] = a[i] > b[i] ? a[i] : b[i];
}

static void engine_max(void) {
    const size_t most = (size_t)4 << 20;
    float *a = aligned_alloc(64, most), *b = aligned_alloc(64, most), *to = aligned_alloc(64, most);
    if (!a || !b || !to) exit(1);
    for (size_t i = 0; i < most / 4; ++i) {
        a[i] = (float)((i * 7919) % 1000);
        b[i] = (float)((i * 104729) % 1000);
    }
    for (size_t bytes = 4; bytes <= most; bytes *= 4) {
        uint64_t times[2] = {0, 0};
        double engine = 1e300, user = 1e300;
        GOAL_Schedule schedule;
        GOAL_Op first, work, last;
        TRY(GOAL_Create(&schedule));
        TRY(GOAL_Timestamp(schedule, GOAL_User(&times[0]), &first));
        TRY(GOAL_Local(schedule, GOAL_MAX, GOAL_FLOAT, GOAL_User(to), GOAL_User(a), GOAL_User(b), bytes / 4, &work));
        TRY(GOAL_Timestamp(schedule, GOAL_User(&times[1]), &last));
        TRY(GOAL_Requires(schedule, work, first));
        TRY(GOAL_Requires(schedule, last, work));
        TRY(GOAL_Compile(schedule));
        for (int i = 0; i < (bytes < 65536 ? 2000 : 60); ++i) {
            run(schedule);
            const double took = (double)(times[1] - times[0]);
            if (took < engine) engine = took;
            const double begin = now_us();
            user_max(to, a, b, bytes / 4);
            const double alone = 1e3 * (now_us() - begin);
            if (alone < user) user = alone;
        }
        printf("statement id=F4b size=%zu engine_ns=%.0f user_ns=%.0f\n", bytes, engine, user);
        TRY(GOAL_Free(&schedule));
    }
    free(a);
    free(b);
    free(to);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void start(void) {
    enum { kTimes = 2000 };
    static double took[kTimes];
    GOAL_Schedule schedule;
    GOAL_Op received[3], send;
    double clock = 1e300;
    int rounds = 0;
    TRY(GOAL_Create(&schedule));
    for (int ahead = 1; ahead < 8; ahead *= 2) {
        TRY(GOAL_Send(schedule, GOAL_Pad(0), 0, (rank + ahead) % size, (uint32_t)ahead, &send));
        for (int k = 0; k < rounds; ++k) TRY(GOAL_Requires(schedule, send, received[k]));
        TRY(GOAL_Recv(schedule, GOAL_Pad(0), 0, (rank + 8 * size - ahead) % size, (uint32_t)ahead, &received[rounds++]));
    }
    TRY(GOAL_Compile(schedule));
    for (int i = 0; i < kTimes; ++i) {
        const double begin = now_us(), end = now_us();
        if (end - begin < clock) clock = end - begin;
    }
    for (int i = 0; i < kTimes; ++i) {
        GOAL_Request request;
        meet();
        const double begin = now_us();
        TRY(GOAL_Run(schedule, &request));
        took[i] = now_us() - begin - clock;
        TRY(GOAL_Wait(&request));
    }
    qsort(took, kTimes, sizeof took[0], by_value);
    const double least = largest(took[0]), tenth = largest(took[kTimes / 10]), half = largest(took[kTimes / 2]);
    if (rank == 0) printf("statement id=start ranks=%d least_ns=%.0f tenth_ns=%.0f half_ns=%.0f\n", size, 1e3 * least, 1e3 * tenth, 1e3 * half);
    TRY(GOAL_Free(&schedule));
}

static void same_results(void) {
    enum { kMany = 1000000 };
    double *a = malloc(kMany * 8), *b = malloc(kMany * 8), *to = malloc(kMany * 8);
    long differ = 0;
    GOAL_Schedule schedule;
    if (!a || !b || !to) exit(1);
    for (int i = 0; i < kMany; ++i) {
        a[i] = 1.0 / (i + 3);
        b[i] = -3.0 * i / 7;
    }
    TRY(GOAL_Create(&schedule));
    TRY(GOAL_Local(schedule, GOAL_ADD, GOAL_DOUBLE, GOAL_User(to), GOAL_User(a), GOAL_User(b), kMany, NULL));
    TRY(GOAL_Compile(schedule));
    run(schedule);
    for (int i = 0; i < kMany; ++i) {
        const double sum = a[i] + b[i];
        differ += memcmp(&sum, &to[i], sizeof sum) != 0;
    }
    printf("statement id=D2 elements=%d differ=%ld\n", kMany, differ);
    TRY(GOAL_Free(&schedule));
    free(a);
    free(b);
    free(to);
}

static int joined(int from, int to) { return from != to && (uint32_t)(from * 7919 + to * 104729) * 2654435761u >> 30 == 0; }

static void sparse(void) {
    enum { kBytes = 4099 }; /* odd, from odd addresses */
    char *memory = malloc(2 * (size_t)size * kBytes + 1), *out_base = memory + 1, *in_base = out_base + (size_t)size * kBytes;
    GOAL_Edge *out = calloc((size_t)size, sizeof *out), *in = calloc((size_t)size, sizeof *in);
    int num_out = 0, num_in = 0, wrong = 0;
    GOAL_Schedule schedule = NULL;
    GOAL_Group all;
    if (!memory || !out || !in) exit(1);
    TRY(GOAL_World(&all));
    for (int peer = 0; peer < size; ++peer) {
        char *from = out_base + (size_t)peer * kBytes, *to = in_base + (size_t)peer * kBytes;
        memset(from, 16 * rank + peer + 1, kBytes);
        memset(to, 0, kBytes);
        if (joined(rank, peer)) out[num_out++] = (GOAL_Edge){peer, 0, GOAL_User(from), kBytes};
        if (joined(peer, rank)) in[num_in++] = (GOAL_Edge){peer, 0, GOAL_User(to), kBytes};
    }
    TRY(GOAL_Exchange(&schedule, &all, out, num_out, in, num_in, NULL));
    double best = 1e300;
    for (int i = 0; i < 20; ++i) {
        meet();
        const double begin = now_us();
        run(schedule);
        const double took = largest(now_us() - begin);
        if (took < best) best = took;
    }
    for (int peer = 0; peer < size; ++peer)
        for (int i = 0; joined(peer, rank) && i < kBytes; ++i) wrong += in_base[(size_t)peer * kBytes + (size_t)i] != (char)(16 * peer + rank + 1);
    const double bad = largest(wrong), most = largest(num_in);
    if (rank == 0) printf("statement id=D3 ranks=%d most_messages=%.0f wrong=%.0f time_us=%.3f\n", size, most, bad, best);
    TRY(GOAL_Free(&schedule));
    free(memory);
    free(out);
    free(in);
}

static void timing(void) {
    enum { kCopies = 8 };
    static char from[4096], to[4096];
    uint64_t times[kCopies + 1];
    double best[kCopies];
    GOAL_Schedule schedule;
    GOAL_Op stamp, copy, before = 0;
    TRY(GOAL_Create(&schedule));
    for (int i = 0; i <= kCopies; ++i) {
        TRY(GOAL_Timestamp(schedule, GOAL_User(&times[i]), &stamp));
        if (i > 0) TRY(GOAL_Requires(schedule, stamp, before));
        if (i == kCopies) break;
        TRY(GOAL_Local(schedule, GOAL_COPY, GOAL_INT8, GOAL_User(to), GOAL_User(from), GOAL_User(NULL), sizeof from, &copy));
        TRY(GOAL_Requires(schedule, copy, stamp));
        before = copy;
        best[i] = 1e300;
    }
    TRY(GOAL_Compile(schedule));
    for (int n = 0; n < 1000; ++n) {
        run(schedule);
        for (int i = 0; i < kCopies; ++i)
            if ((double)(times[i + 1] - times[i]) < best[i]) best[i] = (double)(times[i + 1] - times[i]);
    }
    printf("statement id=D4 copies_ns=");
    for (int i = 0; i < kCopies; ++i) printf("%s%.0f", i ? "," : "", best[i]);
    printf("\n");
    TRY(GOAL_Free(&schedule));
}

int main(int argc, char **argv) {
    GOAL_Group all;
    if (argc != 2) {
        fprintf(stderr, "usage: %s F4a-waits | F4a-sleeps | F4b | start | D2 | D3 | D4\n", argv[0]);
        return 2;
    }
    TRY(GOAL_Init(&rank, &size));
    TRY(GOAL_World(&all));
    TRY(GOAL_Barrier(&meeting, &all, NULL));
    TRY(GOAL_Allreduce(&maximum, &all, GOAL_User(&mine), GOAL_User(&theirs), 1, GOAL_DOUBLE, GOAL_MAX, NULL));
    if (strncmp(argv[1], "F4a-", 4) == 0 && size == 2) hand_off(argv[1][4] == 's');
    else if (strcmp(argv[1], "F4b") == 0) engine_max();
    else if (strcmp(argv[1], "start") == 0) start();
    else if (strcmp(argv[1], "D2") == 0) same_results();
    else if (strcmp(argv[1], "D3") == 0) sparse();
    else if (strcmp(argv[1], "D4") == 0) timing();
    else fprintf(stderr, "statements: '%s' on %d ranks is no statement\n", argv[1], size);
    TRY(GOAL_Free(&meeting));
    TRY(GOAL_Free(&maximum));
    TRY(GOAL_Finalize());
    return 0;
}
