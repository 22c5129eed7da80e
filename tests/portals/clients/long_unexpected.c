/* long_unexpected.c: messages of all lengths that nobody has asked for yet, as an MPI sends them. Short ones land whole in overflow
 * blocks, which are given back as AUTO_FREE comes; of long ones only the header does, in an entry without memory: the receiver gets the
 * data from where the sender offers it. The sender reads in the acknowledgement which of the two it was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

enum { ROUNDS = 4, MESSAGES = 60, SHORT = 1024, MOST = 200000, BLOCK = 8192, BLOCKS = 4, RECEIVE = 12, READ = 13 };

static const ptl_match_bits_t LONG = (ptl_match_bits_t)1 << 63;
static ptl_handle_ni_t ni;
static ptl_handle_eq_t events;
static ptl_handle_md_t all_memory;
static ptl_process_t peers[64];
static char blocks[BLOCKS][BLOCK];
static int unlinked[BLOCKS], recycled;

static size_t length_of(int i) { return i % 3 == 0 ? 100000u + (size_t)i : (size_t)(i * 16); }
static unsigned char pattern(int rank, int round, int i, size_t at) { return (unsigned char)(rank * 31 + round * 101 + i * 7 + (int)at); }

static ptl_handle_me_t append(ptl_pt_index_t where, void *start, ptl_size_t length, unsigned options, ptl_match_bits_t bits, ptl_match_bits_t ignore,
                              ptl_list_t list, void *user) {
    ptl_me_t me;
    ptl_handle_me_t handle;
    me.start = start;
    me.length = length;
    me.ct_handle = PTL_CT_NONE;
    me.uid = PTL_UID_ANY;
    me.options = options | PTL_ME_EVENT_LINK_DISABLE;
    me.match_id.phys.nid = PTL_NID_ANY;
    me.match_id.phys.pid = PTL_PID_ANY;
    me.match_bits = bits;
    me.ignore_bits = ignore;
    me.min_free = SHORT;
    MUST(PtlMEAppend(ni, where, &me, list, user, &handle) == PTL_OK);
    return handle;
}

static void append_block(int i) {
    unlinked[i] = 0;
    append(RECEIVE, blocks[i], BLOCK, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_MAY_ALIGN | PTL_ME_EVENT_COMM_DISABLE, 0, ~LONG, PTL_OVERFLOW_LIST,
           blocks[i]);
}

/* One event that is not about overflow blocks; those are appended anew as soon as nobody refers to them. */
static ptl_event_t next_event(void) {
    for (;;) {
        ptl_event_t event;
        MUST(PtlEQWait(events, &event) == PTL_OK);
        int block = 0;
        while (block < BLOCKS && event.user_ptr != blocks[block]) ++block;
        if (block == BLOCKS) return event;
        MUST(event.type == PTL_EVENT_AUTO_UNLINK || event.type == PTL_EVENT_AUTO_FREE);
        if (event.type == PTL_EVENT_AUTO_UNLINK) {
            unlinked[block] = 1;
        } else {
            MUST(unlinked[block]);
            append_block(block);
            ++recycled;
        }
    }
}

static ptl_match_bits_t bits_of(int round, int i) {
    return (length_of(i) > SHORT ? LONG : 0) | (ptl_match_bits_t)round << 16 | (ptl_match_bits_t)i;
}

/* The data that this rank has sent in this round. */
static unsigned char *data[MESSAGES];
static ptl_handle_me_t offered[MESSAGES];
static int acknowledged, fetched, unexpected;

/* Sends all to the next rank; a long message is offered at READ until it has been fetched. */
static void send_all(int rank, int round, ptl_process_t to) {
    acknowledged = fetched = 0;
    for (int i = 0; i < MESSAGES; ++i) {
        const size_t length = length_of(i);
        data[i] = malloc(length);
        MUST(data[i]);
        for (size_t at = 0; at < length; ++at) data[i][at] = pattern(rank, round, i, at);
        if (length > SHORT)
            offered[i] = append(READ, data[i], length, PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, bits_of(round, i), 0, PTL_PRIORITY_LIST,
                                &data[i]);
        MUST(PtlPut(all_memory, (ptl_size_t)(uintptr_t)data[i], length, PTL_ACK_REQ, to, RECEIVE, bits_of(round, i), 0, &data[i], length) == PTL_OK);
    }
}

