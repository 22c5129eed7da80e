/* runtime.h: what the bindings' C is written with: handles, strings, buffers and address constants from Fortran to C and back.
 *
 * Users: the generated wrappers.c and the sources of this folder. It stands on mpi.h, as any program does, so that
 * the bindings run over any library of the MPI-5 ABI; graphs are those of mpi-ext.h, where the library has them.
 * Thread: any, as for the calls of MPI. Source: MPI-5.0, 19.1 and 20.5.
 */
#ifndef MPI_ADI_FORTRAN_RUNTIME_H
#define MPI_ADI_FORTRAN_RUNTIME_H

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi-adi/fortran/names.h"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Other libraries of the ABI need not have what follows: it is null there. */
#pragma weak PMPIX_Graph_toint
#pragma weak PMPIX_Graph_fromint
#pragma weak PMPIX_Graph_capturing

/* ---- Constants whose address counts -------------------------------------------------------------------------------- */

/* The common block of mpif.h and the modules, which say the same. A program that names it has one of its own, which then is the
 * only one: the linker sees to that. */
#pragma GCC visibility push(default)
extern struct mpi_fortran_constants {
    MPI_Fint bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
    MPI_Fint status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
    char argv_null, argvs_null;
} mpi_fortran_constants_;
#pragma GCC visibility pop

/* The constant of C in the place of that at `address`. */
void *fortran_constant(void *address);

static inline bool is_fortran_constant(const void *address) {
    return (uintptr_t)address - (uintptr_t)&mpi_fortran_constants_ < sizeof mpi_fortran_constants_;
}
static inline void *address_in(void *address) {
    return __builtin_expect(is_fortran_constant(address), 0) ? fortran_constant(address) : address;
}

/* ---- Handles ----------------------------------------------------------------------------------------------------------- */

/* Temporary arrays of handles; few lie on the stack. */
#define MPI_FORTRAN_FEW 32
struct handles {
    void *few[MPI_FORTRAN_FEW];
    void *many; /* or null */
};
/* Room for `count` handles, set to null pointers; `count` below 0 counts as 0. */
void *handles_room(struct handles *array, MPI_Count count);
void handles_end(struct handles *array);
/* The same, never on the stack, and kept until `request` is complete by handles_keep, to be called before handles_end. */
void *handles_lasting_room(struct handles *array, MPI_Count count);
void handles_keep(struct handles *array, MPI_Request request);

/* Predefined handles are their own numbers, which are less than this. */
#define MPI_FORTRAN_FIRST_NUMBER 4096u

#define MPI_FORTRAN_HANDLE(kind, Kind, Handle)                                                                              \
    static inline Handle to_##kind(MPI_Fint number) {                                                                       \
        return (unsigned)number < MPI_FORTRAN_FIRST_NUMBER ? (Handle)(uintptr_t)(unsigned)number : Kind##_fromint(number); \
    }                                                                                                                       \
    static inline MPI_Fint from_##kind(Handle handle) {                                                                     \
        return (uintptr_t)handle < MPI_FORTRAN_FIRST_NUMBER ? (MPI_Fint)(uintptr_t)handle : Kind##_toint(handle);    \
    }                                                                                                                       \
    static inline Handle *kind##s_room(struct handles *array, MPI_Count count) {                                            \
        return (Handle *)handles_room(array, count);                                                                        \
    }                                                                                                                       \
    static inline Handle *kind##s_in(struct handles *array, const MPI_Fint *numbers, MPI_Count count) {                     \
        Handle *room = kind##s_room(array, count);                                                                          \
        for (MPI_Count i = 0; i < count; ++i) room[i] = to_##kind(numbers[i]);                                              \
        return room;                                                                                                        \
    }                                                                                                                       \
    static inline void kind##s_out(struct handles *array, MPI_Fint *numbers, MPI_Count count) {                             \
        Handle *room = (Handle *)(array->many ? array->many : array->few);                                                  \
        for (MPI_Count i = 0; i < count; ++i)                                                                               \
            if (room[i]) numbers[i] = from_##kind(room[i]);                                                                 \
    }
