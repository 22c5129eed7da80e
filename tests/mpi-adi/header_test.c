/* header_test.c: mpi.h as C99, C11 and C++, and the values that the MPI-5.0 ABI fixes (chapter 20). */
#include <mpi.h>

#define CHECK(name, condition) typedef char name[(condition) ? 1 : -1]
#define IS(handle, value) ((intptr_t)(handle) == (value))

CHECK(status_is_eight_ints, sizeof(MPI_Status) == 8 * sizeof(int));
CHECK(aint_is_a_pointer, sizeof(MPI_Aint) == sizeof(void *));
CHECK(counts_are_64_bits, sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);
CHECK(wildcards, MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3 && MPI_UNDEFINED == -32766);
CHECK(threads, MPI_THREAD_SINGLE == 0 && MPI_THREAD_FUNNELED == 1024 && MPI_THREAD_SERIALIZED == 2048 &&
      MPI_THREAD_MULTIPLE == 4096);
CHECK(classes, MPI_ERR_TRUNCATE == 15 && MPI_ERR_PENDING == 18 && MPI_ERR_IN_STATUS == 19 && MPI_ERR_ABI == 62 &&
      MPI_ERR_LASTCODE == 16383);

int abi_handles_are_right(void);
int abi_handles_are_right(void) {
    MPI_Status status = {0, 0, 0, {0, 0, 0, 0, 0}};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_LONG_LONG_INT, MPI_C_COMPLEX, MPI_2INT};
    return IS(MPI_COMM_NULL, 0x100) && IS(MPI_COMM_WORLD, 0x101) && IS(MPI_COMM_SELF, 0x102) &&
           IS(MPI_REQUEST_NULL, 0x180) && IS(MPI_ERRORS_ARE_FATAL, 0x141) && IS(MPI_ERRORS_RETURN, 0x143) &&
           IS(MPI_DATATYPE_NULL, 0x200) && IS(types[0], 0x243) && IS(types[1], 0x209) && IS(types[2], 0x20b) &&
           IS(types[3], 0x212) && IS(types[4], 0x22b) && IS(MPI_DOUBLE, 0x214) && IS(MPI_BYTE, 0x247) &&
           IS(MPI_SUM, 0x21) && IS(MPI_INFO_NULL, 0x130) && status.MPI_internal[4] == 0;
}
