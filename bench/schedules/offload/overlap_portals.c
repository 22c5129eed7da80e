/* One PtlPut or PtlGet on each rank, to or from the next one, without anything above Portals: overlap and what it takes from the
 * application (measured.h). Started by the call; its end is counted by the acknowledgement or the reply. */
#include "meeting.h"

#include <portals4.h>
#include <portals4_ext.h>

#define DO(call) \
    do { \
        if ((call) != PTL_OK) PtlxJobAbort(1, "overlap_portals: " #call " failed"); \
    } while (0)

static ptl_handle_md_t memory;
static ptl_handle_ct_t ends;
static ptl_pt_index_t entry;
static ptl_size_t started;
static ptl_process_t next;
static size_t bytes;
static char *in, *out;

static void put(void) {
    ++started;
    DO(PtlPut(memory, (ptl_size_t)(uintptr_t)in, bytes, PTL_CT_ACK_REQ, next, entry, 0, 0, NULL, 0));
}
static void get(void) {
    ++started;
    DO(PtlGet(memory, (ptl_size_t)(uintptr_t)out, bytes, next, entry, 0, 0, NULL));
}
static void wait_for_it(void) {
    ptl_ct_event_t seen;
    DO(PtlCTWait(ends, started, &seen));
    if (seen.failure) PtlxJobAbort(1, "overlap_portals: a put or get has failed");
}

int main(int argc, char **argv) {
    static const struct operation kOperations[] = {{"put", put, wait_for_it}, {"get", get, wait_for_it}};
    struct wanted wanted;
    ptl_handle_ni_t ni;
    if (!read_wanted(argc, argv, &wanted)) {
        fprintf(stderr, "usage: %s put,get SIZES RATIO SECONDS\n", argv[0]);
        return 2;
    }
    join();
    DO(PtlInit());
    DO(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    DO(PtlxJobMap(ni));
    DO(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &entry));
    DO(PtlCTAlloc(ni, &ends));
    const ptl_md_t md = {.start = NULL, .length = PTL_SIZE_MAX, .options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, .eq_handle = PTL_EQ_NONE, .ct_handle = ends};
    DO(PtlMDBind(ni, &md, &memory));
    next.rank = (ptl_rank_t)((rank + 1) % size);
    calibrate();
    for (int o = 0; o < 2; ++o) {
        for (int s = 0; among(wanted.operations, kOperations[o].name) && s < wanted.num_sizes; ++s) {
            ptl_handle_le_t offer;
            bytes = wanted.sizes[s];
            in = calloc(1, bytes + 1);
            out = calloc(1, bytes + 1);
            char *const offered = calloc(1, bytes + 1);
            if (!in || !out || !offered) PtlxJobAbort(1, "overlap_portals: no memory");
            const ptl_le_t le = {.start = offered, .length = bytes, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                                 .options = PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_LINK_DISABLE};
            DO(PtlLEAppend(ni, entry, &le, PTL_PRIORITY_LIST, NULL, &offer));
            meet();
            measure(&kOperations[o], bytes, wanted.ratio, wanted.seconds, rank == 0);
            meet();
            DO(PtlLEUnlink(offer));
            free(in);
            free(out);
            free(offered);
        }
    }
    DO(PtlNIFini(ni));
    PtlFini();
    part();
    return 0;
}
