/* Objects that are made and freed again; counters and queues of this rank alone; calls that look. */
#include "kinds.h"

enum { kOthers = 64, kUnused = 11 };
static ptl_handle_ct_t counter;
static ptl_size_t counted_to;
static const ptl_ct_event_t one = {1, 0};

static void append_and_unlink(ptl_list_t list, ptl_match_bits_t bits) {
    ptl_handle_me_t handle;
    const ptl_me_t mine = entry(QUIET_ENTRY, PTL_CT_NONE, bits);
    TRY(PtlMEAppend(matching, kCounted, &mine, list, NULL, &handle));
    TRY(PtlMEUnlink(handle));
}
static void me_append(void) { append_and_unlink(PTL_PRIORITY_LIST, kUnused); }
static void me_overflow(void) { append_and_unlink(PTL_OVERFLOW_LIST, kUnused); }
static void me_link_event(void) {
    ptl_handle_me_t handle;
    ptl_event_t event;
    const ptl_me_t mine = entry(PTL_ME_OP_PUT, PTL_CT_NONE, kUnused);
    TRY(PtlMEAppend(matching, kTold, &mine, PTL_PRIORITY_LIST, NULL, &handle));
    TRY(PtlEQWait(arrival_events, &event));
    expect(event.type == PTL_EVENT_LINK);
    TRY(PtlMEUnlink(handle));
}
static void append_others(void) {
    for (ptl_match_bits_t i = 0; i < kOthers; ++i) {
        ptl_handle_me_t handle;
        const ptl_me_t other = entry(QUIET_ENTRY, PTL_CT_NONE, 100 + i);
        TRY(PtlMEAppend(matching, kCounted, &other, PTL_PRIORITY_LIST, NULL, &handle));
    }
}
static void le_append(void) {
    ptl_handle_le_t handle;
    const ptl_le_t mine = {.start = exposed, .length = sizeof *exposed, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY, .options = QUIET_ENTRY};
    TRY(PtlLEAppend(plain, kPlain, &mine, PTL_PRIORITY_LIST, NULL, &handle));
    TRY(PtlLEUnlink(handle));
}
static void search_in_vain(void) {
    ptl_event_t event;
    const ptl_me_t mine = entry(PTL_ME_OP_PUT | PTL_ME_USE_ONCE, PTL_CT_NONE, kUnused);
    TRY(PtlMESearch(matching, kLate, &mine, PTL_SEARCH_ONLY, NULL));
    TRY(PtlEQWait(arrival_events, &event));
    expect(event.type == PTL_EVENT_SEARCH && event.ni_fail_type == PTL_NI_NO_MATCH);
}
static void md_bind(void) {
    ptl_handle_md_t handle;
    const ptl_md_t mine = {.start = sent, .length = 4096, .options = PTL_MD_EVENT_CT_ACK, .eq_handle = PTL_EQ_NONE, .ct_handle = done};
    TRY(PtlMDBind(matching, &mine, &handle));
    TRY(PtlMDRelease(handle));
}
static void md_bind_put(void) {
    ptl_handle_md_t handle;
    const ptl_md_t mine = {.start = sent, .length = 4096, .options = PTL_MD_EVENT_CT_ACK, .eq_handle = PTL_EQ_NONE, .ct_handle = done};
    sent[0] = ++turn;
    TRY(PtlMDBind(matching, &mine, &handle));
    TRY(PtlPut(handle, 0, sizeof *sent, PTL_CT_ACK_REQ, right, kCounted, kBits, 0, NULL, 0));
    wait_done(1);
    TRY(PtlMDRelease(handle));
}
static void check_put(void) { expect(exposed[0] == turn); }
static void eq_alloc(void) {
    ptl_handle_eq_t queue;
    TRY(PtlEQAlloc(matching, 64, &queue));
    TRY(PtlEQFree(queue));
}
static void ct_alloc(void) {
    ptl_handle_ct_t made;
    TRY(PtlCTAlloc(matching, &made));
    TRY(PtlCTFree(made));
}
static void pt_alloc(void) {
    ptl_pt_index_t index;
    TRY(PtlPTAlloc(matching, 0, PTL_EQ_NONE, PTL_PT_ANY, &index));
    TRY(PtlPTFree(matching, index));
}
static void pt_disable(void) {
    TRY(PtlPTDisable(matching, kTold));
    TRY(PtlPTEnable(matching, kTold));
}
static void ni_init(void) {
    ptl_handle_ni_t again;
    TRY(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &again));
    TRY(PtlNIFini(again));
}

