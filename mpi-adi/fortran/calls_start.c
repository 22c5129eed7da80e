/* calls_start.c: start, and calls whose C forms have other parameters than Fortran's, or none. Compiled twice, see names.h. */
#include <stdio.h>
#include <string.h>

#include "mpi-adi/fortran/runtime.h"

#pragma GCC visibility push(default)

void F(init_)(MPI_Fint *ierror) {
    fortran_tell_library();
    const int rc = C(Init)(NULL, NULL);
    if (ierror) *ierror = rc;
}
ALL_NAMES(init)

void F(init_thread_)(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror) {
    fortran_tell_library();
    const int rc = C(Init_thread)(NULL, NULL, *required, provided);
    if (ierror) *ierror = rc;
}
ALL_NAMES(init_thread)

void F(session_init_)(MPI_Fint *info, MPI_Fint *errhandler, MPI_Fint *session, MPI_Fint *ierror) {
    MPI_Session made = MPI_SESSION_NULL;
    fortran_tell_library();
    const int rc = C(Session_init)(to_info(*info), to_errhandler(*errhandler), &made);
    if (rc == MPI_SUCCESS) *session = from_session(made);
    if (ierror) *ierror = rc;
}
ALL_NAMES(session_init)

void F(info_create_env_)(MPI_Fint *info, MPI_Fint *ierror) {
    MPI_Info made = MPI_INFO_NULL;
    const int rc = C(Info_create_env)(0, NULL, &made);
    if (rc == MPI_SUCCESS) *info = from_info(made);
    if (ierror) *ierror = rc;
}
ALL_NAMES(info_create_env)

void F(pcontrol_)(MPI_Fint *level) { C(Pcontrol)(*level); }
ALL_NAMES(pcontrol)

/* Buffers come back as addresses in mpi_f08; elsewhere there is no type for one, and the argument is not touched. */
#define DETACH(name, Name, parameter, value, comma)                                                                       \
    void F(name##_)(parameter comma void *buffer_addr, MPI_Fint *size, MPI_Fint *ierror) {                                \
        void *address;                                                                                                    \
        (void)buffer_addr;                                                                                                \
        const int rc = C(Name)(value comma &address, size);                                                               \
        if (ierror) *ierror = rc;                                                                                         \
    }                                                                                                                     \
    SAME(name##__, name##_)                                                                                               \
    void F(name##_f08_)(parameter comma void **buffer_addr, MPI_Fint *size, MPI_Fint *ierror) {                           \
        const int rc = C(Name)(value comma buffer_addr, size);                                                            \
        if (ierror) *ierror = rc;                                                                                         \
    }                                                                                                                     \
    void F(name##_c_f08_)(parameter comma void **buffer_addr, MPI_Count *size, MPI_Fint *ierror) {                        \
        const int rc = C(Name##_c)(value comma buffer_addr, size);                                                        \
        if (ierror) *ierror = rc;                                                                                         \
    }
#define COMMA ,
DETACH(buffer_detach, Buffer_detach, , , )
DETACH(comm_detach_buffer, Comm_detach_buffer, MPI_Fint *comm, to_comm(*comm), COMMA)
DETACH(session_detach_buffer, Session_detach_buffer, MPI_Fint *session, to_session(*session), COMMA)

/* ---- Strings whose lengths are the caller's ---------------------------------------------------------------------------- */

/* The value is cut off at `valuelen` and at the end of the variable. */
void F(info_get_)(MPI_Fint *info, char *key, MPI_Fint *valuelen, char *value, MPI_Fint *flag, MPI_Fint *ierror, size_t key_length,
                  size_t value_length) {
    struct text text;
    char found[MPI_MAX_INFO_VAL + 1] = "";
    const int most = *valuelen < MPI_MAX_INFO_VAL ? *valuelen : MPI_MAX_INFO_VAL;
    const int rc = C(Info_get)(to_info(*info), text_in(&text, key, key_length, true), most, found, flag);
    if (rc == MPI_SUCCESS && *flag) text_out(found, value, value_length);
    text_end(&text);
    if (ierror) *ierror = rc;
}
ALL_NAMES(info_get)

/* In C lengths count the terminating zero. A length of 0 asks for the length alone. */
void F(info_get_string_)(MPI_Fint *info, char *key, MPI_Fint *buflen, char *value, MPI_Fint *flag, MPI_Fint *ierror, size_t key_length,
                         size_t value_length) {
    struct text text;
    char found[MPI_MAX_INFO_VAL + 1] = "";
    const int room = *buflen < MPI_MAX_INFO_VAL ? *buflen : MPI_MAX_INFO_VAL;
    int length = room > 0 ? room + 1 : 0;
    const int rc = C(Info_get_string)(to_info(*info), text_in(&text, key, key_length, true), &length, found, flag);
    if (rc == MPI_SUCCESS && *flag) {
        if (room > 0) text_out(found, value, value_length);
        *buflen = length > 0 ? length - 1 : 0;
    }
    text_end(&text);
    if (ierror) *ierror = rc;
}
ALL_NAMES(info_get_string)

void F(session_get_nth_pset_)(MPI_Fint *session, MPI_Fint *info, MPI_Fint *n, MPI_Fint *pset_len, char *pset_name, MPI_Fint *ierror,
                              size_t pset_name_length) {
    char found[MPI_MAX_PSET_NAME_LEN + 1] = "";
    const int room = *pset_len < MPI_MAX_PSET_NAME_LEN ? *pset_len : MPI_MAX_PSET_NAME_LEN;
    int length = room > 0 ? room + 1 : 0;
    const int rc = C(Session_get_nth_pset)(to_session(*session), to_info(*info), *n, &length, found);
    if (rc == MPI_SUCCESS) {
        if (room > 0) text_out(found, pset_name, pset_name_length);
        *pset_len = length > 0 ? length - 1 : 0;
    }
    if (ierror) *ierror = rc;
}
ALL_NAMES(session_get_nth_pset)

/* ---- Functions that only Fortran has -------------------------------------------------------------------------------------- */

void F(sizeof_f08ts_)(CFI_cdesc_t *x, MPI_Fint *size, MPI_Fint *ierror) {
    *size = (MPI_Fint)x->elem_len;
    if (ierror) *ierror = MPI_SUCCESS;
}

/* That the compiler cannot know what happens here is all that is asked for. */
void F(f_sync_reg_)(void *buf) { (void)buf; }
SAME(f_sync_reg__, f_sync_reg_)
void F(f_sync_reg_f08ts_)(CFI_cdesc_t *buf) { (void)buf; }

/* Statuses have the same layout everywhere. */
static void copy_status(const void *from, void *to, MPI_Fint *ierror) {
    memcpy(to, from, sizeof(MPI_Status));
    if (ierror) *ierror = MPI_SUCCESS;
}
void F(status_f2f08_)(MPI_Fint *f_status, MPI_Fint *f08_status, MPI_Fint *ierror) { copy_status(f_status, f08_status, ierror); }
ALL_NAMES(status_f2f08)
void F(status_f082f_)(MPI_Fint *f08_status, MPI_Fint *f_status, MPI_Fint *ierror) { copy_status(f08_status, f_status, ierror); }
ALL_NAMES(status_f082f)
