/* shmemx.h: calls beyond the specification, named shmemx_. There are none so far; portable programs may include it. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#endif
