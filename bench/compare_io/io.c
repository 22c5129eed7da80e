/* io.c DIRECTORY MEBIBYTES REPEATS [ROW ...]: times accesses to files in a directory; rank 0 prints one line per row.
 *
 * Each row is measured on a file of its own: once to warm up, then REPEATS times, each from a barrier to the slowest rank's end; the
 * median counts. MEBIBYTES is what a rank moves in the rows of much data. Written to MPI-2.2, so that any library compiles it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, ranks, repeats;
static size_t much; /* bytes */
static const char *directory;
static char name[1024];
static char *memory;
static char **wanted;
static int wanted_count;

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int is_wanted(const char *row) {
    if (wanted_count == 0) return 1;
    for (int i = 0; i < wanted_count; ++i)
        if (strncmp(row, wanted[i], strlen(wanted[i])) == 0) return 1;
    return 0;
}

static void report(const char *row, size_t size, const char *unit, double value) {
    if (me == 0) printf("compare bench=%s size=%zu unit=%s value=%.3f\n", row, size, unit, value), fflush(stdout);
}

static MPI_File open_file(MPI_Comm comm) {
    MPI_File file;
    int error = MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (error != MPI_SUCCESS) {
        fprintf(stderr, "%s cannot be opened\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return file;
}
static void delete_file(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
}

typedef void body_function(MPI_File file, void *state);

/* Microseconds of the slowest rank: the median, and the first time of all. */
static double time_of(body_function *body, MPI_File file, void *state, double *first) {
    double times[64], one, slowest;
    for (int i = -1; i < repeats; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        one = MPI_Wtime();
        body(file, state);
        one = (MPI_Wtime() - one) * 1e6;
        MPI_Allreduce(&one, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (i < 0) {
            if (first) *first = slowest;
        } else {
            times[i] = slowest;
        }
    }
    qsort(times, (size_t)repeats, sizeof times[0], by_value);
    return times[repeats / 2];
}

struct transfer {
    MPI_Offset at;
    int count;
    MPI_Datatype type;
    int times;
};
static void write_at(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) MPI_File_write_at(file, what->at, memory, what->count, what->type, MPI_STATUS_IGNORE);
}
static void read_at(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) MPI_File_read_at(file, what->at, memory, what->count, what->type, MPI_STATUS_IGNORE);
}
static void write_at_all(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) MPI_File_write_at_all(file, what->at, memory, what->count, what->type, MPI_STATUS_IGNORE);
}
static void read_at_all(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) MPI_File_read_at_all(file, what->at, memory, what->count, what->type, MPI_STATUS_IGNORE);
}
static void write_shared(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) MPI_File_write_shared(file, memory, what->count, what->type, MPI_STATUS_IGNORE);
}
static void write_ordered(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) MPI_File_write_ordered(file, memory, what->count, what->type, MPI_STATUS_IGNORE);
}
static void viewed_write(MPI_File file, void *state) {
    const struct transfer *what = state;
    for (int i = 0; i < what->times; ++i) {
        MPI_File_set_view(file, 1024 * me, MPI_BYTE, MPI_BYTE, (char *)"native", MPI_INFO_NULL);
        MPI_File_write_at_all(file, 0, memory, what->count, what->type, MPI_STATUS_IGNORE);
    }
}
static void open_and_close(MPI_File unused, void *state) {
    const struct transfer *what = state;
    (void)unused;
    for (int i = 0; i < what->times; ++i) {
        MPI_File file = open_file(MPI_COMM_WORLD);
        MPI_File_close(&file);
    }
}

static void contiguous(void) {
    const size_t sizes[] = {1, 64 << 10, much};
    for (int i = 0; i < 3; ++i) {
        const int times = sizes[i] < (1 << 20) ? 100 : 1;
        struct transfer what = {(MPI_Offset)(sizes[i] * (size_t)me), (int)sizes[i], MPI_BYTE, times};
        MPI_File file;
        if (!is_wanted("contiguous")) return;
        file = open_file(MPI_COMM_WORLD);
        report("contiguous_write", sizes[i], "us", time_of(write_at, file, &what, NULL) / times);
        report("contiguous_read", sizes[i], "us", time_of(read_at, file, &what, NULL) / times);
        report("contiguous_write_all", sizes[i], "us", time_of(write_at_all, file, &what, NULL) / times);
        report("contiguous_read_all", sizes[i], "us", time_of(read_at_all, file, &what, NULL) / times);
        MPI_File_close(&file);
        delete_file();
    }
}

