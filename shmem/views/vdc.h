/* vdc.h: VODCA, shared memory in views that move when they are acquired. C99 and C++.
 *
 * Shared data is cut into views, named by numbers. Who wants to touch a view acquires it, and only that moves data: at the return of an
 * acquire all earlier writes to the view are visible, in causal order. What belongs to a view is either detected (what is written while
 * it is held) or declared. Views do not overlap. One thread of a process at a time calls; any thread touches held views. Sizes in bytes.
 *
 * Source: Huang, Purvis, Werstein, A View-Oriented Distributed Shared Memory System for Cluster Computing (VODCA): the calls Vdc_* and
 * what they mean. Vdcx_* is beyond the paper.
 */
#ifndef VDC_H
#define VDC_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define VDC_NPROCS 1024    /* most processes of a job */
#define VDC_NVIEWS 16384   /* views are 0 .. VDC_NVIEWS-1 */
#define VDC_NPAGES 1048576 /* most pages of 4096 bytes; this job's: VDC_PAGES in the environment, 16384 */

extern int Vdc_nprocs;  /* processes of this job, after Vdc_startup */
extern int Vdc_proc_id; /* this one: 0 .. Vdc_nprocs-1 */

/* ---- The paper's calls. They have no results: what fails ends the job with a sentence that names process, view and reason. ---- */

/* Joins the job of oshrun or ptlrun; without one, a job of one process. Collective. */
void Vdc_startup(int argc, char **argv);
/* Ends the process. Status 0 waits until all processes exit, since owners keep data for others; any other ends the job at once. */
void Vdc_exit(int status);
/* Waits until all processes are at a barrier; all give the same id (compared with PTL_DEBUG=views). Moves no data. */
void Vdc_barrier(unsigned id);
/* Shared memory, at the same address in all processes; by any process at any time. What process 0 writes before its first acquire,
 * barrier or exit is seen by all; later writes need a view. Inside a write-held view the block is that view's: freed, it serves it alone. */
char *Vdc_malloc(size_t size);
void Vdc_free(char *ptr);
/* Exclusive, in order of arrival, blocks. At a time one detected view can be held for writing. */
void Vdc_acquire_view(int viewid);
void Vdc_release_view(int viewid);
/* A snapshot: writers are neither kept out nor seen until the release. Nests. */
void Vdc_acquire_Rview(int viewid);
void Vdc_release_Rview(int viewid);

/* ---- Beyond the paper. Every int is one of these; Vdcx_explain() has the sentence. Outputs are set on success alone. ---- */
enum {
    VDCX_SUCCESS,
    VDCX_ERR_ARG,      /* no such view, a null pointer, declarations that differ */
    VDCX_ERR_STATE,    /* not now: not held, nested, before startup */
    VDCX_ERR_OVERLAP,  /* with another view */
    VDCX_ERR_NO_SPACE,
    VDCX_ERR_DEADLOCK, /* a circle of processes that wait for each other; the request stays queued */
    VDCX_ERR_TIMEOUT,  /* the request stays queued */
    VDCX_ERR_LOST      /* the process that had the newest version died: Vdcx_recover */
};
/* In C++ too, whatever a caller brings is a value: it is checked. */
#ifdef __cplusplus
#define VDCX_ENUM enum : int
#else
#define VDCX_ENUM enum
#endif
typedef VDCX_ENUM {
    VDCX_READ,
    VDCX_WRITE,
    VDCX_OVERWRITE /* old content is not fetched, and all counts as written */
} Vdcx_mode;
/* How the written bytes of a declared view are found: chosen by how much changes; by page faults; by comparing with a copy; not: all is
 * taken for written; by Vdcx_wrote alone. */
typedef VDCX_ENUM { VDCX_AUTO, VDCX_FAULT, VDCX_TWIN, VDCX_WHOLE, VDCX_TOLD } Vdcx_finding;
/* `count` times `bytes`, `stride` apart; count 1: stride is not looked at. */
typedef struct {
    void *start;
    size_t bytes, count, stride;
} Vdcx_piece;
typedef struct Vdcx_ahead *Vdcx_request;

/* As Vdc_malloc, or NULL. */
void *Vdcx_malloc(size_t size);
/* A number that nobody else has been given by this call, from VDC_NVIEWS-1 downwards. NO_SPACE. */
int Vdcx_unique_view(int *viewid);
/* Copies a variable of process 0, such as a pointer into shared memory, to the same variable of all. Collective; a barrier. LOST. */
int Vdcx_distribute(void *variable, size_t bytes);
/* Says what a view consists of, here, before it is first used here. All users say the same: compared when it is handed over (ARG).
 * OVERLAP: with another declared view. STATE: used already. The pieces are copied. */
int Vdcx_declare(int viewid, const Vdcx_piece *pieces, unsigned n, Vdcx_finding how);
/* Takes the data from the id, which is free for a new view. By who holds it for writing; releases it. STATE: a
 * stream, too. */
int Vdcx_destroy(int viewid);
/* seconds < 0: for ever. TIMEOUT and DEADLOCK leave the request in the queue: the same call goes on. LOST. STATE: nesting. */
int Vdcx_acquire(int viewid, Vdcx_mode mode, double seconds);
/* All of them or none, in the order of their ids. */
int Vdcx_acquire_all(const int *viewids, const Vdcx_mode *modes, unsigned n, double seconds);
/* Acquires while the program computes: queues up and returns; test or wait complete it, as if acquired then. Declared views. */
int Vdcx_begin(int viewid, Vdcx_mode mode, Vdcx_request *request);
int Vdcx_test(Vdcx_request *request, int *done); /* done: the request is gone (NULL) */
int Vdcx_wait(Vdcx_request *request, double seconds);
int Vdcx_release(int viewid);
/* Bytes of a write-held view that are about to be written: for TOLD; else before a system call writes there, for which pages are opened. */
int Vdcx_wrote(int viewid, const void *start, size_t bytes);
/* The version of the copy held here: 0, and one more for each release after writing. */
int Vdcx_version(int viewid, uint64_t *version);
/* Makes a declared view a stream of versions from one writer to fixed readers: each reader's i-th read is version i; the writer waits in
 * acquire when `depth` versions are unread by some reader, or while the last one is still leaving the view. What a reader's view holds
 * after its release is not defined: the next version may be arriving there. Collective over writer and readers, who declare the same
 * (ARG). A stream lasts until the exit. */
int Vdcx_stream(int viewid, int writer, const int *readers, unsigned n, unsigned depth);
/* After LOST: collective over the living. The newest whole copy among them becomes the owner's. LOST: nobody has one. */
int Vdcx_recover(int viewid, int *owner, uint64_t *version);
/* Why the last call of this process failed. Never NULL; valid until the next call. */
const char *Vdcx_explain(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
