/* jobs.c: two jobs that were started apart meet by a port, whose name one leaves in a file: jobs accept|connect FILE [ROUNDS].
 * They come together and part several times; then one more time they are together at MPI_Finalize, which is collective over both. */
#include <sched.h>

#include "talk.h"

static void read_name(const char* file, char* name) {
    FILE* from = NULL;
    while ((from = fopen(file, "r")) == NULL) sched_yield(); /* until the other job has got so far */
    EXPECT(fgets(name, MPI_MAX_PORT_NAME, from) != NULL);
    fclose(from);
}

int main(int argc, char** argv) {
    char name[MPI_MAX_PORT_NAME] = "";
    const int accepts = argc > 2 && strcmp(argv[1], "accept") == 0, rounds = argc > 3 ? atoi(argv[3]) : 5;
    MPI_Comm inter, again;
    if (argc < 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == size - 1 && accepts) {
        char fresh[1024];
        snprintf(fresh, sizeof fresh, "%s.new", argv[2]);
        EXPECT(MPI_Open_port(MPI_INFO_NULL, name) == MPI_SUCCESS);
        FILE* to = fopen(fresh, "w");
        fputs(name, to);
        fclose(to);
        rename(fresh, argv[2]);
    } else if (rank == size - 1) {
        read_name(argv[2], name);
    }
    for (int round = 0; round <= rounds; ++round) {
        const int error = accepts ? MPI_Comm_accept(name, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter)
                                  : MPI_Comm_connect(name, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter);
        EXPECT(error == MPI_SUCCESS);
        if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        talk(inter, accepts);
        if (round == rounds) break;
        EXPECT(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
    }
    /* Its processes stay connected although the communicator is freed, and by the copy. */
    EXPECT(MPI_Comm_dup(inter, &again) == MPI_SUCCESS);
    EXPECT(MPI_Comm_free(&inter) == MPI_SUCCESS);
    EXPECT(MPI_Barrier(again) == MPI_SUCCESS);
    if (rank == size - 1 && accepts) {
        EXPECT(MPI_Close_port(name) == MPI_SUCCESS);
        EXPECT(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) != MPI_SUCCESS);
    }
    MPI_Finalize();
    if (failures == 0 && rank == 0) printf("%s\n", accepts ? "accepted" : "connected");
    return failures != 0;
}
