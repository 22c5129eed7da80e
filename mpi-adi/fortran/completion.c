/* completion.c: the calls that start, complete and free requests: besides converting handles they see to what is kept for them.
 * Compiled twice, see names.h. */
#include <stdlib.h>

#include "mpi-adi/fortran/runtime.h"

#pragma GCC visibility push(default)

/* After `request` was completed: what Fortran has of it, and what was kept. */
static void completed(MPI_Request before, MPI_Request after, MPI_Fint *number) {
    if (is_anything_kept() && before != MPI_REQUEST_NULL) kept_complete(before, after == MPI_REQUEST_NULL);
    if (after == MPI_REQUEST_NULL) *number = from_request(MPI_REQUEST_NULL);
}

void F(wait_)(MPI_Fint *request, MPI_Fint *status, MPI_Fint *ierror) {
    MPI_Request before = to_request(*request), after = before;
    const int rc = C(Wait)(&after, (MPI_Status *)address_in(status));
    completed(before, after, request);
    if (ierror) *ierror = rc;
}
ALL_NAMES(wait)

void F(test_)(MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierror) {
    MPI_Request before = to_request(*request), after = before;
    const int rc = C(Test)(&after, flag, (MPI_Status *)address_in(status));
    if (rc != MPI_SUCCESS || *flag) completed(before, after, request);
    if (ierror) *ierror = rc;
}
ALL_NAMES(test)

/* Handles all requests of an array that are gone, and, when `all`, also those that are persistent. */
static void all_completed(const MPI_Request *after, MPI_Fint *numbers, int count, bool all) {
    for (int i = 0; i < count; ++i)
        if (all || after[i] == MPI_REQUEST_NULL) completed(to_request(numbers[i]), after[i], &numbers[i]);
}

void F(waitall_)(MPI_Fint *count, MPI_Fint *array_of_requests, MPI_Fint *array_of_statuses, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *count);
    const int rc = C(Waitall)(*count, requests, (MPI_Status *)address_in(array_of_statuses));
    all_completed(requests, array_of_requests, *count, rc == MPI_SUCCESS);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(waitall)

void F(testall_)(MPI_Fint *count, MPI_Fint *array_of_requests, MPI_Fint *flag, MPI_Fint *array_of_statuses, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *count);
    const int rc = C(Testall)(*count, requests, flag, (MPI_Status *)address_in(array_of_statuses));
    if (rc != MPI_SUCCESS || *flag) all_completed(requests, array_of_requests, *count, rc == MPI_SUCCESS);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(testall)

static void one_completed(const MPI_Request *after, MPI_Fint *numbers, MPI_Fint *indx) {
    if (*indx == MPI_UNDEFINED) return;
    completed(to_request(numbers[*indx]), after[*indx], &numbers[*indx]);
    ++*indx;
}

void F(waitany_)(MPI_Fint *count, MPI_Fint *array_of_requests, MPI_Fint *indx, MPI_Fint *status, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *count);
    *indx = MPI_UNDEFINED;
    const int rc = C(Waitany)(*count, requests, indx, (MPI_Status *)address_in(status));
    one_completed(requests, array_of_requests, indx);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(waitany)

void F(testany_)(MPI_Fint *count, MPI_Fint *array_of_requests, MPI_Fint *indx, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *count);
    *indx = MPI_UNDEFINED;
    const int rc = C(Testany)(*count, requests, indx, flag, (MPI_Status *)address_in(status));
    if (rc != MPI_SUCCESS || *flag) one_completed(requests, array_of_requests, indx);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(testany)

static void some_completed(const MPI_Request *after, MPI_Fint *numbers, const MPI_Fint *outcount, MPI_Fint *indices) {
    for (int i = 0; i < *outcount; ++i) one_completed(after, numbers, &indices[i]);
}

void F(waitsome_)(MPI_Fint *incount, MPI_Fint *array_of_requests, MPI_Fint *outcount, MPI_Fint *array_of_indices,
                  MPI_Fint *array_of_statuses, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *incount);
    *outcount = 0;
    const int rc = C(Waitsome)(*incount, requests, outcount, array_of_indices, (MPI_Status *)address_in(array_of_statuses));
    some_completed(requests, array_of_requests, outcount, array_of_indices);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(waitsome)

void F(testsome_)(MPI_Fint *incount, MPI_Fint *array_of_requests, MPI_Fint *outcount, MPI_Fint *array_of_indices,
                  MPI_Fint *array_of_statuses, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *incount);
    *outcount = 0;
    const int rc = C(Testsome)(*incount, requests, outcount, array_of_indices, (MPI_Status *)address_in(array_of_statuses));
    some_completed(requests, array_of_requests, outcount, array_of_indices);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(testsome)

void F(request_free_)(MPI_Fint *request, MPI_Fint *ierror) {
    MPI_Request before = to_request(*request), after = before;
    const int rc = C(Request_free)(&after);
    if (after == MPI_REQUEST_NULL) {
        if (is_anything_kept()) kept_forget(before);
        *request = from_request(after);
    }
    if (ierror) *ierror = rc;
}
ALL_NAMES(request_free)

void F(start_)(MPI_Fint *request, MPI_Fint *ierror) {
    MPI_Request started = to_request(*request);
    if (is_anything_kept()) kept_started(started);
    const int rc = C(Start)(&started);
    if (ierror) *ierror = rc;
}
ALL_NAMES(start)

void F(startall_)(MPI_Fint *count, MPI_Fint *array_of_requests, MPI_Fint *ierror) {
    struct handles array;
    MPI_Request *requests = requests_in(&array, array_of_requests, *count);
    if (is_anything_kept())
        for (int i = 0; i < *count; ++i) kept_started(requests[i]);
    const int rc = C(Startall)(*count, requests);
    handles_end(&array);
    if (ierror) *ierror = rc;
}
ALL_NAMES(startall)
