/* An 8-byte put by the Portals calls that shmem_long_p and shmem_quiet stand on: the yardstick off the node.
 *
 * usage: portals_put pair [SECONDS FOR EACH POINT]
 */
#include "samples.h"

#include <portals4.h>
#include <portals4_ext.h>

#define TRY(call) do { if ((call) != PTL_OK) PtlxJobAbort(1, #call " failed"); } while (0)

static ptl_handle_md_t mine;
static ptl_handle_ct_t acks;
static ptl_pt_index_t entry;
static ptl_size_t put_so_far;
static long value, there;

static void put_and_wait(long count) {
    const ptl_process_t peer = {.rank = 1};
    ptl_ct_event_t seen;
    for (long i = 0; i < count; ++i) {
        TRY(PtlPut(mine, (ptl_size_t)&value, sizeof value, PTL_CT_ACK_REQ, peer, entry, 0, 0, NULL, 0));
        TRY(PtlCTWait(acks, ++put_so_far, &seen));
    }
}

int main(int argc, char **argv) {
    ptlx_job_t job;
    ptl_handle_ni_t ni;
    ptl_handle_le_t offer;
    if (argc > 2) compare_seconds = atof(argv[2]);
    TRY(PtlxJobInit(&job));
    TRY(PtlInit());
    TRY(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    TRY(PtlxJobMap(ni));
    TRY(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 5, &entry));
    TRY(PtlCTAlloc(ni, &acks));
    const ptl_le_t le = {.start = &there, .length = sizeof there, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                         .options = PTL_LE_OP_PUT | PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_LINK_DISABLE};
    TRY(PtlLEAppend(ni, entry, &le, PTL_PRIORITY_LIST, NULL, &offer));
    const ptl_md_t md = {.start = NULL, .length = PTL_SIZE_MAX, .options = PTL_MD_VOLATILE | PTL_MD_EVENT_CT_ACK,
                         .eq_handle = PTL_EQ_NONE, .ct_handle = acks};
    TRY(PtlMDBind(ni, &md, &mine));
    TRY(PtlxJobFence());
    if (job.rank == 0) {
        sample("portals", "put+quiet", sizeof value, put_and_wait);
        printf("compare done\n");
    }
    TRY(PtlxJobFence());
    PtlNIFini(ni);
    PtlFini();
    PtlxJobFini();
    return 0;
}