/* An array dealt out in its last dimension, so that a rank's runs are `run` bytes long. */
static void subarrays(int dimensions, size_t run) {
    const size_t part = run < 64 ? much / 16 : much; /* some take a microsecond for every run */
    int sizes[4], parts[4], starts[4] = {0, 0, 0, 0};
    MPI_Datatype type;
    MPI_File file;
    char row[64];
    double first;
    struct transfer what = {0, (int)(part / 8), MPI_DOUBLE, 1};
    snprintf(row, sizeof row, "subarray%d_", dimensions);
    if (!is_wanted(row)) return;
    size_t rows = part / run;
    for (int d = 0; d + 1 < dimensions; ++d) {
        size_t length = 1;
        const int left = dimensions - 1 - d;
        while (left > 1 && length * 2 * length * (left > 2 ? 2 * length : 1) <= rows) length *= 2;
        if (left == 1) length = rows;
        sizes[d] = parts[d] = (int)length;
        rows /= length;
    }
    parts[dimensions - 1] = (int)(run / 8);
    sizes[dimensions - 1] = parts[dimensions - 1] * ranks;
    starts[dimensions - 1] = parts[dimensions - 1] * me;
    what.count = 1;
    for (int d = 0; d < dimensions; ++d) what.count *= parts[d];
    MPI_Type_create_subarray(dimensions, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    file = open_file(MPI_COMM_WORLD);
    MPI_File_set_view(file, 0, MPI_DOUBLE, type, (char *)"native", MPI_INFO_NULL);
    snprintf(row, sizeof row, "subarray%d_write", dimensions);
    report(row, run, "us", time_of(write_at_all, file, &what, &first));
    snprintf(row, sizeof row, "subarray%d_first", dimensions);
    report(row, run, "us", first);
    snprintf(row, sizeof row, "subarray%d_read", dimensions);
    report(row, run, "us", time_of(read_at_all, file, &what, NULL));
    MPI_File_close(&file);
    MPI_Type_free(&type);
    delete_file();
}

/* Every second element in memory, and an element of every rank by turns in the file. */
static void gaps(void) {
    const int count = (int)(much / 8 / 16);
    MPI_Datatype in_memory, in_file, resized;
    MPI_File file;
    struct transfer what = {0, 1, MPI_BYTE, 1};
    if (!is_wanted("gaps")) return;
    MPI_Type_vector(count, 1, 2, MPI_DOUBLE, &in_memory);
    MPI_Type_commit(&in_memory);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 8 * (MPI_Aint)(2 * ranks), &resized);
    MPI_Type_contiguous(count, resized, &in_file);
    MPI_Type_commit(&in_file);
    what.type = in_memory;
    file = open_file(MPI_COMM_WORLD);
    MPI_File_set_view(file, 16 * me, MPI_DOUBLE, in_file, (char *)"native", MPI_INFO_NULL);
    report("gaps_write_all", (size_t)count * 8, "us", time_of(write_at_all, file, &what, NULL));
    report("gaps_read_all", (size_t)count * 8, "us", time_of(read_at_all, file, &what, NULL));
    MPI_File_close(&file);
    MPI_Type_free(&in_memory);
    MPI_Type_free(&in_file);
    MPI_Type_free(&resized);
    delete_file();
}

