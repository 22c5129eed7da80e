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
CHECK(kinds, MPI_UNEQUAL == 204 && MPI_DIST_GRAPH == 213 && MPI_COMM_TYPE_SHARED == 221 && MPI_COMBINER_RESIZED == 116 &&
      MPI_ORDER_FORTRAN == 15 && MPI_LOCK_SHARED == 302 && MPI_WIN_SEPARATE == 322 && MPI_WIN_MODEL == 605 &&
      MPI_MODE_NOSUCCEED == 16384);
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
           IS(MPI_GROUP_NULL, 0x108) && IS(MPI_GROUP_EMPTY, 0x109) && IS(MPI_WIN_NULL, 0x110) && IS(MPI_SESSION_NULL, 0x120) &&
           IS(MPI_MESSAGE_NULL, 0x128) && IS(MPI_MESSAGE_NO_PROC, 0x129) && IS(MPI_INFO_ENV, 0x131) && IS(MPI_COMM_DUP_FN, 1) &&
           IS(MPI_UNWEIGHTED, 10) && IS(MPI_WEIGHTS_EMPTY, 11) && IS(MPI_NO_OP, 0x3d) &&
           IS(MPI_SUM, 0x21) && IS(MPI_INFO_NULL, 0x130) && status.MPI_internal[4] == 0;
}
