/* The files of kinds of SHMEM calls share this: each has a table of them, which ends with a kind without a name. */
#ifndef COMPARE_BREADTH_SHMEM_KINDS_H
#define COMPARE_BREADTH_SHMEM_KINDS_H

#include <shmem.h>
#include <stdint.h>

#include "../loop.h"

#define HAS_1_5 (SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 105)
#define HAS_1_6 (SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 106)
/* Rows of a table: of calls that came with a version. */
#if HAS_1_5
#define SINCE_1_5(name, round, prepare, end) {name, round, prepare, end}
#else
#define SINCE_1_5(name, round, prepare, end) {name, NULL, NULL, NULL}
#endif
#if HAS_1_6
#define SINCE_1_6(name, round, prepare, end) {name, round, prepare, end}
#else
#define SINCE_1_6(name, round, prepare, end) {name, NULL, NULL, NULL}
#endif

enum { kLong = 32768, kAtOnce = 32 }; /* kLong longs are 256 KiB */

extern const struct Kind puts_and_gets[], contexts[], signals[], atomics[], waits[], ordering[], synchronization[], teams[], active_sets[],
    locks[], memory[], objects[], local_calls[];

extern int me, pes, right, left;
extern long *sent, *received;  /* kLong or kCount longs of this PE alone */
extern long *exposed;          /* as many, symmetric, and room for kAtOnce results of collectives */
extern long *given;            /* kCount longs for each PE, symmetric */
extern long turn;              /* the number of this round, from 1 on, where a kind counts them */
extern int wrong;              /* not 0: data were not as they should be */

static inline void expect(int right_data) { wrong |= !right_data; }

#endif