const struct Kind objects[] = {
    {"me-append-unlink", me_append, NULL, NULL},
    {"me-append-unlink-behind-64", me_append, append_others, NULL},
    {"me-append-overflow-unlink", me_overflow, NULL, NULL},
    {"me-append-link-unlink", me_link_event, NULL, NULL},
    {"le-append-unlink", le_append, NULL, NULL},
    {"me-search-in-vain", search_in_vain, NULL, NULL},
    {"md-bind-release", md_bind, NULL, NULL},
    {"md-bind-put-release", md_bind_put, NULL, check_put},
    {"eq-alloc-free", eq_alloc, NULL, NULL},
    {"ct-alloc-free", ct_alloc, NULL, NULL},
    {"pt-alloc-free", pt_alloc, NULL, NULL},
    {"pt-disable-enable", pt_disable, NULL, NULL},
    {"ni-init-fini", ni_init, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

static void make_counter(void) { TRY(PtlCTAlloc(matching, &counter)); }
static void ct_get(void) {
    ptl_ct_event_t seen;
    TRY(PtlCTGet(counter, &seen));
}
static void ct_set(void) {
    const ptl_ct_event_t value = {(ptl_size_t)++turn, 0};
    TRY(PtlCTSet(counter, value));
}
static void ct_inc(void) {
    ++turn;
    TRY(PtlCTInc(counter, one));
}
static void ct_inc_wait(void) {
    ptl_ct_event_t seen;
    ct_inc();
    TRY(PtlCTWait(counter, ++counted_to, &seen));
    expect(seen.success == counted_to);
}
static void ct_inc_soon(void) {
    ptl_ct_event_t seen;
    ++turn;
    TRY(PtlxCTIncSoon(counter, one));
    TRY(PtlCTWait(counter, ++counted_to, &seen));
}
static void ct_poll(void) {
    ptl_ct_event_t seen;
    unsigned which;
    const ptl_size_t none = 0;
    TRY(PtlCTPoll(&counter, &none, 1, 0, &seen, &which));
}
static void ct_poll_in_vain(void) {
    ptl_ct_event_t seen;
    unsigned which;
    const ptl_size_t many = 1000000000;
    expect(PtlCTPoll(&counter, &many, 1, 0, &seen, &which) == PTL_CT_NONE_REACHED);
}
static void check_counter(void) {
    ptl_ct_event_t seen;
    TRY(PtlCTGet(counter, &seen));
    expect(seen.success == (ptl_size_t)turn);
}
static void ct_cancel(void) { TRY(PtlCTCancelTriggered(counter)); }
static void eq_get(void) {
    ptl_event_t event;
    expect(PtlEQGet(arrival_events, &event) == PTL_EQ_EMPTY);
}
static void eq_poll(void) {
    ptl_event_t event;
    unsigned which;
    expect(PtlEQPoll(&arrival_events, 1, 0, &event, &which) == PTL_EQ_EMPTY);
}
static void get_id(void) {
    ptl_process_t id;
    TRY(PtlGetId(matching, &id));
    expect((int)id.rank == me);
}
static void get_phys_id(void) {
    ptl_process_t id;
    TRY(PtlGetPhysId(matching, &id));
}
static void get_uid(void) {
    ptl_uid_t uid;
    TRY(PtlGetUid(matching, &uid));
}
static void ni_status(void) {
    ptl_sr_value_t dropped;
    TRY(PtlNIStatus(matching, PTL_SR_DROP_COUNT, &dropped));
    expect(dropped == 0);
}
static void ni_handle(void) {
    ptl_handle_ni_t whose;
    TRY(PtlNIHandle(done, &whose));
    expect(PtlHandleIsEqual(whose, matching));
}
static void progress(void) { PtlxProgress(); }

const struct Kind counters_and_queues[] = {
    {"ct-get", ct_get, make_counter, NULL},
    {"ct-set", ct_set, make_counter, check_counter},
    {"ct-inc", ct_inc, make_counter, check_counter},
    {"ct-inc-wait", ct_inc_wait, make_counter, check_counter},
    {"ct-inc-soon-wait", ct_inc_soon, make_counter, check_counter},
    {"ct-poll", ct_poll, make_counter, NULL},
    {"ct-poll-in-vain", ct_poll_in_vain, make_counter, NULL},
    {"ct-cancel-triggered", ct_cancel, make_counter, NULL},
    {"eq-get-in-vain", eq_get, NULL, NULL},
    {"eq-poll-in-vain", eq_poll, NULL, NULL},
    {"get-id", get_id, NULL, NULL},
    {"get-phys-id", get_phys_id, NULL, NULL},
    {"get-uid", get_uid, NULL, NULL},
    {"ni-status", ni_status, NULL, NULL},
    {"ni-handle", ni_handle, NULL, NULL},
    {"progress", progress, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
