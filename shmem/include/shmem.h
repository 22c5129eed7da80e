/* shmem.h: OpenSHMEM, as Portunus offers it. C99, C11 and C++, both with the type-generic calls.
 *
 * The calls are listed in shmem_calls.h and shmem_typed.h, the constants in shmem_base.h. All symmetric addresses
 * are checked: a call that names memory that is not symmetric, or a PE that does not exist, ends the job with a sentence.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include "shmem_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SHMEMI_NAME(x) shmem_##x
#define SHMEMI_BARE(x) x
#include "shmem_calls.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#if defined(__cplusplus)
#include "shmem_overloads.h"
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif

#endif
