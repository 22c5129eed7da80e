/* The files of kinds of Portals calls share this: each has a table of them, which ends with a kind without a name. */
#ifndef COMPARE_BREADTH_PORTALS_KINDS_H
#define COMPARE_BREADTH_PORTALS_KINDS_H

#include <portals4.h>
#include <portals4_ext.h>
#include <stdint.h>

#include "../job.h"

#define TRY(call) do { if ((call) != PTL_OK) PtlxJobAbort(1, #call " failed"); } while (0)

enum { kLong = 32768, kBits = 7 }; /* kLong longs are 256 KiB */
/* Portal table entries: arrivals are counted; are events; come before their list entry; without matching; when all have ended. */
enum { kCounted = 3, kTold = 4, kLate = 5, kPlain = 6, kMeeting = 7 };

extern const struct Kind moves[], arrivals[], objects[], counters_and_queues[], triggered[];

extern int me, ranks;
extern ptl_process_t right;
extern ptl_handle_ni_t matching, plain;
/* All memory. Of `counted` and `unmatched`, acknowledgements and replies count on `done` and `plain_done`; of `told` they are events. */
extern ptl_handle_md_t counted, told, unmatched;
extern ptl_handle_ct_t done, plain_done, arrived;
extern ptl_handle_eq_t own_events, arrival_events;
/* kLong longs: what is sent, what is fetched, and what the left neighbour may work on. */
extern long *sent, *received, *exposed;
extern long turn; /* the number of this round, from 1 on, where a kind counts them */

/* So many more operations on `counted` have ended. */
void wait_done(ptl_size_t more);
/* A list entry of `exposed` with these options, counter and match bits. */
ptl_me_t entry(unsigned options, ptl_handle_ct_t counter, ptl_match_bits_t bits);
#define QUIET_ENTRY (PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE)

static inline ptl_size_t at(const void *memory) { return (ptl_size_t)(uintptr_t)memory; }

#endif
