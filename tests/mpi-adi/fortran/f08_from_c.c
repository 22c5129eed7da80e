/* f08_from_c.c: what a C function sees of a Fortran program's handles, attributes and statuses. Source: MPI-5.0, 19.3. */
#include <mpi.h>
#include <string.h>

int c_looks_at(MPI_Fint comm, MPI_Fint datatype, MPI_Fint keyval, MPI_F08_status *status) {
    int result, size, flag = 0;
    MPI_Status mine;
    MPI_Fint old[MPI_F_STATUS_SIZE];
    MPI_Aint *value;
    MPI_Comm twin = MPI_Comm_f2c(comm);
    if (MPI_Comm_compare(twin, MPI_COMM_SELF, &result) != MPI_SUCCESS || result != MPI_CONGRUENT) return 1;
    if (MPI_Comm_c2f(twin) != comm || MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) != MPI_COMM_WORLD) return 2;
    if (MPI_Type_size(MPI_Type_f2c(datatype), &size) != MPI_SUCCESS || size != 8) return 3;
    if (MPI_Comm_get_attr(twin, keyval, &value, &flag) != MPI_SUCCESS || !flag || *value != ((MPI_Aint)1 << 40) + 8) return 4;
    if (MPI_Status_f082c(status, &mine) != MPI_SUCCESS || mine.MPI_SOURCE != 11 || mine.MPI_TAG != 12) return 5;
    mine.MPI_ERROR = 13;
    if (MPI_Status_c2f08(&mine, status) != MPI_SUCCESS || MPI_Status_c2f(&mine, old) != MPI_SUCCESS) return 6;
    if (old[MPI_F_SOURCE] != 11 || old[MPI_F_TAG] != 12 || old[MPI_F_ERROR] != 13) return 7;
    if (MPI_F_STATUS_IGNORE == 0 || MPI_F_STATUSES_IGNORE == MPI_F_STATUS_IGNORE || MPI_F08_STATUS_IGNORE == 0) return 8;
    return 0;
}

/* Stand-ins, as tools have them: they say by their code whether commands and arguments arrive as C has them. */
int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *intercomm,
                   int array_of_errcodes[]) {
    *intercomm = comm;
    if (strcmp(command, "a command") != 0 || maxprocs != 2 || info != MPI_INFO_NULL || root != 0) return MPI_ERR_ARG;
    if (argv == MPI_ARGV_NULL) return array_of_errcodes == MPI_ERRCODES_IGNORE ? MPI_SUCCESS : MPI_ERR_SPAWN;
    if (strcmp(argv[0], "hello world") != 0 || strcmp(argv[1], "two") != 0 || argv[2]) return MPI_ERR_ARG;
    array_of_errcodes[0] = array_of_errcodes[1] = 7;
    return MPI_SUCCESS;
}
int MPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[], const int array_of_maxprocs[],
                            const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]) {
    *intercomm = comm;
    if (count != 2 || strcmp(array_of_commands[0], "one") != 0 || strcmp(array_of_commands[1], "the other") != 0) return MPI_ERR_ARG;
    if (array_of_maxprocs[1] != 4 || array_of_info[1] != MPI_INFO_NULL || root != 0) return MPI_ERR_ARG;
    if (array_of_argv == MPI_ARGVS_NULL) return array_of_errcodes == MPI_ERRCODES_IGNORE ? MPI_SUCCESS : MPI_ERR_SPAWN;
    if (strcmp(array_of_argv[0][0], "a") != 0 || strcmp(array_of_argv[0][1], "b") != 0 || array_of_argv[0][2]) return MPI_ERR_ARG;
    return strcmp(array_of_argv[1][0], "c") == 0 && !array_of_argv[1][1] ? MPI_SUCCESS : MPI_ERR_ARG;
}
