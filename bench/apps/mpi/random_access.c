/* Updates at random places of a table that is spread over the ranks: each rank makes a stream of numbers, collects those that belong to
 * others in a bucket for each, and sends the fullest while it goes on. Nobody knows who sends to it next: receives are from anybody, and
 * looked at by MPI_Test. An update is an exclusive or, so that the same stream once more leaves the table as it was.
 * Source: the algorithm of RandomAccess in the HPC Challenge (Luszczek et al., 2005). */
#include "app.h"

enum { kUpdates = 1, kEnd = 2, kMost = 512 }; /* tags; updates in a message */

typedef struct {
    uint64_t *table, *incoming, *outgoing, *buckets; /* a bucket for each rank */
    long places;                                     /* of each rank */
    int *filled;
    int ended; /* ranks that send no more */
    MPI_Request receive, send;
} Work;

static uint64_t *bucket_of(const Work *w, int rank) { return w->buckets + (size_t)rank * kMost; }

static void update(Work *w, uint64_t number) { w->table[number % (uint64_t)w->places] ^= number; }

static void expect(Work *w) {
    MPI_Irecv(w->incoming, kMost, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &w->receive);
}

/* Takes what has come. */
static void look(Work *w) {
    for (int here = 1; here && w->ended < ranks - 1;) {
        MPI_Status status;
        MPI_Test(&w->receive, &here, &status);
        if (!here) return;
        int count;
        MPI_Get_count(&status, MPI_UINT64_T, &count);
        for (int i = 0; i < count; ++i) update(w, w->incoming[i]);
        if (status.MPI_TAG == kEnd) ++w->ended;
        if (w->ended < ranks - 1) expect(w);
    }
}

/* Sends that bucket, once the one before has gone. */
static void empty(Work *w, int rank, int tag) {
    for (int gone = 0; !gone;) {
        MPI_Test(&w->send, &gone, MPI_STATUS_IGNORE);
        look(w);
    }
    memcpy(w->outgoing, bucket_of(w, rank), (size_t)w->filled[rank] * 8);
    MPI_Isend(w->outgoing, w->filled[rank], MPI_UINT64_T, rank, tag, MPI_COMM_WORLD, &w->send);
    w->filled[rank] = 0;
}

static void run(Work *w, long updates) {
    w->ended = 0;
    if (ranks > 1) expect(w);
    for (long i = 0; i < updates; ++i) {
        const uint64_t number = app_random(((uint64_t)me << 40) + (uint64_t)i);
        const int owner = (int)((number >> 32) % (uint64_t)ranks);
        if (owner == me) {
            update(w, number);
            continue;
        }
        bucket_of(w, owner)[w->filled[owner]++] = number;
        if (w->filled[owner] == kMost) empty(w, owner, kUpdates);
        else if (i % 64 == 0) look(w);
    }
    for (int step = 1; step < ranks; ++step) empty(w, (me + step) % ranks, kEnd);
    MPI_Wait(&w->send, MPI_STATUS_IGNORE);
    while (w->ended < ranks - 1) look(w);
    MPI_Barrier(MPI_COMM_WORLD); /* no update of the next pass is taken for one of this */
}

int main(int argc, char **argv) {
    Option options[] = {{"places", "of the table, of each rank", 1 << 20, 1, 1 << 30}, {"updates", "of each rank", 2000000, 0, 1000000000}};
    app_start(argc, argv, "updates at random places.", options, 2);
    Work w = {.places = options[0].value, .receive = MPI_REQUEST_NULL, .send = MPI_REQUEST_NULL};
    const long updates = options[1].value;
    w.table = app_memory((size_t)w.places * 8);
    w.incoming = app_memory(kMost * 8);
    w.outgoing = app_memory(kMost * 8);
    w.buckets = app_memory((size_t)ranks * kMost * 8);
    w.filled = app_memory((size_t)ranks * sizeof(int));
    for (long i = 0; i < w.places; ++i) w.table[i] = (uint64_t)i;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    run(&w, updates);
    const double seconds = MPI_Wtime() - begin;
    run(&w, updates);
    int right = 1;
    for (long i = 0; i < w.places; ++i) right = right && w.table[i] == (uint64_t)i;
    free(w.table), free(w.incoming), free(w.outgoing), free(w.buckets), free(w.filled);
    return app_verdict(right, seconds, "%ld updates a rank", updates);
}
