/* Sorts integers that are spread evenly over the ranks and over a range: each rank owns a part of the range, all send each
 * owner its keys in one piece, and owners sort by counting. The keys are right if they lie in their owner's range, and if
 * number and sum over all ranks are those of the keys that were made.
 * Source: NAS parallel benchmarks, IS; ISx. */
#include "app.h"

int main(int argc, char **argv) {
    Option options[] = {{"keys", "of each rank", 1000000, 0, 100000000}, {"range", "keys are below", 1 << 22, 1, 1 << 30}};
    app_start(argc, argv, "integer sort by buckets.", options, 2);
    const long keys = options[0].value, range = options[1].value, width = (range + ranks - 1) / ranks;
    int *mine = app_memory((size_t)keys * sizeof(int)), *grouped = app_memory((size_t)keys * sizeof(int));
    int *table = app_memory(4 * (size_t)(ranks + 1) * sizeof(int));
    int *out_count = table, *out_first = table + ranks + 1, *in_count = table + 2 * (ranks + 1), *in_first = table + 3 * (ranks + 1);
    long long made[2] = {keys, 0}, kept[2] = {0, 0}, all_made[2], all_kept[2];
    for (long i = 0; i < keys; ++i) {
        mine[i] = (int)(app_random(((uint64_t)me << 40) + (uint64_t)i) % (uint64_t)range);
        made[1] += mine[i];
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (long i = 0; i < keys; ++i) ++out_count[mine[i] / width];
    MPI_Alltoall(out_count, 1, MPI_INT, in_count, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < ranks; ++rank) {
        out_first[rank + 1] = out_first[rank] + out_count[rank];
        in_first[rank + 1] = in_first[rank] + in_count[rank];
    }
    int *next = app_memory((size_t)ranks * sizeof(int));
    memcpy(next, out_first, (size_t)ranks * sizeof(int));
    for (long i = 0; i < keys; ++i) grouped[next[mine[i] / width]++] = mine[i];
    const long got = in_first[ranks], base = me * width;
    int *inbox = app_memory((size_t)got * sizeof(int)), *counts = app_memory((size_t)width * sizeof(int));
    MPI_Alltoallv(grouped, out_count, out_first, MPI_INT, inbox, in_count, in_first, MPI_INT, MPI_COMM_WORLD);
    int right = 1;
    for (long i = 0; i < got; ++i) {
        right = right && inbox[i] >= base && inbox[i] < base + width;
        if (right) ++counts[inbox[i] - base];
    }
    int *sorted = inbox;
    for (long value = 0; right && value < width; ++value)
        for (int c = 0; c < counts[value]; ++c) *sorted++ = (int)(base + value);
    const double seconds = MPI_Wtime() - begin;
    kept[0] = got;
    for (long i = 0; i < got; ++i) {
        kept[1] += inbox[i];
        right = right && (i == 0 || inbox[i - 1] <= inbox[i]);
    }
    MPI_Allreduce(made, all_made, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(kept, all_kept, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    right = right && memcmp(all_made, all_kept, sizeof all_made) == 0;
    free(mine), free(grouped), free(table), free(next), free(inbox), free(counts);
    return app_verdict(right, seconds, "%ld keys a rank", keys);
}