static void strided(void) {
    const int count = (int)(much / 4 / 64);
    MPI_Datatype type;
    MPI_File file;
    struct transfer what = {0, count * 64, MPI_BYTE, 1};
    if (!is_wanted("strided")) return;
    MPI_Type_vector(count, 64, 128, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    file = open_file(MPI_COMM_WORLD);
    MPI_File_set_view(file, (MPI_Offset)me * count * 128, MPI_BYTE, type, (char *)"native", MPI_INFO_NULL);
    report("strided_write", (size_t)count * 64, "us", time_of(write_at, file, &what, NULL));
    report("strided_read", (size_t)count * 64, "us", time_of(read_at, file, &what, NULL));
    MPI_File_close(&file);
    MPI_Type_free(&type);
    delete_file();
}

static void pointers(void) {
    const int times = 200;
    struct transfer what = {0, 64, MPI_BYTE, times};
    if (is_wanted("shared")) {
        MPI_File file = open_file(MPI_COMM_WORLD);
        report("shared_write", 64, "us", time_of(write_shared, file, &what, NULL) / times);
        MPI_File_close(&file);
        delete_file();
    }
    if (is_wanted("ordered")) {
        MPI_File file = open_file(MPI_COMM_WORLD);
        report("ordered_write", 64, "us", time_of(write_ordered, file, &what, NULL) / times);
        MPI_File_close(&file);
        delete_file();
    }
}

static void small(void) {
    const int times = 50;
    struct transfer what = {0, 1024, MPI_BYTE, times};
    if (is_wanted("viewed")) {
        MPI_File file = open_file(MPI_COMM_WORLD);
        report("viewed_write_all", 1024, "us", time_of(viewed_write, file, &what, NULL) / times);
        MPI_File_close(&file);
        delete_file();
    }
    if (is_wanted("open")) {
        report("open_close", 0, "us", time_of(open_and_close, MPI_FILE_NULL, &what, NULL) / times);
        delete_file();
    }
}

static volatile double sink;
static void work(double seconds) {
    const double end = MPI_Wtime() + seconds;
    double x = 1;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
}

/* How much of a nonblocking write's time work of the same length hides, in percent, and how long the call takes. By one rank, so that
 * a processor is free. */
static void beside(void) {
    double blocking, begun = 0, together[64], calls[64];
    MPI_File file;
    struct transfer what = {0, (int)much, MPI_BYTE, 1};
    if (!is_wanted("beside")) return;
    if (me == 0) {
        file = open_file(MPI_COMM_SELF);
        write_at(file, &what);
        blocking = MPI_Wtime();
        for (int i = 0; i < repeats; ++i) write_at(file, &what);
        blocking = (MPI_Wtime() - blocking) / repeats;
        for (int i = 0; i < repeats; ++i) {
            MPI_Request request;
            const double begin = MPI_Wtime();
            MPI_File_iwrite_at(file, 0, memory, (int)much, MPI_BYTE, &request);
            begun = MPI_Wtime();
            work(blocking);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            together[i] = MPI_Wtime() - begin;
            calls[i] = begun - begin;
        }
        MPI_File_close(&file);
        qsort(together, (size_t)repeats, sizeof together[0], by_value);
        qsort(calls, (size_t)repeats, sizeof calls[0], by_value);
        report("beside_call", much, "us", calls[repeats / 2] * 1e6);
        double hidden = 100 * (2 * blocking - together[repeats / 2]) / blocking;
        report("beside_hidden", much, "%", hidden < 0 ? 0 : hidden > 100 ? 100 : hidden);
        unlink(name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One process's plain writes, of as much as a rank's row of 64 bytes and as all ranks' together: what the file system gives. */
static void plain(void) {
    double times[64];
    if (me != 0) return;
    if (is_wanted("plain_small")) {
        FILE *file = fopen(name, "wb");
        const double begin = MPI_Wtime();
        for (int i = 0; file && i < 1000; ++i)
            if (write(fileno(file), memory, 64) < 0) break;
        report("plain_small", 64, "us", (MPI_Wtime() - begin) * 1e6 / 1000);
        if (file) fclose(file);
        unlink(name);
    }
    if (!is_wanted("plain_write")) return;
    for (int i = 0; i < repeats; ++i) {
        FILE *file = fopen(name, "wb");
        const double begin = MPI_Wtime();
        for (int r = 0; file && r < ranks; ++r)
            if (write(fileno(file), memory, much) < 0) break;
        times[i] = (MPI_Wtime() - begin) * 1e6;
        if (file) fclose(file);
        unlink(name);
    }
    qsort(times, (size_t)repeats, sizeof times[0], by_value);
    report("plain_write", much * (size_t)ranks, "us", times[repeats / 2]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 4 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1 || atoi(argv[3]) > 64) {
        if (me == 0) fprintf(stderr, "usage: %s DIRECTORY MEBIBYTES REPEATS [ROW ...]\n", argv[0]);
        MPI_Finalize();
        return 2;
    }
    directory = argv[1];
    much = (size_t)atoi(argv[2]) << 20;
    repeats = atoi(argv[3]);
    wanted = argv + 4;
    wanted_count = argc - 4;
    int process = (int)getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "%s/compare-io-%d", directory, process);
    memory = malloc(much + 64);
    memset(memory, me + 1, much + 64);
    plain();
    contiguous();
    subarrays(3, 8);
    subarrays(3, 1024);
    subarrays(4, 64);
    subarrays(4, 65536);
    gaps();
    strided();
    pointers();
    small();
    beside();
    free(memory);
    MPI_Finalize();
    return 0;
}