/* An event about what this rank has sent. */
static void of_sending(const ptl_event_t *event) {
    const int i = (int)((unsigned char **)event->user_ptr - data);
    MUST(event->ni_fail_type == PTL_NI_OK);
    if (event->type == PTL_EVENT_SEND) return;
    if (event->type == PTL_EVENT_GET) {
        ++fetched;
        return;
    }
    MUST(event->type == PTL_EVENT_ACK);
    ++acknowledged;
    if (length_of(i) <= SHORT) {
        MUST(event->mlength == length_of(i));
    } else if (event->ptl_list == PTL_PRIORITY_LIST) { /* taken whole: nobody will fetch it */
        MUST(event->mlength == length_of(i) && PtlMEUnlink(offered[i]) == PTL_OK);
        ++fetched;
    } else {
        MUST(event->mlength == 0);
    }
}

static void receive(int from, int round, int i, unsigned char *in) {
    const size_t length = length_of(i);
    append(RECEIVE, in, MOST, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, bits_of(round, i), 0, PTL_PRIORITY_LIST, in);
    for (;;) {
        const ptl_event_t event = next_event();
        if (event.user_ptr != in) {
            of_sending(&event);
            continue;
        }
        MUST(event.ni_fail_type == PTL_NI_OK);
        if (event.type == PTL_EVENT_SEND) continue; /* none comes of a get; a client need not know */
        if (event.type == PTL_EVENT_PUT_OVERFLOW) {
            ++unexpected;
            MUST(event.rlength == length && event.hdr_data == length);
            if (length > SHORT) {
                MUST(event.mlength == 0);
                MUST(PtlGet(all_memory, (ptl_size_t)(uintptr_t)in, length, event.initiator, READ, event.match_bits, 0, in) == PTL_OK);
                continue;
            }
            MUST(event.mlength == length);
            memcpy(in, event.start, length);
        } else {
            MUST((event.type == PTL_EVENT_PUT || event.type == PTL_EVENT_REPLY) && event.mlength == length);
        }
        for (size_t at = 0; at < length; ++at) MUST(in[at] == pattern(from, round, i, at));
        return;
    }
}

int main(int argc, char **argv) {
    static unsigned char in[MOST];
    struct launch job;
    ptl_pt_index_t index;
    launch_open(&job, argc, argv);
    MUST(job.size <= 64);
    MUST(PtlInit() == PTL_OK);
    MUST(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
    launch_addresses(&job, ni, peers);
    MUST(PtlEQAlloc(ni, 4096, &events) == PTL_OK);
    const ptl_md_t md = {NULL, PTL_SIZE_MAX, 0, events, PTL_CT_NONE};
    MUST(PtlMDBind(ni, &md, &all_memory) == PTL_OK);
    MUST(PtlPTAlloc(ni, PTL_PT_ONLY_USE_ONCE | PTL_PT_ONLY_TRUNCATE, events, RECEIVE, &index) == PTL_OK && index == RECEIVE);
    MUST(PtlPTAlloc(ni, 0, events, READ, &index) == PTL_OK && index == READ);
    for (int i = 0; i < BLOCKS; ++i) append_block(i);
    append(RECEIVE, NULL, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, LONG, ~LONG, PTL_OVERFLOW_LIST, NULL); /* min_free says nothing here */

    const int right = (job.rank + 1) % job.size, left = (job.rank + job.size - 1) % job.size;
    int long_ones = 0;
    for (int i = 0; i < MESSAGES; ++i) long_ones += length_of(i) > SHORT;
    for (int round = 0; round < ROUNDS; ++round) {
        launch_meet(&job); /* the blocks have room for a round */
        send_all(job.rank, round, peers[right]);
        if (round % 2 == 0) { /* nobody asks before all have been sent: all are unexpected */
            while (acknowledged < MESSAGES) {
                const ptl_event_t event = next_event();
                of_sending(&event);
            }
            launch_meet(&job);
            unexpected = 0;
        }
        for (int i = 0; i < MESSAGES; ++i) receive(left, round, i, in);
        if (round % 2 == 0) MUST(unexpected == MESSAGES);
        while (acknowledged < MESSAGES || fetched < long_ones) {
            const ptl_event_t event = next_event();
            of_sending(&event);
        }
        for (int i = 0; i < MESSAGES; ++i) free(data[i]);
    }
    MUST(recycled > 0);
    launch_meet(&job);
    MUST(PtlNIFini(ni) == PTL_OK);
    PtlFini();
    launch_close(&job);
    return 0;
}
