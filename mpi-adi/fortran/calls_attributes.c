/* calls_attributes.c: keys and attributes, with the MPI-2 functions' address-sized integers and the deprecated ones' default integers.
 * Compiled twice, see names.h. */
#include "mpi-adi/fortran/runtime.h"

#pragma GCC visibility push(default)

#define KEYVAL(kind, Kind)                                                                                                              \
    void F(kind##_create_keyval_)(fortran_function *copy_fn, fortran_function *delete_fn, MPI_Fint *keyval, MPI_Aint *extra_state,      \
                                  MPI_Fint *ierror) {                                                                                   \
        const int rc = C(Kind##_create_keyval)(kind##_copy_thunk, kind##_delete_thunk, keyval,                                          \
                                               make_key_functions(copy_fn, delete_fn, *extra_state, false));                                 \
        if (ierror) *ierror = rc;                                                                                                       \
    }                                                                                                                                   \
    ALL_NAMES(kind##_create_keyval)                                                                                                     \
    void F(kind##_set_attr_)(MPI_Fint *handle, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *ierror) {                           \
        void *cell = attribute_cell(*attribute_val);                                                                                    \
        const int rc = C(Kind##_set_attr)(to_##kind(*handle), *keyval, cell);                                                           \
        if (rc != MPI_SUCCESS) attribute_gone(cell);                                                                                    \
        if (ierror) *ierror = rc;                                                                                                       \
    }                                                                                                                                   \
    ALL_NAMES(kind##_set_attr)                                                                                                          \
    void F(kind##_get_attr_)(MPI_Fint *handle, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *flag, MPI_Fint *ierror) {           \
        void *stored = NULL;                                                                                                            \
        *flag = 0;                                                                                                                      \
        const int rc = C(Kind##_get_attr)(to_##kind(*handle), *keyval, &stored, flag);                                                  \
        if (rc == MPI_SUCCESS && *flag) *attribute_val = kind##_attribute(*keyval, stored);                                             \
        if (ierror) *ierror = rc;                                                                                                       \
    }                                                                                                                                   \
    ALL_NAMES(kind##_get_attr)

static MPI_Aint type_attribute(MPI_Fint keyval, void *stored) {
    (void)keyval;
    return attribute_value(stored);
}
KEYVAL(comm, Comm)
KEYVAL(type, Type)
KEYVAL(win, Win)

void F(keyval_create_)(fortran_function *copy_fn, fortran_function *delete_fn, MPI_Fint *keyval, MPI_Fint *extra_state,
                       MPI_Fint *ierror) {
    const int rc = C(Keyval_create)(comm_copy_thunk, comm_delete_thunk, keyval, make_key_functions(copy_fn, delete_fn, *extra_state, true));
    if (ierror) *ierror = rc;
}
SAME(keyval_create__, keyval_create_)

void F(attr_put_)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *attribute_val, MPI_Fint *ierror) {
    void *cell = attribute_cell(*attribute_val);
    const int rc = C(Attr_put)(to_comm(*comm), *keyval, cell);
    if (rc != MPI_SUCCESS) attribute_gone(cell);
    if (ierror) *ierror = rc;
}
SAME(attr_put__, attr_put_)

void F(attr_get_)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *attribute_val, MPI_Fint *flag, MPI_Fint *ierror) {
    void *stored = NULL;
    *flag = 0;
    const int rc = C(Attr_get)(to_comm(*comm), *keyval, &stored, flag);
    if (rc == MPI_SUCCESS && *flag) *attribute_val = (MPI_Fint)comm_attribute(*keyval, stored);
    if (ierror) *ierror = rc;
}
SAME(attr_get__, attr_get_)
