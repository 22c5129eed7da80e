/* flow_control.c: everybody floods rank 0, whose queue is far too small. What is refused with PTL_NI_PT_DISABLED is sent again once rank 0
 * says that it has made room, so every message arrives exactly once and in the order of its sender: how an MPI recovers. */
#include <stdint.h>
#include <string.h>

#include "launch.h"

enum { MESSAGES = 120, SLOTS = 8, DATA = 5, CONTROL = 6 };
enum { PAUSE = 1, RESUME, FINISH, DRAINED };

static ptl_handle_ni_t ni;
static ptl_handle_md_t all_memory;
static ptl_process_t peers[64];

static void offer(ptl_pt_index_t where, void *start, ptl_size_t length, unsigned options, ptl_handle_ct_t ct) {
    ptl_me_t me;
    ptl_handle_me_t handle;
    memset(&me, 0, sizeof me);
    me.start = start;
    me.length = length;
    me.ct_handle = ct;
    me.uid = PTL_UID_ANY;
    me.options = options | PTL_ME_EVENT_LINK_DISABLE;
    me.match_id.phys.nid = PTL_NID_ANY;
    me.match_id.phys.pid = PTL_PID_ANY;
    me.ignore_bits = ~(ptl_match_bits_t)0;
    MUST(PtlMEAppend(ni, where, &me, PTL_PRIORITY_LIST, NULL, &handle) == PTL_OK);
}

static void put_word(const uint64_t *word, ptl_process_t to) {
    MUST(PtlPut(all_memory, (ptl_size_t)(uintptr_t)word, sizeof *word, PTL_NO_ACK_REQ, to, CONTROL, 0, 0, NULL, 0) == PTL_OK);
}

static uint64_t count_of(ptl_handle_ct_t ct) {
    ptl_ct_event_t value;
    MUST(PtlCTGet(ct, &value) == PTL_OK && value.failure == 0);
    return value.success;
}

/* Takes messages until all are here. After a refusal: tells everybody to pause, empties the queue until all do, and lets them go on. */
static void target(const struct launch *job, ptl_handle_eq_t events, ptl_handle_ct_t control) {
    static const uint64_t pause = PAUSE, resume = RESUME, finish = FINISH;
    const uint64_t senders = (uint64_t)job->size - 1;
    uint64_t expected[64] = {0}, pauses = 0;
    int disabled = 0;
    for (uint64_t left = senders * MESSAGES; left > 0 || disabled;) {
        ptl_event_t event;
        const int drained = disabled && count_of(control) == senders * pauses; /* asked before the queue is seen to be empty */
        const int status = disabled ? PtlEQGet(events, &event) : PtlEQWait(events, &event);
        if (status == PTL_EQ_EMPTY) {
            if (!drained) continue;
            MUST(PtlPTEnable(ni, DATA) == PTL_OK);
            disabled = 0;
            for (int peer = 1; peer < job->size; ++peer) put_word(&resume, peers[peer]);
            continue;
        }
        MUST(status == PTL_OK); /* nothing is lost */
        if (event.type == PTL_EVENT_PT_DISABLED) {
            MUST(!disabled && event.pt_index == DATA);
            disabled = 1;
            ++pauses;
            for (int peer = 1; peer < job->size; ++peer) put_word(&pause, peers[peer]);
            continue;
        }
        MUST(event.type == PTL_EVENT_PUT && event.ni_fail_type == PTL_NI_OK);
        const uint64_t sender = event.hdr_data >> 32, number = event.hdr_data & 0xffffffffu;
        MUST(sender >= 1 && sender <= senders && number == expected[sender]);
        ++expected[sender];
        --left;
    }
    for (int peer = 1; peer < job->size; ++peer) put_word(&finish, peers[peer]);
    MUST(pauses > 0);
}

/* All acknowledgements are here: says so, and waits until it may go on. */
static void rest(ptl_handle_ct_t control, uint64_t *heard) {
    static const uint64_t drained = DRAINED;
    ptl_ct_event_t value;
    put_word(&drained, peers[0]);
    *heard += 2; /* to pause, and to resume */
    MUST(PtlCTWait(control, *heard, &value) == PTL_OK && value.failure == 0);
}

/* Sends in windows, and begins again at the first message that was refused. */
static void initiator(const struct launch *job, ptl_handle_eq_t events, ptl_handle_ct_t control, const volatile uint64_t *word) {
    enum { WINDOW = 12 };
    uint64_t first = 0, heard = 0;
    ptl_ct_event_t value;
    while (first < MESSAGES) {
        const uint64_t end = first + WINDOW < MESSAGES ? first + WINDOW : MESSAGES;
        uint64_t refused = end;
        if (count_of(control) > heard) rest(control, &heard);
        for (uint64_t i = first; i < end; ++i)
            MUST(PtlPut(all_memory, 0, 0, PTL_ACK_REQ, peers[0], DATA, 0, 0, (void *)(uintptr_t)i, (uint64_t)job->rank << 32 | i) == PTL_OK);
        for (uint64_t left = end - first; left > 0; --left) {
            ptl_event_t event;
            MUST(PtlEQWait(events, &event) == PTL_OK);
            MUST(event.type == PTL_EVENT_ACK && (event.ni_fail_type == PTL_NI_OK || event.ni_fail_type == PTL_NI_PT_DISABLED));
            if (event.ni_fail_type != PTL_NI_OK && (uint64_t)(uintptr_t)event.user_ptr < refused) refused = (uint64_t)(uintptr_t)event.user_ptr;
        }
        if (refused < end) MUST(PtlCTWait(control, heard + 1, &value) == PTL_OK); /* the word to pause is on its way */
        first = refused;
    }
    for (;;) { /* the others may still make everybody pause */
        MUST(PtlCTWait(control, heard + 1, &value) == PTL_OK);
        if (*word == FINISH) return;
        rest(control, &heard);
    }
}

int main(int argc, char **argv) {
    struct launch job;
    ptl_handle_eq_t events;
    ptl_handle_ct_t control;
    ptl_pt_index_t index;
    launch_open(&job, argc, argv);
    MUST(job.size >= 2 && job.size <= 64);
    MUST(PtlInit() == PTL_OK);
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
    launch_addresses(&job, ni, peers);
    MUST(PtlEQAlloc(ni, job.rank == 0 ? SLOTS : 1024, &events) == PTL_OK);
    MUST(PtlCTAlloc(ni, &control) == PTL_OK);
    const ptl_md_t md = {NULL, PTL_SIZE_MAX, PTL_MD_EVENT_SEND_DISABLE, events, PTL_CT_NONE};
    MUST(PtlMDBind(ni, &md, &all_memory) == PTL_OK);
    MUST(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, events, DATA, &index) == PTL_OK && index == DATA);
    MUST(PtlPTAlloc(ni, 0, PTL_EQ_NONE, CONTROL, &index) == PTL_OK && index == CONTROL);
    static uint64_t word;
    if (job.rank == 0) offer(DATA, NULL, 0, PTL_ME_OP_PUT, PTL_CT_NONE);
    offer(CONTROL, &word, sizeof word, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, control);
    launch_meet(&job);
    if (job.rank == 0)
        target(&job, events, control);
    else
        initiator(&job, events, control, &word);
    launch_meet(&job);
    MUST(PtlNIFini(ni) == PTL_OK);
    PtlFini();
    launch_close(&job);
    return 0;
}
