/* shmem_base.h: constants and handles, shared by shmem.h and pshmem.h. Source: OpenSHMEM 1.6, "Library Constants". */
#ifndef SHMEMI_BASE_H
#define SHMEMI_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "shmem_types.h"

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Portunus 0.1.0"

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

/* A context is an opaque handle. A pointer to a type of its own, so that the generic calls can tell it from data. */
typedef struct shmemi_context *shmem_ctx_t;
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

#define SHMEMI_NORETURN __attribute__((noreturn))

#endif
