/* A token goes around: every PE waits for it in its own memory, adds one, and puts it into the next one's. */
#include "app.h"

static long token = -1;

int main(int argc, char **argv) {
    Option options[] = {{"rounds", "how often the token goes around", 1000, 1, 1000000000}};
    app_start(argc, argv, "a token goes from PE to PE; tells the time of a hop.", options, 1);
    const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    const long rounds = options[0].value;
    int right = 1;
    shmem_barrier_all();
    const double begin = app_seconds();
    if (me == 0) shmem_long_p(&token, 0, next);
    for (long round = 0; round < rounds; ++round) {
        /* Hop h of round r carries r * n + h; PE 0 sees the end of each round. */
        const long expected = me == 0 ? (round + 1) * n - 1 : round * n + me - 1;
        shmem_long_wait_until(&token, SHMEM_CMP_GE, expected);
        right = right && token == expected;
        if (me != 0 || round + 1 < rounds) shmem_long_p(&token, expected + 1, next);
    }
    const double seconds = app_seconds() - begin;
    return app_verdict(right, seconds, "%ld rounds, %.0f ns a hop", rounds, 1e9 * seconds / (double)(rounds * n));
}