MPI_FORTRAN_HANDLE(comm, PMPI_Comm, MPI_Comm)
MPI_FORTRAN_HANDLE(errhandler, PMPI_Errhandler, MPI_Errhandler)
MPI_FORTRAN_HANDLE(file, PMPI_File, MPI_File)
MPI_FORTRAN_HANDLE(group, PMPI_Group, MPI_Group)
MPI_FORTRAN_HANDLE(info, PMPI_Info, MPI_Info)
MPI_FORTRAN_HANDLE(message, PMPI_Message, MPI_Message)
MPI_FORTRAN_HANDLE(op, PMPI_Op, MPI_Op)
MPI_FORTRAN_HANDLE(request, PMPI_Request, MPI_Request)
MPI_FORTRAN_HANDLE(session, PMPI_Session, MPI_Session)
MPI_FORTRAN_HANDLE(type, PMPI_Type, MPI_Datatype)
MPI_FORTRAN_HANDLE(win, PMPI_Win, MPI_Win)
MPI_FORTRAN_HANDLE(graph, PMPIX_Graph, MPIX_Graph)

static inline MPI_Datatype *types_lasting(struct handles *array, const MPI_Fint *numbers, MPI_Count count) {
    MPI_Datatype *room = (MPI_Datatype *)handles_lasting_room(array, count);
    for (MPI_Count i = 0; i < count; ++i) room[i] = to_type(numbers[i]);
    return room;
}

/* How many datatypes MPI_Alltoallw and the like read. */
MPI_Count send_peers(MPI_Comm comm, bool neighbours);
MPI_Count receive_peers(MPI_Comm comm, bool neighbours);

/* Indices of arrays count from 1 in Fortran. `count` may be MPI_UNDEFINED, as may be an index. */
static inline void indices_from_one(MPI_Fint *indices, MPI_Fint count) {
    for (MPI_Fint i = 0; i < count; ++i)
        if (indices[i] != MPI_UNDEFINED) ++indices[i];
}

/* ---- Strings ----------------------------------------------------------------------------------------------------------- */

/* A string of Fortran's for C: without the blanks behind it, and those before it when `both`. */
struct text {
    char few[256];
    char *many; /* or null */
};
char *text_in(struct text *text, const char *given, size_t length, bool both);
void text_end(struct text *text);
/* Cut off or filled up with blanks. */
void text_out(const char *from, char *to, size_t length);

/* ---- Choice buffers of mpi_f08 ------------------------------------------------------------------------------------------ */

/* The treatment of a buffer that does not lie in one piece (an array section with strides). */
enum choice_treatment {
    CHOICE_WHOLE,      /* refuses it with MPI_ERR_BUFFER */
    CHOICE_COPY,       /* gets a copy in one piece, which is copied back when the call or its request is complete */
    CHOICE_TYPED,      /* gets a datatype that describes it, if there is one, else as CHOICE_COPY */
    CHOICE_TYPED_ONLY, /* gets a datatype that describes it, or refuses it: nothing tells when a copy may go */
};
struct choice {
    struct choice_copy *copy; /* or null */
    MPI_Datatype made;        /* or MPI_DATATYPE_NULL */
};

bool choice_is_scattered(const CFI_cdesc_t *buffer);
void *choice_scattered(struct choice *choice, const CFI_cdesc_t *buffer, enum choice_treatment how, bool written, MPI_Count *count,
                       MPI_Datatype *datatype, int *error);
void choice_done(struct choice *choice);
/* The copy is in use until `request` is complete. To be called before choice_end. */
void choice_keep(struct choice *choice, MPI_Request request);

/* The address to hand to C for `buffer`; `*count` and `*datatype` change when it is described by a datatype; `written`: MPI may
 * write there. `*error` is set when the buffer is refused. */
static inline void *choice_typed(struct choice *choice, const CFI_cdesc_t *buffer, enum choice_treatment how, bool written,
                                 MPI_Count *count, MPI_Datatype *datatype, int *error) {
    choice->copy = NULL;
    choice->made = MPI_DATATYPE_NULL;
    if (__builtin_expect(buffer->rank > 0 && choice_is_scattered(buffer), 0))
        return choice_scattered(choice, buffer, how, written, count, datatype, error);
    return address_in(buffer->base_addr);
}
static inline void *choice_in(struct choice *choice, const CFI_cdesc_t *buffer, enum choice_treatment how, bool written, int *error) {
    return choice_typed(choice, buffer, how, written, NULL, NULL, error);
}
static inline void choice_end(struct choice *choice) {
    if (__builtin_expect(choice->copy || choice->made != MPI_DATATYPE_NULL, 0)) choice_done(choice);
}

