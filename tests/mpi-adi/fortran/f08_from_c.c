/* f08_from_c.c: what a C function sees of a Fortran program's handles, attributes and statuses. Source: MPI-5.0, 19.3. */
#include <mpi.h>

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
