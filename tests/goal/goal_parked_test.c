/* Operations that a program parks itself in a schedule (GOAL_Park): puts, gets and atomics on memory that the ranks expose, with messages
 * before and behind them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/goal/goal.h"
#include "engine/goal/goal_call.h"
#include "portals/portals4.h"
#include "tests/goal/check.h"

static int rank, size;

enum { kBits = 0x5a5a, kWords = 3000 };

/* The memory that others put to and add to. */
static struct {
    uint64_t words[kWords], sum;
} exposed;

static ptl_handle_ni_t ni;
static ptl_pt_index_t table;

/* A put of words to a rank, and the addition of one; or a get of them. */
struct access {
    uint64_t *words;
    int rank, gets;
    ptl_match_bits_t bits;
    ptl_handle_md_t memory;
    int parked;
};

static int park(void *argument, uint32_t trigger, uint64_t threshold, uint32_t counter) {
    static const uint64_t one = 1;
    struct access *access = argument;
    ptl_process_t target;
    ptl_md_t md = {NULL, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, counter};
    int code = access->parked++ == 0 ? PtlMDBind(ni, &md, &access->memory) : PTL_FAIL;
    target.rank = (ptl_rank_t)access->rank;
    if (code != PTL_OK) return code;
    if (access->gets)
        return PtlTriggeredGet(access->memory, (ptl_size_t)access->words, sizeof exposed.words, target, table, access->bits, 0, NULL,
                               trigger, threshold);
    code = PtlTriggeredPut(access->memory, (ptl_size_t)access->words, sizeof exposed.words, PTL_CT_ACK_REQ, target, table, access->bits, 0,
                           NULL, 0, trigger, threshold);
    if (code != PTL_OK) return code;
    return PtlTriggeredAtomic(access->memory, (ptl_size_t)&one, sizeof one, PTL_CT_ACK_REQ, target, table, access->bits,
                              sizeof exposed.words, NULL, 0, PTL_SUM, PTL_UINT64_T, trigger, threshold);
}

static void run(GOAL_Schedule schedule) {
    GOAL_Request request;
    OK(GOAL_Run(schedule, &request));
    OK(GOAL_Wait(&request));
}

/* Until all ranks have called it. */
static void meet(void) {
    GOAL_Schedule schedule;
    OK(GOAL_Create(&schedule));
    for (int peer = 0; peer < size; ++peer) {
        OK(GOAL_Send(schedule, GOAL_User(NULL), 0, peer, 0, NULL));
        OK(GOAL_Recv(schedule, GOAL_User(NULL), 0, peer, 0, NULL));
    }
    OK(GOAL_Compile(schedule));
    run(schedule);
    OK(GOAL_Free(&schedule));
}

static void release(struct access *access) {
    while (PtlMDRelease(access->memory) == PTL_IN_USE) {}
}

/* More executions than GOAL's match bits tell apart: those of the program's operations stay. The receive takes the place of what was put,
 * and must not come before that. */
static void what_is_parked_runs_in_its_place(void) {
    static uint64_t out[kWords], back[kWords], copy[kWords], reply;
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    struct access put = {.words = out, .rank = right, .bits = kBits}, get = {.words = back, .rank = right, .gets = 1, .bits = kBits};
    GOAL_Schedule s;
    GOAL_Op set, token, arrived, seen, got, used, answer, last;
    OK(GOAL_Create(&s));
    OK(GOAL_Local(s, GOAL_ADD, GOAL_UINT64, GOAL_User(out), GOAL_User(out), GOAL_User(copy), kWords, &set));
    OK(GOAL_Park(s, park, &put, 2, GOAL_User(out), sizeof out, right, &token));
    OK(GOAL_Requires(s, token, set));
    OK(GOAL_Park(s, park, &get, 1, GOAL_User(back), sizeof back, right, &got));
    OK(GOAL_Requires(s, got, token));
    OK(GOAL_Send(s, GOAL_User(NULL), 0, right, 0, &answer));
    OK(GOAL_Requires(s, answer, got));
    OK(GOAL_Recv(s, GOAL_User(NULL), 0, left, 0, &arrived));
    OK(GOAL_Local(s, GOAL_COPY, GOAL_UINT64, GOAL_User(copy), GOAL_User(exposed.words), GOAL_User(NULL), kWords, &seen));
    OK(GOAL_Requires(s, seen, arrived));
    OK(GOAL_Requires(s, seen, set));
    OK(GOAL_Local(s, GOAL_COPY, GOAL_UINT64, GOAL_User(&reply), GOAL_User(back), GOAL_User(NULL), 1, &used));
    OK(GOAL_Requires(s, used, got));
    OK(GOAL_Send(s, GOAL_User(copy), 8, left, 1, &last));
    OK(GOAL_Requires(s, last, seen));
    OK(GOAL_Recv(s, GOAL_User(back), 8, right, 1, &last));
    OK(GOAL_Requires(s, last, used));
    OK(GOAL_Compile(s));
    CHECK(put.parked == 1 && get.parked == 1);
    meet();
    for (uint64_t epoch = 1; epoch <= 300; ++epoch) {
        memset(copy, 0, sizeof copy);
        for (uint64_t i = 0; i < kWords; ++i) out[i] = epoch * 100000 + (uint64_t)rank * 10000 + i;
        run(s);
        for (uint64_t i = 0; i < kWords; ++i) CHECK(copy[i] == epoch * 100000 + (uint64_t)left * 10000 + i);
        CHECK(back[1] == out[1] && reply == out[0] && back[0] == out[0]);
        CHECK(exposed.sum == epoch);
        meet();
    }
    size_t bytes = 0;
    CHECK(GOAL_Save(s, NULL, &bytes) == GOAL_ERR_ARG);
    OK(GOAL_Free(&s));
    release(&put);
    release(&get);
}