/* ---- What is kept until requests are complete ----------------------------------------------------------------------------- */

extern int kept_requests; /* for how many requests anything is kept; read without a lock as a hint, see kept.cpp */
void kept_new(MPI_Request request);      /* just made: what was kept for an earlier one with the same handle goes */
void kept_started(MPI_Request request);  /* a persistent one is about to start */
void kept_complete(MPI_Request request, bool gone); /* gone: its handle is no longer valid */
void kept_forget(MPI_Request request);   /* freed by the user, but perhaps not complete */
static inline bool is_anything_kept(void) { return __builtin_expect(__atomic_load_n(&kept_requests, __ATOMIC_ACQUIRE) != 0, 0); }

/* ---- Functions that users hand over ---------------------------------------------------------------------------------------- */

typedef void fortran_function(void);
/* C functions that call `function`; null: too many different ones. */
MPI_User_function *op_thunk(fortran_function *function);
MPI_User_function_c *large_op_thunk(fortran_function *function);
MPI_Comm_errhandler_function *comm_errhandler_thunk(fortran_function *function);
MPI_Win_errhandler_function *win_errhandler_thunk(fortran_function *function);
MPI_File_errhandler_function *file_errhandler_thunk(fortran_function *function);
MPI_Session_errhandler_function *session_errhandler_thunk(fortran_function *function);

/* MPI_ERR_OTHER by the handler of MPI_COMM_SELF, as there are no more thunks. */
int raise_too_many(void);

/* C functions and what they are to be given as extra_state, to call Fortran functions that have an extra_state of their own. What
 * belongs to a key or a data representation lasts for ever, as nothing tells its end. */
struct key_functions; /* of a key for attributes */
struct key_functions *make_key_functions(fortran_function *copy, fortran_function *remove, MPI_Aint extra_state, bool is_old);
MPI_Comm_copy_attr_function comm_copy_thunk;
MPI_Comm_delete_attr_function comm_delete_thunk;
MPI_Type_copy_attr_function type_copy_thunk;
MPI_Type_delete_attr_function type_delete_thunk;
MPI_Win_copy_attr_function win_copy_thunk;
MPI_Win_delete_attr_function win_delete_thunk;

/* Functions of a generalized request. They are given the program's own variable, which they may change, as in the peers. */
struct request_functions;
struct request_functions *make_request_functions(fortran_function *query, fortran_function *release, fortran_function *cancel,
                                            MPI_Aint *extra_state);
MPI_Grequest_query_function query_thunk;
MPI_Grequest_free_function free_thunk; /* frees the structure too */
MPI_Grequest_cancel_function cancel_thunk;

struct datarep_functions;
struct datarep_functions *make_datarep_functions(fortran_function *read, fortran_function *write, fortran_function *extent,
                                            MPI_Aint extra_state);
MPI_Datarep_conversion_function read_thunk, write_thunk;
MPI_Datarep_conversion_function_c large_read_thunk, large_write_thunk;
MPI_Datarep_extent_function extent_thunk;

/* Says to the library how large the types of Fortran are. */
void fortran_tell_library(void);

/* ---- Attributes ------------------------------------------------------------------------------------------------------------- */

/* The value that C stores for an attribute set here: the address of an MPI_Aint (and INTEGER) with that value. */
void *attribute_cell(MPI_Aint value);
/* The value for Fortran of what C has stored: of the cell if it is one, else the address itself. */
MPI_Aint attribute_value(void *stored);
void attribute_gone(void *stored);
/* The same of attributes that may be predefined, whose values C finds at an address. */
MPI_Aint comm_attribute(MPI_Fint keyval, void *stored);
MPI_Aint win_attribute(MPI_Fint keyval, void *stored);

#ifdef __cplusplus
}
#endif
#endif
