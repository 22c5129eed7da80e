/* pshmem.h: the profiling names. Every shmem_ call is a weak twin of a pshmem_ call, so that a tool may define the
 * former and call the latter. C99 and C++. Source: OpenSHMEM 1.6, chapter "OpenSHMEM Profiling Interface".
 */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SHMEMI_NAME(x) pshmem_##x
#define SHMEMI_BARE(x) p##x
#include "shmem_calls.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
