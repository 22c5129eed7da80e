/* sessions_again.c: sessions come and go many times, before, beside and after MPI_Init and MPI_Finalize, on every rank for itself.
 * sessions_again only: without MPI_Init. Source: MPI-5.0, 11.3. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(holds)                                                            \
    do {                                                                         \
        if (!(holds)) {                                                          \
            fprintf(stderr, "sessions_again.c:%d: not so: %s\n", __LINE__, #holds); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

static MPI_Session begin(void) {
    MPI_Session session;
    EXPECT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    return session;
}

/* Everybody's numbers are added, and one goes around. */
static void use(MPI_Session session, const char *set) {
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, sum = -1, got = -1;
    EXPECT(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    EXPECT(MPI_Comm_create_from_group(group, "sessions_again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    EXPECT(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size * (size - 1) / 2);
    EXPECT(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS);
    EXPECT(got == (rank + size - 1) % size);
    EXPECT(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

static void end(MPI_Session session) { EXPECT(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL); }

static void several(int times) {
    for (int i = 0; i < times; ++i) {
        MPI_Session one = begin(), other = begin();
        use(one, "mpi://WORLD");
        end(one);
        use(other, "mpi://SELF");
        end(other);
    }
}

int main(int argc, char **argv) {
    int flag, rank = 0;
    several(3);
    if (argc > 1 && !strcmp(argv[1], "only")) return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    several(2);
    MPI_Session across = begin();
    MPI_Finalize();
    EXPECT(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    use(across, "mpi://WORLD");
    end(across);
    several(3);
    for (int i = 0; i < rank; ++i) { /* which the others need not know of */
        MPI_Session own = begin();
        use(own, "mpi://SELF");
        end(own);
    }
    EXPECT(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    return 0;
}
