/* The processor time of ranks for which nothing comes: they wait in MPI_Recv, MPI_Barrier, MPI_Probe or MPI_Wait for one that sleeps, test
 * between sleeps of a millisecond, or sleep themselves. Prints that time and the switches of all of its threads, of the rank that takes most. */
#include "app.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void receive(void) { MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void probe(void) {
    MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive();
}
static void wait_for_it(void) {
    MPI_Request request;
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void test(void) {
    MPI_Request request;
    int done = 0;
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) usleep(1000);
}
static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }
static long seconds;
static void sleep_itself(void) {
    const struct timespec all = {seconds, 0};
    nanosleep(&all, NULL);
    receive();
}

static const struct {
    const char *name;
    void (*wait)(void);
} kWaits[] = {{"recv", receive}, {"barrier", meet}, {"probe", probe}, {"wait", wait_for_it}, {"test and usleep", test}, {"sleep", sleep_itself}};
enum { kNumWaits = sizeof kWaits / sizeof kWaits[0] };

static double used(void) {
    struct rusage all;
    getrusage(RUSAGE_SELF, &all);
    return (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) + 1e-6 * (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec);
}
static long switches(void) {
    struct rusage all;
    getrusage(RUSAGE_SELF, &all);
    return all.ru_nvcsw + all.ru_nivcsw;
}

int main(int argc, char **argv) {
    Option options[] = {{"seconds", "that nothing comes", 3, 1, 1000}};
    app_start(argc, argv, "what waiting takes while nothing comes.", options, 1);
    seconds = options[0].value;
    for (int i = 0; i < kNumWaits; ++i) {
        double took[2] = {0};
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0) {
            const struct timespec all = {seconds, 0};
            nanosleep(&all, NULL);
            if (kWaits[i].wait == meet) meet();
            else
                for (int r = 1; r < ranks; ++r) MPI_Send(NULL, 0, MPI_BYTE, r, 1, MPI_COMM_WORLD);
        } else {
            const double before = used();
            const long switched = switches();
            kWaits[i].wait();
            took[0] = (used() - before) / (double)seconds;
            took[1] = (double)(switches() - switched) / (double)seconds;
        }
        double most[2];
        MPI_Reduce(took, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (me == 0) printf("idle wait=%s ranks=%d processor=%.3f%% switches_per_s=%.1f\n", kWaits[i].name, ranks, 100 * most[0], most[1]);
    }
    return app_verdict(1, (double)(seconds * kNumWaits), "each wait for %ld s", seconds);
}
