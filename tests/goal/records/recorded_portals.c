/* recorded_portals.c KIND: a program of Portals to be recorded, on a ring of processes; each size occurs for one purpose alone. */
#include <portals4.h>
#include <portals4_ext.h>
#include <string.h>
#include <unistd.h>

#define TRY(call)                                                  \
    do {                                                           \
        if ((call) != PTL_OK) PtlxJobAbort(1, #call " failed");    \
    } while (0)

enum { WHOLE = 4096, MINE = 5, OTHER = 6, QUEUED = 7 };

static char memory[WHOLE];
static ptlx_job_t job;
static ptl_handle_ni_t ni;
static ptl_handle_ct_t ended;   /* operations of this process */
static ptl_handle_ct_t arrived; /* what came at MINE */
static ptl_handle_eq_t queue;
static ptl_handle_md_t counted, reported;
static ptl_process_t next, last;
static ptl_ct_event_t seen;

static ptl_handle_ct_t offer(ptl_pt_index_t wanted, ptl_match_bits_t bits, ptl_match_bits_t ignored, ptl_handle_eq_t events) {
    ptl_handle_ct_t counter;
    ptl_handle_me_t entry;
    ptl_pt_index_t index;
    TRY(PtlCTAlloc(ni, &counter));
    TRY(PtlPTAlloc(ni, 0, events, wanted, &index));
    const ptl_me_t me = {.start = memory, .length = WHOLE, .ct_handle = counter, .uid = PTL_UID_ANY, .match_id = {.rank = PTL_RANK_ANY},
                         .match_bits = bits, .ignore_bits = ignored,
                         .options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE};
    TRY(PtlMEAppend(ni, index, &me, PTL_PRIORITY_LIST, NULL, &entry));
    return counter;
}

static void put(ptl_size_t bytes, ptl_process_t to, ptl_pt_index_t index, ptl_match_bits_t bits) {
    TRY(PtlPut(counted, 0, bytes, PTL_NO_ACK_REQ, to, index, bits, 0, NULL, 0));
}

/* A put behind a wait for a counter comes after what has arrived there, and not after what arrived elsewhere. */
static void counters(void) {
    put(101, next, MINE, 1);
    put(102, next, OTHER, 1);
    TRY(PtlCTWait(arrived, 1, &seen));
    put(103, last, OTHER, 2);
    TRY(PtlPut(counted, 0, 104, PTL_CT_ACK_REQ, next, OTHER, 3, 0, NULL, 0));
    TRY(PtlCTWait(ended, 1, &seen));
    TRY(PtlGet(counted, 0, 105, next, OTHER, 4, 0, NULL));
    TRY(PtlCTWait(ended, 2, &seen));
    put(106, last, OTHER, 5);
}

/* A put that leaves when two messages have come, a counter that counts on, and a put that this one sets off. */
static void triggered(void) {
    ptl_handle_ct_t chain;
    TRY(PtlCTAlloc(ni, &chain));
    TRY(PtlTriggeredPut(counted, 0, 203, PTL_NO_ACK_REQ, last, OTHER, 1, 0, NULL, 0, arrived, 2));
    TRY(PtlTriggeredCTInc(chain, (ptl_ct_event_t){.success = 1}, arrived, 2));
    TRY(PtlTriggeredPut(counted, 0, 204, PTL_NO_ACK_REQ, last, OTHER, 2, 0, NULL, 0, chain, 1));
    TRY(PtlTriggeredPut(counted, 0, 205, PTL_NO_ACK_REQ, last, OTHER, 3, 0, NULL, 0, chain, 2));
    put(201, next, MINE, 1);
    put(202, next, MINE, 2);
    TRY(PtlCTWait(arrived, 2, &seen));
    TRY(PtlCTInc(chain, (ptl_ct_event_t){.success = 1}));
    TRY(PtlCTWait(chain, 2, &seen));
}

static ptl_event_t event_of(ptl_event_kind_t kind) {
    ptl_event_t event;
    do TRY(PtlEQWait(queue, &event));
    while (event.type != kind);
    return event;
}

/* A put behind an event comes after its message alone. */
static void events(void) {
    TRY(PtlPut(reported, 0, 301, PTL_ACK_REQ, next, QUEUED, 1, 0, memory, 0));
    TRY(PtlPut(counted, 0, 302, PTL_NO_ACK_REQ, next, QUEUED, 2, 0, NULL, 0));
    event_of(PTL_EVENT_PUT);
    put(303, last, OTHER, 3);
    event_of(PTL_EVENT_PUT);
    put(304, last, OTHER, 4);
    uint64_t one = 1, before;
    (void)before;
    memcpy(memory, &one, sizeof one);
    TRY(PtlFetchAtomic(counted, 8, counted, 0, 8, next, OTHER, 5, 16, NULL, 0, PTL_SUM, PTL_UINT64_T));
    while (PtlCTGet(ended, &seen) == PTL_OK && seen.success == 0) {
    }
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    TRY(PtlxJobInit(&job));
    TRY(PtlInit());
    TRY(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    TRY(PtlxJobMap(ni));
    next.rank = (ptl_rank_t)((job.rank + 1) % job.size);
    last.rank = (ptl_rank_t)((job.rank + job.size - 1) % job.size);
    TRY(PtlCTAlloc(ni, &ended));
    TRY(PtlEQAlloc(ni, 64, &queue));
    arrived = offer(MINE, 0, ~(ptl_match_bits_t)0, PTL_EQ_NONE);
    offer(OTHER, 0, ~(ptl_match_bits_t)0, PTL_EQ_NONE);
    offer(QUEUED, 0, ~(ptl_match_bits_t)0, queue);
    const ptl_md_t md = {.start = memory, .length = WHOLE, .options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY,
                         .eq_handle = PTL_EQ_NONE, .ct_handle = ended};
    TRY(PtlMDBind(ni, &md, &counted));
    const ptl_md_t told = {.start = memory, .length = WHOLE, .options = PTL_MD_EVENT_SEND_DISABLE, .eq_handle = queue, .ct_handle = PTL_CT_NONE};
    TRY(PtlMDBind(ni, &told, &reported));
    TRY(PtlxJobFence());
    if (strcmp(kind, "counters") == 0 || strcmp(kind, "die") == 0) counters();
    if (strcmp(kind, "die") == 0 && job.rank == job.size - 1) _exit(3);
    if (strcmp(kind, "triggered") == 0) triggered();
    if (strcmp(kind, "events") == 0) events();
    TRY(PtlxJobFence());
    PtlNIFini(ni);
    PtlFini();
    PtlxJobFini();
    return 0;
}
