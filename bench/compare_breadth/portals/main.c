/* One kind of Portals call in a loop from PtlInit on: what do its first rounds take, and what the later ones?
 *
 * usage: breadth_portals KIND ROUNDS. Rank 0 prints one line: microseconds a round, of the rank that takes longest, of the first 40 rounds
 * and of the second half, and context switches a round there, the mean of the ranks.
 */
#include "kinds.h"

int me, ranks, wrong;
ptl_process_t right;
ptl_handle_ni_t matching, plain;
ptl_handle_md_t counted, told, unmatched;
ptl_handle_ct_t done, plain_done, arrived;
ptl_handle_eq_t own_events, arrival_events;
long *sent, *received, *exposed, turn;

static const struct Kind *const tables[] = {moves, arrivals, objects, counters_and_queues, triggered};

void wait_done(ptl_size_t more) {
    static ptl_size_t all;
    ptl_ct_event_t seen;
    TRY(PtlCTWait(done, all += more, &seen));
    expect(seen.failure == 0);
}

ptl_me_t entry(unsigned options, ptl_handle_ct_t counter, ptl_match_bits_t bits) {
    const ptl_me_t me_of_all = {.start = exposed, .length = kLong * sizeof *exposed, .ct_handle = counter, .uid = PTL_UID_ANY,
                                .options = options, .match_id = {.rank = PTL_RANK_ANY}, .match_bits = bits};
    return me_of_all;
}

static void append(ptl_pt_index_t index, unsigned options, ptl_handle_ct_t counter, ptl_list_t list) {
    ptl_handle_me_t handle;
    const ptl_me_t of_all = entry(options, counter, kBits);
    TRY(PtlMEAppend(matching, index, &of_all, list, NULL, &handle));
}

static void bind(ptl_handle_ni_t ni, ptl_handle_ct_t counter, ptl_handle_eq_t events, ptl_handle_md_t *handle) {
    const ptl_md_t all = {.start = NULL, .length = PTL_SIZE_MAX, .eq_handle = events, .ct_handle = counter,
                          .options = PTL_MD_EVENT_SEND_DISABLE | (counter != PTL_CT_NONE ? PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY : 0)};
    TRY(PtlMDBind(ni, &all, handle));
}

static void make_matching(void) {
    ptl_pt_index_t index;
    TRY(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &matching));
    TRY(PtlxJobMap(matching));
    TRY(PtlCTAlloc(matching, &done));
    TRY(PtlCTAlloc(matching, &arrived));
    TRY(PtlEQAlloc(matching, 1024, &own_events));
    TRY(PtlEQAlloc(matching, 1024, &arrival_events));
    TRY(PtlPTAlloc(matching, 0, PTL_EQ_NONE, kCounted, &index));
    TRY(PtlPTAlloc(matching, 0, arrival_events, kTold, &index));
    TRY(PtlPTAlloc(matching, 0, arrival_events, kLate, &index));
    bind(matching, done, PTL_EQ_NONE, &counted);
    bind(matching, PTL_CT_NONE, own_events, &told);
    append(kCounted, QUIET_ENTRY | PTL_ME_EVENT_CT_COMM, arrived, PTL_PRIORITY_LIST);
    append(kTold, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, PTL_CT_NONE, PTL_PRIORITY_LIST);
    append(kLate, QUIET_ENTRY | PTL_ME_EVENT_CT_COMM, arrived, PTL_OVERFLOW_LIST);
}

static void make_plain(void) {
    ptl_pt_index_t index;
    ptl_handle_le_t handle;
    const ptl_le_t of_all = {.start = exposed, .length = kLong * sizeof *exposed, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                             .options = QUIET_ENTRY};
    TRY(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &plain));
    TRY(PtlxJobMap(plain));
    TRY(PtlCTAlloc(plain, &plain_done));
    TRY(PtlPTAlloc(plain, 0, PTL_EQ_NONE, kPlain, &index));
    TRY(PtlLEAppend(plain, kPlain, &of_all, PTL_PRIORITY_LIST, NULL, &handle));
    bind(plain, plain_done, PTL_EQ_NONE, &unmatched);
}

/* All ranks have come here. A rank that is done waits in a call of Portals, as programs do, and so serves the others. */
static void meet(ptl_handle_ct_t met) {
    ptl_ct_event_t seen;
    for (int r = 0; r < ranks; ++r) {
        const ptl_process_t whom = {.rank = (ptl_rank_t)r};
        TRY(PtlPut(told, 0, 0, PTL_NO_ACK_REQ, whom, kMeeting, kBits, 0, NULL, 0));
    }
    TRY(PtlCTWait(met, (ptl_size_t)ranks, &seen));
}

static ptl_handle_ct_t make_meeting(void) {
    ptl_handle_ct_t met;
    ptl_pt_index_t index;
    TRY(PtlCTAlloc(matching, &met));
    TRY(PtlPTAlloc(matching, 0, PTL_EQ_NONE, kMeeting, &index));
    append(kMeeting, QUIET_ENTRY | PTL_ME_EVENT_CT_COMM, met, PTL_PRIORITY_LIST);
    return met;
}

int main(int argc, char **argv) {
    ptlx_job_t job;
    long count;
    TRY(PtlxJobInit(&job));
    me = job.rank;
    ranks = job.size;
    right.rank = (ptl_rank_t)((me + 1) % ranks);
    const struct Kind *const kind = chosen_kind(tables, sizeof tables / sizeof tables[0], argc, argv, &count);
    sent = calloc(kLong, sizeof *sent);
    received = calloc(kLong, sizeof *received);
    exposed = calloc(kLong, sizeof *exposed);
    TRY(PtlInit());
    make_matching();
    make_plain();
    const ptl_handle_ct_t met = make_meeting();
    if (kind->prepare) kind->prepare();
    TRY(PtlxJobFence());
    const struct Took took = measured(kind, count);
    meet(met);
    if (kind->end) kind->end();
    const int status = report(kind, took, me, ranks);
    PtlNIFini(plain);
    PtlNIFini(matching);
    PtlFini();
    PtlxJobFini();
    return status;
}
