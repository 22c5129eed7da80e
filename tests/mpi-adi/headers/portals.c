/* Constants of Portals, which are macros with casts, in the places they are for. Valid in every C and C++. */
#include <portals4.h>
#include <portals4_ext.h>

int use(ptl_handle_ni_t ni);
int use(ptl_handle_ni_t ni) {
    ptl_handle_eq_t queue = PTL_EQ_NONE;
    ptl_handle_ct_t counter = PTL_CT_NONE;
    ptl_handle_md_t descriptor = PTL_INVALID_HANDLE;
    ptl_process_t anybody;
    ptl_pt_index_t index = PTL_PT_ANY;
    ptl_md_t memory;
    ptl_event_t event;
    unsigned int which = 0;
    int error;
    anybody.rank = PTL_RANK_ANY;
    anybody.phys.nid = PTL_NID_ANY;
    anybody.phys.pid = PTL_PID_ANY;
    memory.start = 0;
    memory.length = PTL_SIZE_MAX;
    memory.options = PTL_MD_EVENT_CT_ACK | PTL_MD_VOLATILE;
    memory.eq_handle = queue;
    memory.ct_handle = counter;
    error = PtlMDBind(ni, &memory, &descriptor);
    error |= PtlPut(descriptor, 0, 8, PTL_NO_ACK_REQ, anybody, index, 0, 0, 0, 0);
    error |= PtlAtomic(descriptor, 0, 8, PTL_CT_ACK_REQ, anybody, index, 0, 0, 0, 0, PTL_SUM, PTL_INT64_T);
    return error | PtlEQPoll(&queue, 1, PTL_TIME_FOREVER, &event, &which);
}
