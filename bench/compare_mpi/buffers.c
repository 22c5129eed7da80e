/* Half of a round trip between ranks 0 and 1 by buffers such as programs have: each time another place of a pool that no cache holds,
 * places that are not aligned, huge pages and small ones, a file. */
#include "timed.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kTag = 1, kLargest = 1 << 20, kPool = 256 << 20, kHugePage = 2 << 20, kChecks = 4 };

static char *pool;
static long places = 1, place; /* `places` is a power of two */
static int bytes;

/* The place of the next message; all come before one comes again, and no two neighbours in turn. */
static char *next(void) {
    place = (place + 2654435769L) & (places - 1);
    return pool + place * bytes;
}

static void round_trips(long count) {
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            MPI_Send(next(), bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
            MPI_Recv(next(), bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (compare_me == 1) {
            MPI_Recv(next(), bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(next(), bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
        }
    }
}

static char byte_of(int i, int message) { return (char)(i * 31 + (i >> 8) + message); }

static void send_checked(int message) {
    char *const at = next();
    for (int i = 0; i < bytes; ++i) at[i] = byte_of(i, message);
    MPI_Send(at, bytes, MPI_BYTE, 1 - compare_me, kTag, MPI_COMM_WORLD);
}

static void receive_checked(const char *bench, int message) {
    char *const at = next();
    int right = 0;
    MPI_Recv(at, bytes, MPI_BYTE, 1 - compare_me, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (right < bytes && at[right] == byte_of(right, message)) ++right;
    require(right == bytes, bench, bytes);
}

/* Messages take one place after another of `room` bytes there; without room, always the same. */
static void measure(const char *bench, char *begin, long room) {
    static const int sizes[] = {1024, 65536, kLargest};
    pool = begin;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        bytes = sizes[i];
        places = room > bytes ? room / bytes : 1;
        place = 0;
        for (int message = 0; message < 2 * kChecks && compare_me < 2; ++message) {
            if (message % 2 == compare_me) send_checked(message);
            else receive_checked(bench, message);
        }
        point(bench, bytes, "us", 1e6 / 2, 0, round_trips);
    }
}

static void fail(const char *what) {
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* `size` bytes that begin where a huge page can, all touched; of a file, if there is one. A kernel that has no huge pages refuses the advice. */
static char *mapped(size_t size, int advice, int file) {
    const size_t whole = size + kHugePage;
    char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    if (at == MAP_FAILED) fail("mmap");
    at += (kHugePage - (uintptr_t)at % kHugePage) % kHugePage;
    (void)madvise(at, size, advice);
    memset(at, compare_me, size);
    return at;
}

/* Nobody else can open it, and it is gone when the program is. */
static int temporary_file(size_t size) {
    char name[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/compare.XXXXXX", folder && *folder ? folder : "/tmp");
    const int file = mkstemp(name);
    if (file < 0) fail(name);
    unlink(name);
    if (ftruncate(file, (off_t)(size + kHugePage)) != 0) fail("ftruncate");
    return file;
}

int main(int argc, char **argv) {
    start(argc, argv);
    measure("cold", mapped(kPool, MADV_NORMAL, -1), kPool);
    measure("off-by-1", mapped(kLargest + 64, MADV_NORMAL, -1) + 1, 0);
    measure("off-by-8", mapped(kLargest + 64, MADV_NORMAL, -1) + 8, 0);
    measure("huge-pages", mapped(kHugePage, MADV_HUGEPAGE, -1), 0);
    measure("small-pages", mapped(kHugePage, MADV_NOHUGEPAGE, -1), 0);
    measure("file-mapped", mapped(kLargest, MADV_NORMAL, temporary_file(kLargest)), 0);
    MPI_Finalize();
    return 0;
}
