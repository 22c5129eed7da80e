/* endings.c HOW FILE: accesses that fail: a full disk, a limit, errors of the system, a rank that dies. Exit status 0: every rank was
 * told, with the class that fits, and nobody hangs. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int me, ranks, wrong;

static void expect(const char *what, int code, int one, int other) {
    int error_class = code;
    MPI_Error_class(code, &error_class);
    if (error_class == one || error_class == other) return;
    fprintf(stderr, "rank %d: %s has class %d, not %d\n", me, what, error_class, one);
    wrong = 1;
}

/* A view in which the ranks take turns with pieces of `piece` bytes. */
static MPI_Datatype take_turns(MPI_File file, int piece) {
    MPI_Datatype block, tile;
    MPI_Type_contiguous(piece, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)piece * ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset)piece * me, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    MPI_Type_free(&block);
    return tile;
}

/* Every way to write `bytes` a rank must say `one` or `other`. */
static void write_all_ways(MPI_File file, char *data, int bytes, int one, int other) {
    MPI_Request request;
    MPI_Datatype tile;
    expect("write_at", MPI_File_write_at(file, (MPI_Offset)me * bytes, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), one, other);
    MPI_Barrier(MPI_COMM_WORLD);
    expect("iwrite_at", MPI_File_iwrite_at(file, (MPI_Offset)me * bytes, data, bytes, MPI_BYTE, &request), MPI_SUCCESS, MPI_SUCCESS);
    expect("its wait", MPI_Wait(&request, MPI_STATUS_IGNORE), one, other);
    MPI_Barrier(MPI_COMM_WORLD);
    tile = take_turns(file, 64);
    expect("write_at_all", MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), one, other);
    MPI_Barrier(MPI_COMM_WORLD);
    expect("strided write_at", MPI_File_write_at(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), one, other);
    MPI_Type_free(&tile);
}

/* As libraries do that end with MPI: what hangs on MPI_COMM_SELF is deleted before anything else ends. */
static int end_library(MPI_Comm comm, int keyval, void *attribute, void *state) {
    MPI_File *file = attribute;
    int ended = 1;
    (void)comm, (void)keyval, (void)state;
    MPI_Finalized(&ended);
    expect("a file's close within MPI_Finalize", ended ? MPI_ERR_OTHER : MPI_File_close(file), MPI_SUCCESS, MPI_SUCCESS);
    expect("a barrier within MPI_Finalize", MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS, MPI_SUCCESS);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    MPI_File file;
    MPI_Info info;
    const int bytes = 4 << 20;
    char *data = calloc(1, (size_t)bytes);
    const char *how = argc > 2 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(how, "limit") == 0) { /* beyond it the kernel would end the process by a signal */
        const struct rlimit limit = {1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "cb_buffer_size", "262144");
    if (MPI_File_open(MPI_COMM_WORLD, argc > 2 ? argv[2] : "", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS) {
        fprintf(stderr, "rank %d: the file cannot be opened\n", me);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Info_free(&info);
    if (strcmp(how, "full") == 0) {
        write_all_ways(file, data, bytes, MPI_ERR_NO_SPACE, MPI_ERR_NO_SPACE);
        expect("preallocate", MPI_File_preallocate(file, (MPI_Offset)bytes * ranks), MPI_ERR_NO_SPACE, MPI_ERR_NO_SPACE);
    } else if (strcmp(how, "limit") == 0) {
        write_all_ways(file, data, bytes, MPI_ERR_IO, MPI_ERR_IO);
        expect("preallocate", MPI_File_preallocate(file, (MPI_Offset)bytes * ranks), MPI_ERR_IO, MPI_ERR_IO);
        expect("set_size", MPI_File_set_size(file, (MPI_Offset)bytes * ranks), MPI_ERR_IO, MPI_ERR_IO);
    } else if (strcmp(how, "error") == 0) {
        write_all_ways(file, data, bytes, MPI_ERR_IO, MPI_ERR_IO);
        expect("read_at_all", MPI_File_read_at_all(file, 0, data, 64, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, MPI_ERR_IO);
        expect("sync", MPI_File_sync(file), MPI_ERR_IO, MPI_ERR_IO);
    } else if (strcmp(how, "attribute") == 0) {
        int keyval;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_library, &keyval, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &file);
        free(data);
        wrong |= MPI_Finalize() != MPI_SUCCESS;
        return wrong | (file != MPI_FILE_NULL);
    } else if (strncmp(how, "kill", 4) == 0) {
        const int victim = how[4] - '0';
        int code = MPI_SUCCESS;
        take_turns(file, 64);
        for (int i = 0; i < 100000 && code == MPI_SUCCESS; ++i) {
            if (me == victim && i == 3) raise(SIGKILL);
            code = MPI_File_write_at_all(file, 0, data, bytes / 16, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        expect("write_at_all", code, MPI_ERR_PROC_ABORTED, MPI_ERR_PROC_ABORTED);
        expect("read_at_all", MPI_File_read_at_all(file, 0, data, 64, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED,
               MPI_ERR_PROC_ABORTED);
        expect("write_at", MPI_File_write_at(file, 0, data, 64, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS, MPI_SUCCESS);
        expect("close", MPI_File_close(&file), MPI_ERR_PROC_ABORTED, MPI_ERR_PROC_ABORTED);
        free(data);
        MPI_Finalize();
        return wrong;
    } else {
        wrong = 1;
    }
    MPI_File_close(&file);
    free(data);
    MPI_Finalize();
    return wrong;
}
