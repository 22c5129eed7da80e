/* probes.c: programs that look for the calls of user-level failure mitigation in one of the ways there are, with mpi.h alone, find them; and
 * where they look in none, what they take instead ends as well.
 *
 * Bindings for other languages look by weak references (a null address: there is no such call), by the macros of MPICH's and of Open MPI's
 * headers, and have the standard's nonblocking collectives to fall back on, with what these need kept as an attribute whose delete function
 * frees its own key. usage: probes [threads]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma weak MPIX_Comm_revoke
#pragma weak MPIX_Comm_is_revoked
#pragma weak MPIX_Comm_get_failed
#pragma weak MPIX_Comm_ack_failed
#pragma weak MPIX_Comm_agree
#pragma weak MPIX_Comm_iagree
#pragma weak MPIX_Comm_shrink
#pragma weak MPIX_Comm_ishrink
#pragma weak MPIX_Comm_nobody_has
int MPIX_Comm_nobody_has(MPI_Comm comm);

#if !defined(MPIX_ERR_REVOKED) || !defined(MPIX_ERR_PROC_FAILED) || !defined(MPIX_ERR_PROC_FAILED_PENDING)
#error "mpi.h does not name the classes of errors"
#endif
#if !defined(OMPI_HAVE_MPI_EXT_FTMPI) || !OMPI_HAVE_MPI_EXT_FTMPI
#error "mpi.h does not say that it has the extension of Open MPI's"
#endif

static int rank, size, failures, freed;

static void expect(int holds, const char *what, int line) {
    if (holds) return;
    ++failures;
    fprintf(stderr, "probes.c:%d: rank %d: not so: %s\n", line, rank, what);
}
#define EXPECT(holds) expect((holds) != 0, #holds, __LINE__)

static int free_both(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)extra;
    free(value);
    ++freed;
    return MPI_Comm_free_keyval(&key);
}

static void agree_by_a_sum_of_bits(MPI_Comm comm, int *flag, MPI_Request *request) {
    int key, *kept = malloc(sizeof *kept);
    *kept = *flag;
    EXPECT(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_both, &key, NULL) == MPI_SUCCESS);
    EXPECT(MPI_Comm_set_attr(comm, key, kept) == MPI_SUCCESS);
    EXPECT(MPI_Iallreduce(kept, flag, 1, MPI_INT, MPI_BAND, comm, request) == MPI_SUCCESS);
}

static void agree(MPI_Comm comm, int found) {
    for (int i = 0; i < 20; ++i) {
        int flag = i | 1 << (8 + rank);
        MPI_Request request;
        if (found) EXPECT(MPIX_Comm_iagree(comm, &flag, &request) == MPI_SUCCESS);
        else agree_by_a_sum_of_bits(comm, &flag, &request);
        EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        EXPECT(flag == (size == 1 ? (i | 1 << 8) : i));
    }
}

static void shrink(MPI_Comm comm, int found) {
    MPI_Comm smaller = MPI_COMM_NULL;
    MPI_Request request;
    int members = 0, relation = MPI_UNEQUAL;
    EXPECT((found ? MPIX_Comm_ishrink(comm, &smaller, &request) : MPI_Comm_idup(comm, &smaller, &request)) == MPI_SUCCESS);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(MPI_Comm_size(smaller, &members) == MPI_SUCCESS && members == size);
    EXPECT(MPI_Comm_compare(comm, smaller, &relation) == MPI_SUCCESS && relation == MPI_CONGRUENT);
    EXPECT(MPI_Barrier(smaller) == MPI_SUCCESS);
    EXPECT(MPI_Comm_free(&smaller) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(MPIX_Comm_revoke && MPIX_Comm_is_revoked && MPIX_Comm_get_failed && MPIX_Comm_ack_failed);
    EXPECT(MPIX_Comm_agree && MPIX_Comm_iagree && MPIX_Comm_shrink && MPIX_Comm_ishrink);
    EXPECT(!MPIX_Comm_nobody_has);
    for (int found = 0; found < 2; ++found) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        agree(comm, found);
        shrink(comm, found);
        EXPECT(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    EXPECT(freed == 20);
    MPI_Finalize();
    return failures != 0;
}
