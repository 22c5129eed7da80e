/* MPI: the latency of an 8-byte ping-pong, the rate of 8-byte messages, and what of a large receive overlaps.
 *
 * Ranks 0 and 1 measure; the others pass a token round first and wait in the barrier at the end.
 */
#include <mpi.h>

#include "report.h"

enum { kWindow = 64, kRounds = 100, kBatches = 25, kTrials = 9, kBytes = 4 << 20 };

static void token_round(int me, int n) {
    long token = 0;
    if (me == 0) MPI_Send(&token, 1, MPI_LONG, 1 % n, 1, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_LONG, (me + n - 1) % n, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (token != (me + n - 1) % n) MPI_Abort(MPI_COMM_WORLD, 1);
    ++token;
    if (me != 0) MPI_Send(&token, 1, MPI_LONG, (me + 1) % n, 1, MPI_COMM_WORLD);
}

static void ping_pong(long *value, int me) {
    if (me == 0) MPI_Send(value, 1, MPI_LONG, 1, 2, MPI_COMM_WORLD);
    MPI_Recv(value, 1, MPI_LONG, 1 - me, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(value, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD);
}

/* Half a round trip, the median of the batches; rank 0 stops rank 1 with a negative value. */
static double message_latency(int me) {
    double batch[kBatches];
    const double limit = now_s() + 3;
    int done = 0;
    long value = 0;
    if (me == 1) {
        while (value >= 0) ping_pong(&value, me);
        return 0;
    }
    while (done < kBatches && (done == 0 || now_s() < limit)) {
        const double begin = now_s();
        for (int i = 0; i < kRounds; ++i) ping_pong(&value, me);
        batch[done++] = (now_s() - begin) / (2 * kRounds);
    }
    value = -1;
    ping_pong(&value, me);
    return median(batch, done);
}

/* Messages per second in windows that are answered; rank 0 sends. */
static double message_rate(int me) {
    MPI_Request requests[kWindow];
    long values[kWindow] = {0}, answer = 0;
    const double begin = now_s();
    double seconds = 0;
    long messages = 0;
    while (answer >= 0) {
        for (int i = 0; i < kWindow; ++i) {
            if (me == 0) MPI_Isend(&values[i], 1, MPI_LONG, 1, 3, MPI_COMM_WORLD, &requests[i]);
            else MPI_Irecv(&values[i], 1, MPI_LONG, 0, 3, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
        messages += kWindow;
        seconds = now_s() - begin;
        if (me == 0 && seconds > 0.2) answer = -1;
        ping_pong(&answer, me);
    }
    return (double)messages / seconds;
}

/* Rank 0 receives a large message that rank 1 sends when asked, and computes meanwhile. */
static double large_receive(char *buffer, int me, long units) {
    MPI_Request request;
    long go = 0;
    const double begin = now_s();
    if (me == 1) {
        MPI_Recv(&go, 1, MPI_LONG, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, kBytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Irecv(buffer, kBytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Send(&go, 1, MPI_LONG, 1, 4, MPI_COMM_WORLD);
    compute(units);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return now_s() - begin;
}

static double receive_overlap(char *buffer, int me) {
    double alone[kTrials], calm[kTrials], both[kTrials];
    for (int i = 0; i < kTrials; ++i) alone[i] = large_receive(buffer, me, 0);
    const long units = me == 0 ? units_for(median(alone, kTrials)) : 0;
    for (int i = 0; i < kTrials; ++i) {
        alone[i] = large_receive(buffer, me, 0);
        calm[i] = timed_compute(units);
        both[i] = large_receive(buffer, me, units);
    }
    return overlap_of(median(alone, kTrials), median(calm, kTrials), median(both, kTrials));
}

int main(int argc, char **argv) {
    int me, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char *buffer = malloc(kBytes);
    if (n < 2 || !buffer) {
        fprintf(stderr, "mpi_pingpong needs at least two ranks and 4 MiB of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(buffer, me, kBytes);
    token_round(me, n);
    if (me < 2) {
        const double latency = message_latency(me), rate = message_rate(me), overlap = receive_overlap(buffer, me);
        if (me == 0) {
            if (buffer[0] != 1 || buffer[kBytes - 1] != 1) MPI_Abort(MPI_COMM_WORLD, 1);
            report("mpi_pingpong", n, transport_to(PTL_NI_MATCHING | PTL_NI_LOGICAL, 1), latency, rate, overlap);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
    MPI_Finalize();
    return 0;
}