/* A message that comes early waits where others change the memory that it is for: here until another schedule sends what its receive requires. */
static void a_message_is_not_received_into_exposed_memory_before_its_time(void) {
    static uint64_t one, word;
    GOAL_Schedule s, gate;
    GOAL_Request request, opened;
    GOAL_Op open, receive;
    OK(GOAL_Create(&gate));
    OK(GOAL_Context(gate, 5));
    OK(GOAL_Send(gate, GOAL_User(NULL), 0, rank, 2, NULL));
    OK(GOAL_Compile(gate));
    OK(GOAL_Create(&s));
    OK(GOAL_Context(s, 5));
    OK(GOAL_Exposed(s, exposed.words, sizeof exposed.words));
    OK(GOAL_Send(s, GOAL_User(&one), sizeof one, rank, 0, NULL));
    OK(GOAL_Recv(s, GOAL_User(NULL), 0, rank, 2, &open));
    OK(GOAL_Recv(s, GOAL_User(&exposed.words[5]), sizeof one, rank, 0, &receive));
    OK(GOAL_Requires(s, receive, open));
    OK(GOAL_Send(s, GOAL_User(&one), sizeof one, rank, 1, NULL));
    OK(GOAL_Recv(s, GOAL_User(&word), sizeof one, rank, 1, NULL));
    OK(GOAL_Compile(s));
    for (one = 1; one < 3; ++one) {
        int done = 0;
        exposed.words[5] = 77;
        word = 0;
        OK(GOAL_Run(s, &request));
        while (*(volatile uint64_t *)&word == 0) OK(GOAL_Test(&request, &done));
        CHECK(!done && *(volatile uint64_t *)&exposed.words[5] == 77);
        OK(GOAL_Run(gate, &opened));
        OK(GOAL_Wait(&request));
        OK(GOAL_Wait(&opened));
        CHECK(exposed.words[5] == one);
    }
    OK(GOAL_Free(&s));
    OK(GOAL_Free(&gate));
}

/* No entry takes it: the acknowledgement says so. */
static void a_put_that_fails_fails_the_execution(void) {
    static uint64_t out[kWords];
    struct access put = {.words = out, .rank = (rank + 1) % size, .bits = kBits + 1};
    GOAL_Schedule s;
    GOAL_Request request;
    OK(GOAL_Create(&s));
    OK(GOAL_Park(s, park, &put, 2, GOAL_User(out), sizeof out, put.rank, NULL));
    OK(GOAL_Compile(s));
    if (GOAL_Run(s, &request) == GOAL_SUCCESS) CHECK(GOAL_Wait(&request) == GOAL_ERR_FAILED);
    CHECK(GOAL_Run(s, &request) == GOAL_ERR_STATE);
    OK(GOAL_Free(&s));
    release(&put);
}

static int refuse(void *argument, uint32_t trigger, uint64_t threshold, uint32_t counter) {
    (void)trigger, (void)threshold, (void)counter;
    return *(int *)argument;
}

static void mistakes_are_told(void) {
    int code = PTL_NO_SPACE;
    GOAL_Schedule s;
    GOAL_Group all = {.size = size, .rank = rank};
    size_t bytes = 0;
    OK(GOAL_Create(&s));
    CHECK(GOAL_Park(NULL, refuse, &code, 1, GOAL_User(NULL), 0, rank, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Park(s, NULL, &code, 1, GOAL_User(NULL), 0, rank, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Park(s, refuse, &code, 0, GOAL_User(NULL), 0, rank, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Park(s, refuse, &code, 1, GOAL_User(NULL), 8, rank, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Park(s, refuse, &code, 1, GOAL_User(NULL), 0, size, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Park(s, refuse, &code, 1, GOAL_User(NULL), 0, -1, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Exposed(s, NULL, 1) == GOAL_ERR_ARG);
    CHECK(GOAL_Exposed(s, &code, SIZE_MAX) == GOAL_ERR_ARG);
    OK(GOAL_Park(s, refuse, &code, 1, GOAL_User(NULL), 0, rank, NULL));
    CHECK(GOAL_Text(s, &all, NULL, &bytes) == GOAL_ERR_ARG);
    CHECK(GOAL_Compile(s) == GOAL_ERR_NO_SPACE);
    CHECK(GOAL_Park(s, refuse, &code, 1, GOAL_User(NULL), 0, rank, NULL) == GOAL_ERR_STATE);
    OK(GOAL_Free(&s));
}

int main(void) {
    OK(GOAL_Init(&rank, &size));
    OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &table));
    ptl_handle_me_t entry;
    ptl_me_t me = {.start = &exposed, .length = sizeof exposed, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY, .match_bits = kBits};
    me.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
    me.match_id.rank = PTL_RANK_ANY;
    OK(PtlMEAppend(ni, table, &me, PTL_PRIORITY_LIST, NULL, &entry));
    meet();
    what_is_parked_runs_in_its_place();
    a_message_is_not_received_into_exposed_memory_before_its_time();
    a_put_that_fails_fails_the_execution();
    mistakes_are_told();
    meet();
    OK(PtlMEUnlink(entry));
    OK(PtlPTFree(ni, table));
    OK(PtlNIFini(ni));
    OK(GOAL_Finalize());
    return 0;
}
