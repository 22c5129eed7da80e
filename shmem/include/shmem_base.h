/* shmem_base.h: constants and handles, shared by shmem.h and pshmem.h. Source: OpenSHMEM 1.6, "Library Constants". */
#ifndef SHMEMI_BASE_H
#define SHMEMI_BASE_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#include "shmem_types.h"

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Portunus 0.2.0"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6

#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

/* Options of contexts: promises of the program. */
#define SHMEM_CTX_SERIALIZED 1L /* no two threads use it at the same time */
#define SHMEM_CTX_PRIVATE 2L    /* only the thread that creates it uses it */
#define SHMEM_CTX_NOSTORE 4L    /* its fence and quiet need not order stores that are no calls of this library */

/* A session says what a context will be used for. */
typedef struct {
    size_t total_ops; /* SHMEM_CTX_SESSION_TOTAL_OPS: how many operations will be issued */
} shmem_ctx_session_config_t;
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L /* bit of config_mask */
#define SHMEM_CTX_SESSION_BATCH 1L     /* option: throughput counts, not latency */

/* A team is an opaque handle. */
typedef struct shmemi_team *shmem_team_t;
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)

typedef struct {
    int num_contexts; /* SHMEM_TEAM_NUM_CONTEXTS: how many contexts the program wants to create at the same time */
} shmem_team_config_t;
#define SHMEM_TEAM_NUM_CONTEXTS 1L /* bit of config_mask */

/* A context is an opaque handle. A pointer to a type of its own, so that the generic calls can tell it from data. */
typedef struct shmemi_context *shmem_ctx_t;
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

/* The deprecated calls. The collectives leave work arrays alone, but for one word of pSync at the first use of an
 * active set, which is restored. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 2
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE

#define SHMEMI_NORETURN __attribute__((noreturn))

#endif
