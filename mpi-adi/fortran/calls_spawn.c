/* calls_spawn.c: processes that are started, whose commands and arguments are arrays of strings. Compiled twice, see names.h. */
#include <stdlib.h>
#include <string.h>

#include "mpi-adi/fortran/runtime.h"

#pragma GCC visibility push(default)

static bool is_blank(const char *string, size_t length) {
    for (size_t i = 0; i < length; ++i)
        if (string[i] != ' ') return false;
    return true;
}

/* `count` strings of `length` characters, `stride` bytes apart, without the blanks around them, for C, which wants a null pointer behind
 * them. */
static char **strings_in(const char *given, size_t count, size_t length, size_t stride) {
    char **strings = (char **)malloc((count + 1) * sizeof *strings + count * (length + 1));
    if (!strings) return NULL;
    char *place = (char *)(strings + count + 1);
    for (size_t i = 0; i < count; ++i, place += length + 1) {
        const char *first = given + i * stride, *end = first + length;
        while (first < end && *first == ' ') ++first;
        while (end > first && end[-1] == ' ') --end;
        memcpy(place, first, (size_t)(end - first));
        place[end - first] = '\0';
        strings[i] = place;
    }
    strings[count] = NULL;
    return strings;
}

/* Arguments end with a blank string. */
static char **arguments_in(const char *given, size_t length, size_t stride) {
    size_t count = 0;
    while (!is_blank(given + count * stride, length)) ++count;
    return strings_in(given, count, length, stride);
}

void F(comm_spawn_)(char *command, char *argv, MPI_Fint *maxprocs, MPI_Fint *info, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm,
                    MPI_Fint *array_of_errcodes, MPI_Fint *ierror, size_t command_length, size_t argv_length) {
    struct text text;
    MPI_Comm made = MPI_COMM_NULL;
    char **arguments = is_fortran_constant(argv) ? MPI_ARGV_NULL : arguments_in(argv, argv_length, argv_length);
    const int rc = C(Comm_spawn)(text_in(&text, command, command_length, true), arguments, *maxprocs, to_info(*info), *root,
                                 to_comm(*comm), &made, (int *)address_in(array_of_errcodes));
    if (rc == MPI_SUCCESS) *intercomm = from_comm(made);
    free(arguments);
    text_end(&text);
    if (ierror) *ierror = rc;
}
ALL_NAMES(comm_spawn)

/* At ranks other than the root nothing of what says what to start is read. */
static bool is_root(MPI_Comm comm, int root) {
    int rank = -1, is_inter = 0;
    return PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter || PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || rank == root;
}

void F(comm_spawn_multiple_)(MPI_Fint *count, char *array_of_commands, char *array_of_argv, MPI_Fint *array_of_maxprocs,
                             MPI_Fint *array_of_info, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *array_of_errcodes,
                             MPI_Fint *ierror, size_t command_length, size_t argv_length) {
    struct handles array;
    MPI_Comm made = MPI_COMM_NULL, over = to_comm(*comm);
    const size_t n = *count > 0 && is_root(over, *root) ? (size_t)*count : 0;
    char **commands = strings_in(array_of_commands, n, command_length, command_length);
    char ***arguments = is_fortran_constant(array_of_argv) ? MPI_ARGVS_NULL : (char ***)calloc(n + 1, sizeof *arguments);
    if (arguments) /* array_of_argv(i, :) are the arguments of command i */
        for (size_t i = 0; i < n; ++i) arguments[i] = arguments_in(array_of_argv + i * argv_length, argv_length, n * argv_length);
    const int rc = C(Comm_spawn_multiple)(*count, commands, arguments, array_of_maxprocs,
                                          infos_in(&array, array_of_info, (MPI_Count)n), *root, over, &made,
                                          (int *)address_in(array_of_errcodes));
    if (rc == MPI_SUCCESS) *intercomm = from_comm(made);
    for (size_t i = 0; arguments && i < n; ++i) free(arguments[i]);
    free(arguments);
    free(commands);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(comm_spawn_multiple)
