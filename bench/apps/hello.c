/* Every PE writes a greeting into the memory of PE 0, which prints them in order. */
#include "app.h"

#include <unistd.h>

enum { kText = 128 };

int main(int argc, char **argv) {
    app_start(argc, argv, "every PE says which it is and where it runs.", NULL, 0);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const double begin = app_seconds();
    char *const greetings = app_memory((size_t)n * kText);
    char host[64] = "somewhere", mine[kText] = "";
    int right = 1;
    gethostname(host, sizeof host - 1);
    snprintf(mine, sizeof mine, "hello from PE %d of %d on %s", me, n, host);
    shmem_putmem(greetings + (size_t)me * kText, mine, sizeof mine, 0);
    shmem_barrier_all();
    for (int pe = 0; me == 0 && pe < n; ++pe) {
        int who = -1;
        printf("%s\n", greetings + (size_t)pe * kText);
        right = right && sscanf(greetings + (size_t)pe * kText, "hello from PE %d", &who) == 1 && who == pe;
    }
    return app_verdict(right, app_seconds() - begin, "%d greetings", n);
}
