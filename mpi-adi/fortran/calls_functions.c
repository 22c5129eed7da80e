/* calls_functions.c: the calls that take functions: operations, error handlers, generalized requests, data representations.
 * Compiled twice, see names.h. */
#include "mpi-adi/fortran/runtime.h"

#pragma GCC visibility push(default)

void F(op_create_)(fortran_function *user_fn, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror) {
    MPI_Op made = MPI_OP_NULL;
    MPI_User_function *thunk = op_thunk(user_fn);
    const int rc = thunk ? C(Op_create)(thunk, *commute, &made) : raise_too_many();
    if (rc == MPI_SUCCESS) *op = from_op(made);
    if (ierror) *ierror = rc;
}
ALL_NAMES(op_create)

void F(op_create_c_f08_)(fortran_function *user_fn, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror) {
    MPI_Op made = MPI_OP_NULL;
    MPI_User_function_c *thunk = large_op_thunk(user_fn);
    const int rc = thunk ? C(Op_create_c)(thunk, *commute, &made) : raise_too_many();
    if (rc == MPI_SUCCESS) *op = from_op(made);
    if (ierror) *ierror = rc;
}

#define CREATE_ERRHANDLER(kind, Kind)                                                                      \
    void F(kind##_create_errhandler_)(fortran_function *function, MPI_Fint *errhandler, MPI_Fint *ierror) { \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                         \
        MPI_##Kind##_errhandler_function *thunk = kind##_errhandler_thunk(function);                       \
        const int rc = thunk ? C(Kind##_create_errhandler)(thunk, &made) : raise_too_many();               \
        if (rc == MPI_SUCCESS) *errhandler = from_errhandler(made);                                        \
        if (ierror) *ierror = rc;                                                                          \
    }                                                                                                      \
    ALL_NAMES(kind##_create_errhandler)
CREATE_ERRHANDLER(comm, Comm)
CREATE_ERRHANDLER(win, Win)
CREATE_ERRHANDLER(file, File)
CREATE_ERRHANDLER(session, Session)

void F(grequest_start_)(fortran_function *query_fn, fortran_function *free_fn, fortran_function *cancel_fn, MPI_Aint *extra_state,
                        MPI_Fint *request, MPI_Fint *ierror) {
    MPI_Request made = MPI_REQUEST_NULL;
    struct request_functions *functions = make_request_functions(query_fn, free_fn, cancel_fn, extra_state);
    const int rc = C(Grequest_start)(query_thunk, free_thunk, cancel_thunk, functions, &made);
    if (rc == MPI_SUCCESS) {
        if (is_anything_kept()) kept_new(made);
        *request = from_request(made);
    }
    if (ierror) *ierror = rc;
}
ALL_NAMES(grequest_start)

#pragma GCC visibility push(default)
/* The function that programs hand over when nothing is to be converted; it is never called. */
void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_c_(void);
#pragma GCC visibility pop
#ifndef MPI_FORTRAN_PROFILING
void mpi_conversion_fn_null_(void) {}
void mpi_conversion_fn_null_c_(void) {}
#endif

#define REGISTER_DATAREP(name, Name, kind, null, reader, writer)                                                                   \
    void F(name)(char *datarep, fortran_function *read_fn, fortran_function *write_fn, fortran_function *extent_fn,                \
                 MPI_Aint *extra_state, MPI_Fint *ierror, size_t datarep_length) {                                                 \
        struct text text;                                                                                                          \
        kind *reading = read_fn == null ? (kind *)0 : reader, *writing = write_fn == null ? (kind *)0 : writer;                    \
        const int rc = C(Name)(text_in(&text, datarep, datarep_length, false), reading, writing, extent_thunk,                     \
                               make_datarep_functions(read_fn, write_fn, extent_fn, *extra_state));                                     \
        text_end(&text);                                                                                                           \
        if (ierror) *ierror = rc;                                                                                                  \
    }
REGISTER_DATAREP(register_datarep_, Register_datarep, MPI_Datarep_conversion_function, mpi_conversion_fn_null_, read_thunk, write_thunk)
REGISTER_DATAREP(register_datarep_c_f08_, Register_datarep_c, MPI_Datarep_conversion_function_c, mpi_conversion_fn_null_c_,
                 large_read_thunk, large_write_thunk)
ALL_NAMES(register_datarep)
