/* One-sided access to a window of the other rank, in windows of 64 before each flush: microseconds an access. */
#include "timed.h"

#ifdef __has_include
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

enum { kWindow = 64, kLargest = 32768 };

static MPI_Win window;
static char *buffer;
static int bytes;

static void puts_(long count) {
    for (long i = 0; i < count && compare_me == 0; ++i) {
        for (int w = 0; w < kWindow; ++w) MPI_Put(buffer + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, 1, (MPI_Aint)w * bytes, bytes, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
}

static void gets_(long count) {
    for (long i = 0; i < count && compare_me == 0; ++i) {
        for (int w = 0; w < kWindow; ++w) MPI_Get(buffer + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, 1, (MPI_Aint)w * bytes, bytes, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
}

static void sums(long count) {
    for (long i = 0; i < count && compare_me == 0; ++i) {
        for (int w = 0; w < kWindow; ++w) MPI_Accumulate(buffer + (size_t)w * 8, 1, MPI_LONG, 1, (MPI_Aint)w * 8, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_flush(1, window);
    }
}

/* Puts of which the target is told each: by a notification, else by a number that is counted up behind a flush. */
static void notified_puts(long count) {
    for (long i = 0; i < count && compare_me == 0; ++i) {
        for (int w = 0; w < kWindow; ++w) {
#ifdef MPIX_HAVE_NOTIFY
            MPIX_Put_notify(buffer + (size_t)w * 8, 8, MPI_BYTE, 1, (MPI_Aint)w * 8, 8, MPI_BYTE, window, 0);
#else
            static const long one = 1;
            MPI_Put(buffer + (size_t)w * 8, 8, MPI_BYTE, 1, (MPI_Aint)w * 8, 8, MPI_BYTE, window);
            MPI_Win_flush(1, window);
            MPI_Accumulate(&one, 1, MPI_LONG, 1, (MPI_Aint)kWindow * 8, 1, MPI_LONG, MPI_SUM, window);
#endif
        }
        MPI_Win_flush(1, window);
    }
}

int main(int argc, char **argv) {
    const int sizes[] = {8, 1024, 8192, kLargest};
    char *base;
    start(argc, argv);
    buffer = buffer_of((size_t)kWindow * kLargest);
    MPI_Win_allocate((MPI_Aint)kWindow * kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, (size_t)kWindow * kLargest);
#ifdef MPIX_HAVE_NOTIFY
    MPIX_Win_create_notify(window, 1);
#endif
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        bytes = sizes[i];
        point("rma-put", bytes, "us", 1e6 / kWindow, 0, puts_);
        point("rma-get", bytes, "us", 1e6 / kWindow, 0, gets_);
    }
    point("rma-sum", 8, "us", 1e6 / kWindow, 0, sums);
    point("rma-notify", 8, "us", 1e6 / kWindow, 0, notified_puts);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    free(buffer);
    MPI_Finalize();
    return 0;
}
