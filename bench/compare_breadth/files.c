/* Files, on the file system of /tmp. */
#include <stdio.h>
#include <unistd.h>

#include "kinds.h"

static MPI_File file;
static char name[64];

/* One file of all ranks, named after the process of rank 0. */
static void name_file(void) {
    long number = (long)getpid();
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/breadth.%ld", number);
}
static void open_it(void) {
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
}
static void open_file(void) {
    name_file();
    open_it();
    MPI_File_set_size(file, 1 << 20);
}
static void close_file(void) { MPI_File_close(&file); }
static void open_and_close(void) {
    open_it();
    close_file();
}
static MPI_Offset own_place(void) { return (MPI_Offset)me * kCount * (MPI_Offset)sizeof *sent; }
static void write_at(void) { MPI_File_write_at(file, own_place(), sent, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE); }
static void read_at(void) { MPI_File_read_at(file, own_place(), received, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE); }
static void write_at_all(void) { MPI_File_write_at_all(file, own_place(), sent, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE); }
static void read_at_all(void) { MPI_File_read_at_all(file, own_place(), received, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE); }
static void write_shared(void) { MPI_File_write_shared(file, sent, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE); }
static void set_view(void) { MPI_File_set_view(file, own_place(), MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL); }
static void iwrite_at(void) {
    MPI_Request request;
    MPI_File_iwrite_at(file, own_place(), sent, kCount, MPI_DOUBLE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

const struct Kind files[] = {
    {"file-open-close", open_and_close, name_file, NULL},
    {"file-write-at", write_at, open_file, close_file},
    {"file-read-at", read_at, open_file, close_file},
    {"file-write-at-all", write_at_all, open_file, close_file},
    {"file-read-at-all", read_at_all, open_file, close_file},
    {"file-write-shared", write_shared, open_file, close_file},
    {"file-set-view", set_view, open_file, close_file},
    {"file-iwrite-at", iwrite_at, open_file, close_file},
    {NULL, NULL, NULL, NULL},
};
