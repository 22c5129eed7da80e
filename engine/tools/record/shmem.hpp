// The wrappers of OpenSHMEM's calls record by these functions (shmem_wrappers.cpp): teams, contexts and places in symmetric memory by
// numbers of the recording's own.
//
// Thread: any, where the program's level lets several call: one lock is held while a table is looked at.
#pragma once

#include <cstdint>

#include "engine/tools/record/writer.hpp"
#include "shmem/include/shmem_base.h"
#include "shmem/include/shmemx.h"

namespace portunus::record::shmem {

// ---- start and end
void begin(Call& call);
void end(Call& call);
void allow_threads();

// ---- the symmetric heap: `size` bytes were allocated at `memory`, by all PEs.
void allocated(Call& call, void* memory, size_t size);

// ---- remote memory. PEs are those of the context's team.
// The integer that a word becomes, or that is added to it, if the operation is one on a single integer.
struct Value {
  Change change = Change::unknown;
  uint64_t value = 0;
};
// `flags`: of PutDetail.
void put(Call& call, shmem_ctx_t ctx, const void* dest, uint64_t bytes, int pe, uint8_t flags, Value value = {});
// `word`: what an atomic changes there by `asking` bytes, or null.
void get(Call& call, shmem_ctx_t ctx, const void* word, uint64_t asking, uint64_t bytes, int pe, uint8_t flags, Value value = {});
[[nodiscard]] bool is_here(Call& call, shmem_ctx_t ctx, int pe);
// A look at a word of this PE, as a loop that waits has.
void looked(Call& call, const void* word, uint64_t bytes, uint64_t value);
void order(Call& call, shmem_ctx_t ctx);
void quiet(Call& call, shmem_ctx_t ctx);
// A wait for memory of this PE has ended, which holds this value now.
void waited(Call& call, const void* word, uint64_t bytes, uint64_t value);

// ---- locks
void locked(Call& call, const long* lock);
void unlocked(Call& call, const long* lock);

// ---- teams and contexts
struct Members {
  shmem_team_t team = SHMEM_TEAM_INVALID;  // or, of the deprecated calls:
  int start = 0, log_stride = 0, size = 0;
};
// `request`: where the handle of one that was started lies; else the program waits for it.
void collective(Call& call, const Members& members, Collective kind, uint64_t bytes, int root = 0, const shmemx_req_t* request = nullptr);
void completed(Call& call, shmemx_req_t request);
void freed(shmemx_req_t request);
void created(Call& call, shmem_team_t parent, const shmem_team_t* team);
void destroyed(Call& call, shmem_team_t team);
void created(shmem_ctx_t ctx, shmem_team_t team);
void destroyed(Call& call, shmem_ctx_t ctx);

}  // namespace portunus::record::shmem
