/* A message whose partitions are computed one after the other, each for as long as it travels: each leaves when it is computed (new), or all
 * do as one message behind the last (plain). "computing" is that alone, "alone" the message without it: a library that lets each partition
 * leave needs no more than the computing and one partition. Rank 0 sends to rank 1; other ranks do nothing. */
#include "in_turn.h"

enum { kPlain, kNew, kComputing, kForms };

static long bytes, parts, round_now;
static long loops; /* of the work for a partition */
static unsigned char *data;
static MPI_Request partitions, whole;
static volatile double sink;
static int is_wrong;

static void work(long rounds) {
    double x = sink;
    for (long i = 0; i < rounds; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
}
static void compute_part(long part) {
    const size_t length = (size_t)(bytes / parts);
    work(loops);
    memset(data + (size_t)part * length, (int)((round_now + part) & 0x7f), length);
}
/* The ends of each partition, since the time counts. */
static void check(void) {
    const long length = bytes / parts;
    for (long part = 0; part < parts; ++part) {
        const unsigned char right = (round_now + part) & 0x7f;
        is_wrong |= data[part * length] != right || data[(part + 1) * length - 1] != right;
    }
}
static void send_whole(void) {
    if (me > 1) return;
    MPI_Start(&whole);
    MPI_Wait(&whole, MPI_STATUS_IGNORE);
}

static void plain(void) {
    for (long part = 0; part < parts && me == 0; ++part) compute_part(part);
    send_whole();
}
static void partitioned(void) {
    ++round_now;
    if (me > 1) return;
    MPI_Start(&partitions);
    for (long part = 0; part < parts && me == 0; ++part) {
        compute_part(part);
        MPI_Pready((int)part, partitions);
    }
    MPI_Wait(&partitions, MPI_STATUS_IGNORE);
    if (me == 1) check();
}
static void computing(void) {
    for (long part = 0; part < parts && me == 0; ++part) compute_part(part);
}

int main(int argc, char **argv) {
    Option options[] = {{"bytes", "of the message", 1 << 20, 1, 1 << 30}, {"parts", "of it", 16, 1, 10000}, {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "a message whose partitions leave as they are computed.", options, 3);
    parts = options[1].value, bytes = options[0].value / parts * parts;
    if (ranks < 2 || bytes == 0) {
        fprintf(stderr, "partition_by_partition: needs 2 ranks and a byte for each partition; start it by ptlrun -n 2\n");
        MPI_Finalize();
        return 2;
    }
    data = app_memory((size_t)bytes);
    const int part = (int)(bytes / parts);
    if (me == 0) {
        MPI_Send_init(data, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &whole);
        MPI_Psend_init(data, (int)parts, part, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &partitions);
    } else if (me == 1) {
        MPI_Recv_init(data, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &whole);
        MPI_Precv_init(data, (int)parts, part, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &partitions);
    }
    Form alone[] = {{"alone", send_whole, 0}}, forms[] = {{"plain", plain, 0}, {"new", partitioned, 0}, {"computing", computing, 0}};
    in_turn(alone, 1, options[2].value);
    const double begin = MPI_Wtime();
    work(10000000);
    loops = (long)(alone[0].seconds / (double)parts / (MPI_Wtime() - begin) * 1e7);
    MPI_Bcast(&loops, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    in_turn(forms, kForms, options[2].value);
    char more[128];
    snprintf(more, sizeof more, " alone_us=%.2f beyond_computing=%.3f", alone[0].seconds * 1e6,
             (forms[kNew].seconds - forms[kComputing].seconds) / alone[0].seconds * (double)parts);
    if (me < 2) {
        MPI_Request_free(&partitions);
        MPI_Request_free(&whole);
    }
    free(data);
    return in_turn_verdict(!is_wrong, bytes, forms, kForms, 1, more);
}
