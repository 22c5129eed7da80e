/* Computing by several threads of each rank, and communicating in between: how long the whole takes.
 *
 * usage: hybrid KIND ROUNDS, with OMP_NUM_THREADS. Rank 0 prints the milliseconds of all rounds. In each round all threads sum up a part of
 * 32 MB that all ranks share out, and then
 *   allreduce  the ranks add the sums
 *   halo       they exchange 8 KiB with both neighbours
 *   put        they put 8 bytes into the next one's window and fence
 *   multiple   each thread exchanges 64 bytes with the thread of its number on the next rank (MPI_THREAD_MULTIPLE)
 *   pool       as allreduce, but the sums are made by threads of the program's own that wait on a condition in between
 *   matrix     as allreduce, but a matrix product is computed, by the threads of a BLAS (no more than there are processors); the ranks
 *              share out its rows. Compiled with WITH_BLAS alone
 * Written to what MPI-3 has, so that any library compiles it.
 */
#ifdef WITH_BLAS
#include <cblas.h>
#endif
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kDoubles = 4000000, kHalo = 1024, kMostThreads = 256, kTag = 7, kSide = 256 };

static int me, ranks, right, left;
static long count;
static double *data;

static double part(int thread, int threads) {
    double sum = 0;
    for (long i = count * thread / threads; i < count * (thread + 1) / threads; ++i) sum += data[i];
    return sum;
}
static double computed(void) {
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += part(omp_get_thread_num(), omp_get_num_threads());
    return sum;
}

static double allreduce(void) {
    double sum = computed(), all;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}
static double halo(void) {
    static double sent[2][kHalo], received[2][kHalo];
    MPI_Request r[4];
    const double sum = computed();
    MPI_Irecv(received[0], kHalo, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(received[1], kHalo, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(sent[0], kHalo, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(sent[1], kHalo, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    return sum;
}
static MPI_Win window;
static double put(void) {
    double sum = computed();
    MPI_Win_fence(0, window);
    MPI_Put(&sum, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    return sum;
}
static double multiple(void) {
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        double sent[8] = {0}, received[8];
        sum += part(omp_get_thread_num(), omp_get_num_threads());
        MPI_Sendrecv(sent, 8, MPI_DOUBLE, right, omp_get_thread_num(), received, 8, MPI_DOUBLE, left, omp_get_thread_num(), MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    return sum;
}

/* The pool: a round begins when `turn` grows, and has ended when `working` is 0. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static long turn;
static int working, pool_size;
static double sums[kMostThreads];
static void *worker(void *number) {
    const int mine = (int)(long)number;
    for (long seen = 0;; ++seen) {
        pthread_mutex_lock(&mutex);
        while (turn == seen) pthread_cond_wait(&begun, &mutex);
        pthread_mutex_unlock(&mutex);
        if (turn < 0) return NULL;
        sums[mine] = part(mine, pool_size);
        pthread_mutex_lock(&mutex);
        if (--working == 0) pthread_cond_signal(&ended);
        pthread_mutex_unlock(&mutex);
    }
}
static double pool(void) {
    double sum = 0, all;
    pthread_mutex_lock(&mutex);
    working = pool_size;
    ++turn;
    pthread_cond_broadcast(&begun);
    while (working > 0) pthread_cond_wait(&ended, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < pool_size; ++i) sum += sums[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* Rows of A have 1, 2 or 3 throughout, columns of B 1 to 5, so that each number of the product is known. */
#ifdef WITH_BLAS
static double a[kSide * kSide], b[kSide * kSide], c[kSide * kSide];
static void fill_matrices(void) {
    for (int i = 0; i < kSide * kSide; ++i) {
        a[i] = 1 + i / kSide % 3;
        b[i] = 1 + i % kSide % 5;
    }
}
static double matrix(void) {
    const int rows = kSide > ranks ? kSide / ranks : 1, last = rows - 1;
    double sum, all;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, kSide, kSide, 1, a, kSide, b, kSide, 0, c, kSide);
    sum = c[0] + c[last * kSide + kSide - 1];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (all != ranks * (double)kSide * (1 + (1 + last % 3) * (1 + (kSide - 1) % 5))) {
        fprintf(stderr, "hybrid: the product is wrong\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    c[0] = c[last * kSide + kSide - 1] = 0;
    return all;
}
#else
static void fill_matrices(void) {}
#define matrix NULL
#endif

int main(int argc, char **argv) {
    static const struct { const char *name; double (*round)(void); } kinds[] = {
        {"allreduce", allreduce}, {"halo", halo}, {"put", put}, {"multiple", multiple}, {"pool", pool}, {"matrix", matrix}};
    double (*round)(void) = NULL;
    int level;
    const int threads = omp_get_max_threads();
    const long rounds = argc == 3 ? atol(argv[2]) : 0;
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; ++i)
        if (strcmp(argv[1], kinds[i].name) == 0) round = kinds[i].round;
    MPI_Init_thread(&argc, &argv, round == multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!round || rounds < 1 || threads > kMostThreads) {
        if (me == 0) fprintf(stderr, "usage: hybrid allreduce|halo|put|multiple|pool|matrix ROUNDS, with OMP_NUM_THREADS up to %d\n", kMostThreads);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
    count = kDoubles / ranks;
    data = malloc((size_t)count * sizeof *data);
    for (long i = 0; i < count; ++i) data[i] = (double)i;
    fill_matrices();
    double *exposed;
    MPI_Win_allocate(sizeof *exposed, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    pthread_t pool_threads[kMostThreads];
    pool_size = round == pool ? threads : 0;
    for (long i = 0; i < pool_size; ++i) pthread_create(&pool_threads[i], NULL, worker, (void *)i);
    volatile double sink = round();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) sink = round();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) printf("hybrid ms=%.3f\n", (MPI_Wtime() - begin) * 1e3);
    (void)sink;
    pthread_mutex_lock(&mutex);
    turn = -1;
    pthread_cond_broadcast(&begun);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < pool_size; ++i) pthread_join(pool_threads[i], NULL);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
