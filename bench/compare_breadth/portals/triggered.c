/* Triggered operations: each is parked on a counter, which then arrives at the threshold. */
#include "kinds.h"

enum { kChain = 16, kBytes = kCount * sizeof(long), kUnused = 11 };
static ptl_handle_ct_t trigger, other;
static ptl_size_t threshold, reached;
static const ptl_ct_event_t one = {1, 0};

static void make_counters(void) {
    TRY(PtlCTAlloc(matching, &trigger));
    TRY(PtlCTAlloc(matching, &other));
    sent[0] = 1;
    exposed[1] = me + 1;
}
static void check_put(void) { expect(exposed[0] == turn); }
static void fire(void) { TRY(PtlCTInc(trigger, one)); }
static void fire_and_wait(void) {
    fire();
    wait_done(1);
}
static void await_other(void) {
    ptl_ct_event_t seen;
    TRY(PtlCTWait(other, ++reached, &seen));
    expect(seen.success == reached);
}

static void park_put(void) {
    TRY(PtlTriggeredPut(counted, at(sent), kBytes, PTL_CT_ACK_REQ, right, kCounted, kBits, 0, NULL, 0, trigger, ++threshold));
}
static void put(void) {
    sent[0] = ++turn;
    park_put();
    fire_and_wait();
}
static void get(void) {
    received[0] = 0;
    TRY(PtlTriggeredGet(counted, at(received), sizeof(long), right, kCounted, kBits, sizeof(long), NULL, trigger, ++threshold));
    fire_and_wait();
    expect(received[0] == (long)right.rank + 1);
}
static void atomic(void) {
    ++turn;
    TRY(PtlTriggeredAtomic(counted, at(sent), sizeof(long), PTL_CT_ACK_REQ, right, kCounted, kBits, 0, NULL, 0, PTL_SUM, PTL_INT64_T, trigger,
                           ++threshold));
    fire_and_wait();
}
static void fetch_atomic(void) {
    TRY(PtlTriggeredFetchAtomic(counted, at(received), counted, at(sent), sizeof(long), right, kCounted, kBits, 0, NULL, 0, PTL_SUM, PTL_INT64_T,
                                trigger, ++threshold));
    fire_and_wait();
    expect(received[0] == turn++);
}
static void swap(void) {
    sent[0] = turn + 1;
    TRY(PtlTriggeredSwap(counted, at(received), counted, at(sent), sizeof(long), right, kCounted, kBits, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT64_T,
                         trigger, ++threshold));
    fire_and_wait();
    expect(received[0] == turn++);
}
static void ct_inc(void) {
    TRY(PtlTriggeredCTInc(other, one, trigger, ++threshold));
    fire();
    await_other();
}
static void ct_set(void) {
    const ptl_ct_event_t value = {reached + 1, 0};
    TRY(PtlTriggeredCTSet(other, value, trigger, ++threshold));
    fire();
    await_other();
}
/* Each increment sets off the next. */
static void chain(void) {
    ptl_ct_event_t seen;
    for (int i = 0; i < kChain; ++i) TRY(PtlTriggeredCTInc(trigger, one, trigger, ++threshold));
    fire();
    TRY(PtlCTWait(trigger, ++threshold, &seen));
    expect(seen.success == threshold);
}
static void append_and_unlink(void) {
    static ptl_me_t mine;
    static ptl_handle_me_t handle;
    mine = entry(QUIET_ENTRY, PTL_CT_NONE, kUnused);
    TRY(PtlTriggeredMEAppend(matching, kCounted, &mine, PTL_PRIORITY_LIST, NULL, &handle, trigger, ++threshold));
    fire();
    TRY(PtlTriggeredMEUnlink(handle, trigger, ++threshold));
    fire();
}
static void cancel(void) {
    TRY(PtlTriggeredCTInc(other, one, trigger, 1000000000));
    TRY(PtlCTCancelTriggered(trigger));
}
/* The ranks' engines pass a put on around the ring; rank 0 begins, and all wait until it is around. */
static void pass_on(void) {
    ptl_ct_event_t seen;
    ++turn;
    if (me != 0)
        TRY(PtlTriggeredPut(counted, at(exposed), sizeof(long), PTL_NO_ACK_REQ, right, kCounted, kBits, 0, NULL, 0, arrived, (ptl_size_t)turn));
    sent[0] = turn;
    if (me == 0) TRY(PtlPut(counted, at(sent), sizeof(long), PTL_NO_ACK_REQ, right, kCounted, kBits, 0, NULL, 0));
    TRY(PtlCTWait(arrived, (ptl_size_t)turn, &seen));
    expect(exposed[0] >= turn); /* rank 0 may have begun the next round */
}
static void notify(void) {
    static uint64_t word;
    TRY(PtlxTriggeredNotify(matching, &word, -1, 0, trigger, ++threshold));
    fire();
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) < threshold) PtlxProgress();
}

/* Parked once: it waits again, for the next threshold. */
static void make_repeating(void) {
    make_counters();
    TRY(PtlxCTRepeat(trigger, 1, 0));
    park_put();
}
static void again(void) {
    sent[0] = ++turn;
    fire_and_wait();
}
static void again_soon(void) {
    sent[0] = ++turn;
    TRY(PtlxCTIncSoon(trigger, one));
    wait_done(1);
}
static void stop(void) {
    check_put();
    TRY(PtlCTCancelTriggered(trigger));
}

const struct Kind triggered[] = {
    {"triggered-put", put, make_counters, check_put},
    {"triggered-get", get, make_counters, NULL},
    {"triggered-atomic", atomic, make_counters, check_put},
    {"triggered-fetch-atomic", fetch_atomic, make_counters, check_put},
    {"triggered-swap", swap, make_counters, check_put},
    {"triggered-ct-inc", ct_inc, make_counters, NULL},
    {"triggered-ct-set", ct_set, make_counters, NULL},
    {"triggered-chain-of-16", chain, make_counters, NULL},
    {"triggered-append-unlink", append_and_unlink, make_counters, NULL},
    {"triggered-cancel", cancel, make_counters, NULL},
    {"triggered-around-ring", pass_on, NULL, NULL},
    {"triggered-notify", notify, make_counters, NULL},
    {"repeated-put", again, make_repeating, stop},
    {"repeated-put-soon", again_soon, make_repeating, stop},
    {NULL, NULL, NULL, NULL},
};
