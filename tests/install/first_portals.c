/* Every process puts its rank into the memory that the next one offers at portal table entry 5. */
#include <portals4.h>
#include <portals4_ext.h>
#include <stdio.h>

#define TRY(call) do { int status = (call); if (status != PTL_OK) PtlxJobAbort(1, #call " failed"); } while (0)

int main(void) {
    ptlx_job_t job;
    ptl_handle_ni_t ni;
    ptl_handle_ct_t arrived;
    ptl_handle_le_t offer;
    ptl_handle_md_t mine;
    ptl_pt_index_t entry;
    ptl_ct_event_t count;
    int from = -1;

    TRY(PtlxJobInit(&job));
    TRY(PtlInit());
    TRY(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    TRY(PtlxJobMap(ni)); /* from here on, processes are named by rank */

    TRY(PtlCTAlloc(ni, &arrived));
    TRY(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 5, &entry));
    ptl_le_t le = {.start = &from, .length = sizeof from, .ct_handle = arrived, .uid = PTL_UID_ANY,
                   .options = PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
    TRY(PtlLEAppend(ni, entry, &le, PTL_PRIORITY_LIST, NULL, &offer));
    ptl_md_t md = {.start = &job.rank, .length = sizeof job.rank, .options = 0,
                   .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE};
    TRY(PtlMDBind(ni, &md, &mine));
    TRY(PtlxJobFence()); /* all offers stand */

    ptl_process_t next = {.rank = (ptl_rank_t)((job.rank + 1) % job.size)};
    TRY(PtlPut(mine, 0, sizeof job.rank, PTL_NO_ACK_REQ, next, entry, 0, 0, NULL, 0));
    TRY(PtlCTWait(arrived, 1, &count));
    printf("process %d of %d heard from process %d\n", job.rank, job.size, from);
    int good = count.failure == 0 && from == (job.rank + job.size - 1) % job.size;

    TRY(PtlxJobFence()); /* nobody leaves while somebody still puts */
    PtlNIFini(ni);
    PtlFini();
    PtlxJobFini();
    return good ? 0 : 1;
}
