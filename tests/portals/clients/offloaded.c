/* offloaded.c: a barrier and an allreduce out of triggered operations alone, as libraries of offloaded collectives build them: armed for many
 * rounds ahead, run by counters while the program does something else, looked at only at the end. */
#include <stdint.h>
#include <string.h>

#include "launch.h"

enum { ROUNDS = 50, UP = 0, DOWN = 1, DONE = 2 };

static ptl_handle_ni_t ni;
static ptl_handle_md_t all_memory;
static ptl_handle_ct_t arrived[3];
static uint64_t sum[ROUNDS], total[ROUNDS]; /* at every rank: of the subtree; of all, from the root */
static uint64_t mine[ROUNDS];

static ptl_size_t at(const void *memory) { return (ptl_size_t)(uintptr_t)memory; }

static void offer(ptl_match_bits_t bits, void *start, ptl_size_t length) {
    ptl_me_t me;
    ptl_handle_me_t handle;
    memset(&me, 0, sizeof me);
    MUST(PtlCTAlloc(ni, &arrived[bits]) == PTL_OK);
    me.start = start;
    me.length = length;
    me.ct_handle = arrived[bits];
    me.uid = PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE;
    me.match_id.rank = PTL_RANK_ANY;
    me.match_bits = bits;
    MUST(PtlMEAppend(ni, 0, &me, PTL_PRIORITY_LIST, NULL, &handle) == PTL_OK);
}

int main(int argc, char **argv) {
    struct launch job;
    ptl_process_t map[64], self = {0}, parent = {0};
    ptl_pt_index_t index;
    ptl_ct_event_t value;
    launch_open(&job, argc, argv);
    MUST(job.size <= 64);
    MUST(PtlInit() == PTL_OK);
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
    launch_addresses(&job, ni, map);
    const int mapped = PtlSetMap(ni, (ptl_size_t)job.size, map);
    MUST(mapped == PTL_OK || mapped == PTL_IGNORED);
    MUST(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &index) == PTL_OK && index == 0);
    const ptl_md_t md = {NULL, PTL_SIZE_MAX, 0, PTL_EQ_NONE, PTL_CT_NONE};
    MUST(PtlMDBind(ni, &md, &all_memory) == PTL_OK);
    offer(UP, sum, sizeof sum);
    offer(DOWN, total, sizeof total);
    offer(DONE, NULL, 0);
    launch_meet(&job);

    /* A binary tree. Every rank adds its own number to its subtree's sum, by an atomic to itself; when that and those of the children
     * are there, the sum goes to the parent; what the root has goes down again. All rounds are armed before the first begins. */
    const int first_child = 2 * job.rank + 1, children = first_child + 1 < job.size ? 2 : first_child < job.size ? 1 : 0;
    const uint64_t each = 1 + (uint64_t)children;
    self.rank = (ptl_rank_t)job.rank;
    parent.rank = (ptl_rank_t)((job.rank - 1) / 2);
    for (uint64_t round = 0; round < ROUNDS; ++round) {
        const ptl_size_t word = 8 * round;
        mine[round] = (uint64_t)(job.rank + 1) * (round + 1);
        if (job.rank != 0) {
            MUST(PtlTriggeredAtomic(all_memory, at(&sum[round]), 8, PTL_NO_ACK_REQ, parent, 0, UP, word, NULL, 0, PTL_SUM, PTL_UINT64_T, arrived[UP],
                                    each * (round + 1)) == PTL_OK);
        } else {
            MUST(PtlTriggeredPut(all_memory, at(&sum[round]), 8, PTL_NO_ACK_REQ, self, 0, DOWN, word, NULL, 0, arrived[UP], each * (round + 1)) == PTL_OK);
        }
        for (int child = 0; child < children; ++child) {
            ptl_process_t to = {0};
            to.rank = (ptl_rank_t)(first_child + child);
            MUST(PtlTriggeredPut(all_memory, at(&total[round]), 8, PTL_NO_ACK_REQ, to, 0, DOWN, word, NULL, 0, arrived[DOWN], round + 1) == PTL_OK);
        }
        /* The next round begins here when this one has ended: a barrier, too. The last tells the program. */
        if (round + 1 < ROUNDS)
            MUST(PtlTriggeredAtomic(all_memory, at(&mine[round + 1]), 8, PTL_NO_ACK_REQ, self, 0, UP, word + 8, NULL, 0, PTL_SUM, PTL_UINT64_T,
                                    arrived[DOWN], round + 1) == PTL_OK);
        else
            MUST(PtlTriggeredPut(all_memory, 0, 0, PTL_NO_ACK_REQ, self, 0, DONE, 0, NULL, 0, arrived[DOWN], ROUNDS) == PTL_OK);
    }
    launch_meet(&job);
    MUST(PtlAtomic(all_memory, at(&mine[0]), 8, PTL_NO_ACK_REQ, self, 0, UP, 0, NULL, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
    MUST(PtlCTWait(arrived[DONE], 1, &value) == PTL_OK && value.failure == 0);
    for (uint64_t round = 0; round < ROUNDS; ++round)
        MUST(total[round] == (round + 1) * (uint64_t)job.size * (uint64_t)(job.size + 1) / 2);
    launch_meet(&job);
    MUST(PtlNIFini(ni) == PTL_OK);
    PtlFini();
    launch_close(&job);
    return 0;
}
