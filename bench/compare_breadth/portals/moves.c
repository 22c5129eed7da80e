/* Data movement to and from the right neighbour's memory; and what arrives there: counted, as an event, expected and not. */
#include "kinds.h"

enum { kBytes = kCount * sizeof(long) };
static ptl_size_t came; /* messages of the ring so far */
static ptl_handle_md_t scattered, sending;
static ptl_iovec_t pieces[4];

static void next(void) { sent[0] = ++turn; }
static void check_put(void) { expect(exposed[0] == turn); }
static void check_long(void) { expect(exposed[0] == turn && exposed[kLong - 1] == -1); }
static void fill(void) { sent[kLong - 1] = -1; }
static void offer(void) {
    for (int i = 0; i < kLong; ++i) exposed[i] = me + 1;
}
static void check_got(void) { expect(received[0] == (long)right.rank + 1); }
static ptl_event_t next_event(ptl_handle_eq_t queue, ptl_event_kind_t type) {
    ptl_event_t event;
    TRY(PtlEQWait(queue, &event));
    expect(event.type == type && event.ni_fail_type == PTL_NI_OK);
    return event;
}

static void put_to(ptl_process_t whom, ptl_size_t bytes, ptl_ack_req_t ack) {
    next();
    TRY(PtlPut(counted, at(sent), bytes, ack, whom, kCounted, kBits, 0, NULL, 0));
    wait_done(1);
}
static void put_ct_ack(void) { put_to(right, kBytes, PTL_CT_ACK_REQ); }
static void put_oc_ack(void) { put_to(right, kBytes, PTL_OC_ACK_REQ); }
static void put_4k(void) { put_to(right, 4096, PTL_CT_ACK_REQ); }
static void put_long(void) { put_to(right, kLong * sizeof(long), PTL_CT_ACK_REQ); }
static void put_self(void) {
    const ptl_process_t myself = {.rank = (ptl_rank_t)me};
    put_to(myself, kBytes, PTL_CT_ACK_REQ);
}
static void put_nothing(void) { put_to(right, 0, PTL_CT_ACK_REQ); }
static void put_ack(void) {
    next();
    TRY(PtlPut(told, at(sent), kBytes, PTL_ACK_REQ, right, kCounted, kBits, 0, NULL, 0));
    next_event(own_events, PTL_EVENT_ACK);
}
static void put_send(void) {
    next();
    TRY(PtlPut(sending, at(sent), kBytes, PTL_NO_ACK_REQ, right, kCounted, kBits, 0, NULL, 0));
    next_event(own_events, PTL_EVENT_SEND);
}
static void eight(void) {
    next();
    for (int i = 0; i < 8; ++i) TRY(PtlPut(counted, at(sent), kBytes, PTL_CT_ACK_REQ, right, kCounted, kBits, 0, NULL, 0));
}
static void put_eight(void) {
    eight();
    wait_done(8);
}
static void put_bundle(void) {
    TRY(PtlStartBundle(matching));
    eight();
    TRY(PtlEndBundle(matching));
    wait_done(8);
}
static void put_pieces(void) {
    next();
    TRY(PtlPut(scattered, 0, 4 * sizeof(long), PTL_CT_ACK_REQ, right, kCounted, kBits, 0, NULL, 0));
    wait_done(1);
}
static void get_of(ptl_size_t bytes) {
    received[0] = 0;
    TRY(PtlGet(counted, at(received), bytes, right, kCounted, kBits, 0, NULL));
    wait_done(1);
    check_got();
}
static void get(void) { get_of(kBytes); }
static void get_long(void) { get_of(kLong * sizeof(long)); }
static void get_event(void) {
    received[0] = 0;
    TRY(PtlGet(told, at(received), kBytes, right, kCounted, kBits, 0, NULL));
    next_event(own_events, PTL_EVENT_REPLY);
    check_got();
}
static void atomic_of(ptl_size_t bytes) {
    ++turn;
    TRY(PtlAtomic(counted, at(sent), bytes, PTL_CT_ACK_REQ, right, kCounted, kBits, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
    wait_done(1);
}
static void atomic(void) { atomic_of(sizeof(long)); }
static void atomic_vector(void) { atomic_of(kBytes); }
static void fetch_atomic(void) {
    TRY(PtlFetchAtomic(counted, at(received), counted, at(sent), sizeof(long), right, kCounted, kBits, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
    wait_done(1);
    expect(received[0] == turn++);
}
static void swap_by(ptl_op_t operation, long operand) {
    sent[0] = turn + 1;
    TRY(PtlSwap(counted, at(received), counted, at(sent), sizeof(long), right, kCounted, kBits, 0, NULL, 0, &operand, operation, PTL_INT64_T));
    wait_done(1);
    expect(received[0] == turn++);
}
static void swap(void) { swap_by(PTL_SWAP, 0); }
static void compare_swap(void) { swap_by(PTL_CSWAP, turn); }
static void masked_swap(void) { swap_by(PTL_MSWAP, -1); }
static void atomic_sync(void) { TRY(PtlAtomicSync()); }

/* Without matching. */
static void plain_wait(void) {
    static ptl_size_t all;
    ptl_ct_event_t seen;
    TRY(PtlCTWait(plain_done, ++all, &seen));
    expect(seen.failure == 0);
}
static void put_plain(void) {
    next();
    TRY(PtlPut(unmatched, at(sent), kBytes, PTL_CT_ACK_REQ, right, kPlain, 0, 0, NULL, 0));
    plain_wait();
}
static void get_plain(void) {
    received[0] = 0;
    TRY(PtlGet(unmatched, at(received), kBytes, right, kPlain, 0, 0, NULL));
    plain_wait();
    check_got();
}
static void fetch_atomic_plain(void) {
    TRY(PtlFetchAtomic(unmatched, at(received), unmatched, at(sent), sizeof(long), right, kPlain, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
    plain_wait();
    expect(received[0] == turn++);
}

static void add_one(void) {
    for (int i = 0; i < kCount; ++i) sent[i] = 1;
}
static void make_pieces(void) {
    for (int i = 0; i < 4; ++i) {
        pieces[i].iov_base = sent + 8 * i;
        pieces[i].iov_len = sizeof *sent;
    }
    const ptl_md_t md = {.start = pieces, .length = 4, .options = PTL_IOVEC | PTL_MD_EVENT_CT_ACK, .eq_handle = PTL_EQ_NONE, .ct_handle = done};
    TRY(PtlMDBind(matching, &md, &scattered));
}
static void make_sending(void) {
    const ptl_md_t md = {.start = NULL, .length = PTL_SIZE_MAX, .eq_handle = own_events, .ct_handle = PTL_CT_NONE};
    TRY(PtlMDBind(matching, &md, &sending));
}

const struct Kind moves[] = {
    {"put-ct-ack", put_ct_ack, NULL, check_put},
    {"put-oc-ack", put_oc_ack, NULL, check_put},
    {"put-ack", put_ack, NULL, check_put},
    {"put-send", put_send, make_sending, NULL},
    {"put-0", put_nothing, NULL, NULL},
    {"put-4k", put_4k, NULL, check_put},
    {"put-256k", put_long, fill, check_long},
    {"put-self", put_self, NULL, check_put},
    {"put-eight", put_eight, NULL, check_put},
    {"put-eight-bundle", put_bundle, NULL, check_put},
    {"put-iovec", put_pieces, make_pieces, check_put},
    {"get", get, offer, NULL},
    {"get-reply", get_event, offer, NULL},
    {"get-256k", get_long, offer, NULL},
    {"atomic", atomic, add_one, check_put},
    {"atomic-vector", atomic_vector, add_one, check_put},
    {"fetch-atomic", fetch_atomic, add_one, check_put},
    {"swap", swap, NULL, check_put},
    {"compare-swap", compare_swap, NULL, check_put},
    {"masked-swap", masked_swap, NULL, check_put},
    {"atomic-sync", atomic_sync, NULL, NULL},
    {"put-plain", put_plain, NULL, check_put},
    {"get-plain", get_plain, offer, NULL},
    {"fetch-atomic-plain", fetch_atomic_plain, add_one, check_put},
    {NULL, NULL, NULL, NULL},
};

/* A put goes once around the ring of ranks; each waits for it in one of these ways, and looks before the next one can come. */
static void wait_by(void (*wait)(void)) {
    wait();
    expect(exposed[0] == turn);
}
static void around(ptl_pt_index_t index, void (*wait)(void)) {
    next();
    ++came;
    if (me != 0) wait_by(wait);
    TRY(PtlPut(counted, at(sent), kBytes, PTL_NO_ACK_REQ, right, index, kBits, 0, NULL, (ptl_hdr_data_t)turn));
    if (me == 0) wait_by(wait);
}
static void by_ct_wait(void) {
    ptl_ct_event_t seen;
    TRY(PtlCTWait(arrived, came, &seen));
}
static void by_ct_poll(void) {
    ptl_ct_event_t seen;
    unsigned which;
    TRY(PtlCTPoll(&arrived, &came, 1, PTL_TIME_FOREVER, &seen, &which));
}
static void by_ct_get(void) {
    ptl_ct_event_t seen;
    do TRY(PtlCTGet(arrived, &seen));
    while (seen.success < came);
}
static void looked_at(ptl_event_t event) { expect(event.type == PTL_EVENT_PUT && event.hdr_data == (ptl_hdr_data_t)turn); }
static void by_eq_wait(void) { looked_at(next_event(arrival_events, PTL_EVENT_PUT)); }
static void by_eq_poll(void) {
    ptl_event_t event;
    unsigned which;
    TRY(PtlEQPoll(&arrival_events, 1, PTL_TIME_FOREVER, &event, &which));
    looked_at(event);
}
static void by_eq_get(void) {
    ptl_event_t event;
    while (PtlEQGet(arrival_events, &event) != PTL_OK) continue;
    looked_at(event);
}
static void ring_ct_wait(void) { around(kCounted, by_ct_wait); }
static void ring_ct_poll(void) { around(kCounted, by_ct_poll); }
static void ring_ct_get(void) { around(kCounted, by_ct_get); }
static void ring_eq_wait(void) { around(kTold, by_eq_wait); }
static void ring_eq_poll(void) { around(kTold, by_eq_poll); }
static void ring_eq_get(void) { around(kTold, by_eq_get); }

/* Each message has a list entry of its own, which is there before it comes. */
static void append_once(void) {
    ptl_handle_me_t handle;
    const ptl_me_t once = entry(PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE, PTL_CT_NONE, kBits);
    TRY(PtlMEAppend(matching, kLate, &once, PTL_PRIORITY_LIST, NULL, &handle));
}
static void by_own_entry(void) {
    looked_at(next_event(arrival_events, PTL_EVENT_PUT));
    append_once();
}
static void ring_own_entry(void) { around(kLate, by_own_entry); }

/* Each message comes before its list entry, into the overflow list. */
static void await_unexpected(void) {
    next();
    TRY(PtlPut(counted, at(sent), kBytes, PTL_CT_ACK_REQ, right, kLate, kBits, 0, NULL, (ptl_hdr_data_t)turn));
    wait_done(1);
    ++came;
    by_ct_wait();
}
static void take_unexpected(void) {
    const ptl_event_t event = next_event(arrival_events, PTL_EVENT_PUT_OVERFLOW);
    expect(event.hdr_data == (ptl_hdr_data_t)turn && event.start == exposed);
}
static void unexpected_append(void) {
    await_unexpected();
    append_once();
    take_unexpected();
}
static void unexpected_search(void) {
    await_unexpected();
    const ptl_me_t once = entry(PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, PTL_CT_NONE, kBits);
    TRY(PtlMESearch(matching, kLate, &once, PTL_SEARCH_DELETE, NULL));
    take_unexpected();
}

const struct Kind arrivals[] = {
    {"ring-ct-wait", ring_ct_wait, NULL, NULL},
    {"ring-ct-poll", ring_ct_poll, NULL, NULL},
    {"ring-ct-get", ring_ct_get, NULL, NULL},
    {"ring-eq-wait", ring_eq_wait, NULL, NULL},
    {"ring-eq-poll", ring_eq_poll, NULL, NULL},
    {"ring-eq-get", ring_eq_get, NULL, NULL},
    {"ring-own-entry", ring_own_entry, append_once, NULL},
    {"unexpected-append", unexpected_append, NULL, NULL},
    {"unexpected-search", unexpected_search, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
