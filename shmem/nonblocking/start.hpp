// start.hpp: the starts of collectives, once for all types: what the calls of shmemx.h do with bytes.
//
// All return what those calls return; `function` is the call's name, for sentences. Arguments are those of the blocking calls.
//
// Thread: one per team at a time.
// Source: OpenSHMEM 1.6, chapter "Collective Routines".
#pragma once

#include <cstddef>

#include "engine/goal/goal_call.h"
#include "shmem/include/shmemx.h"

namespace portunus::shmem {

int start_barrier(const char* function, shmem_team_t team, bool quiets, shmemx_req_t* request);
int start_broadcast(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element, int root,
                    shmemx_req_t* request);
int start_collect(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element,
                  shmemx_req_t* request);
int start_fcollect(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element,
                   shmemx_req_t* request);
int start_alltoall(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element,
                   shmemx_req_t* request);
int start_alltoalls(const char* function, shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                    size_t element, shmemx_req_t* request);
// GOAL_CALL_ALLREDUCE, _SCAN or _EXSCAN. The elements may lie in place.
int start_combining(const char* function, shmem_team_t team, void* dest, const void* source, size_t count, size_t element,
                    GOAL_Call_kind kind, GOAL_Type type, GOAL_Local_op op, shmemx_req_t* request);

}  // namespace portunus::shmem
