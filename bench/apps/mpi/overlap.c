/* A nonblocking all-reduction that runs while the ranks compute: tells how long the parts take alone and together. */
#include "app.h"

static double compute(long steps) {
    volatile double value = 1;
    for (long i = 0; i < steps; ++i) value = value * 1.0000001 + 1e-9;
    return value;
}

int main(int argc, char **argv) {
    Option options[] = {{"numbers", "that are added up, element by element", 100000, 1, 100000000},
                        {"steps", "of computation in the meantime", 3000000, 0, 2000000000},
                        {"rounds", "how often", 10, 1, 1000000}};
    app_start(argc, argv, "nonblocking all-reduction beside computation.", options, 3);
    const int numbers = (int)options[0].value;
    const long steps = options[1].value, rounds = options[2].value;
    double *in = app_memory((size_t)numbers * sizeof(double)), *out = app_memory((size_t)numbers * sizeof(double));
    double alone = 0, computing = 0, together = 0;
    int right = 1;
    for (long round = 0; round < rounds; ++round) {
        for (int i = 0; i < numbers; ++i) in[i] = (double)(me + 1) * (double)(i % 100 + round);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        MPI_Allreduce(in, out, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        alone += MPI_Wtime() - begin;
        begin = MPI_Wtime();
        compute(steps);
        computing += MPI_Wtime() - begin;
        memset(out, 0, (size_t)numbers * sizeof(double));
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        MPI_Request request;
        MPI_Iallreduce(in, out, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        compute(steps);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        together += MPI_Wtime() - begin;
        for (int i = 0; i < numbers; ++i) right = right && out[i] == (double)ranks * (ranks + 1) / 2 * (double)(i % 100 + round);
    }
    free(in), free(out);
    return app_verdict(right, together, "%d numbers, reduction %.6f s, computation %.6f s", numbers, alone, computing);
}
