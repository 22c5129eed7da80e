// The functions that stand before those of OpenSHMEM's that exist once: see shmem_wrappers.cpp.
#include <cstdlib>

#include "engine/tools/record/shmem_hooks.hpp"
#include "shmem/include/pshmem.h"
#include "shmem/include/shmem.h"

using namespace portunus::record;
using namespace portunus::record::shmem;

namespace {

constexpr auto barrier = [](Call& call, const Members& members) { collective(call, members, Collective::barrier, 0); };

// A barrier of all completes what the default context has put before.
void complete_and_meet(Call& call, const Members& members) {
  quiet(call, SHMEM_CTX_DEFAULT);
  barrier(call, members);
}

template <class Allocate>
void* allocate(size_t size, const Allocate& original) {
  return around(original, [&](Call& call, void* memory) { allocated(call, memory, size); });
}

template <class Reallocate>
void* allocate_again(void* before, size_t size, const Reallocate& original) {
  return around(original, [&](Call& call, void* memory) {
    if (before != nullptr && size == 0) return barrier(call, {SHMEM_TEAM_WORLD});
    allocated(call, memory, size);
  });
}

void give_back(void* memory, void (*original)(void*)) {
  around([&] { original(memory); },
         [&](Call& call, None) {
           if (memory != nullptr) barrier(call, {SHMEM_TEAM_WORLD});
         });
}

int is_initialized() {
  int is = 0;
  pshmem_query_initialized(&is);
  return is;
}

void record_end(Call& call) {
  if (is_initialized() == 0) return;
  complete_and_meet(call, {SHMEM_TEAM_WORLD});
  end(call);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void shmem_init(void) {
  around([] { pshmem_init(); }, [](Call& call, None) { begin(call); });
}
int shmem_init_thread(int requested, int* provided) {
  return around([&] { return pshmem_init_thread(requested, provided); },
                [&](Call& call, int error) {
                  if (error != 0) return;
                  if (requested == SHMEM_THREAD_MULTIPLE) allow_threads();
                  begin(call);
                });
}
void shmem_finalize(void) {
  Call call;
  record_end(call);
  pshmem_finalize();
}

// ---- the symmetric heap
void* shmem_malloc(size_t size) {
  return allocate(size, [&] { return pshmem_malloc(size); });
}
void* shmem_calloc(size_t count, size_t size) {
  return allocate(count * size, [&] { return pshmem_calloc(count, size); });
}
void* shmem_align(size_t alignment, size_t size) {
  return allocate(size, [&] { return pshmem_align(alignment, size); });
}
void* shmem_malloc_with_hints(size_t size, long hints) {
  return allocate(size, [&] { return pshmem_malloc_with_hints(size, hints); });
}
void* shmem_realloc(void* ptr, size_t size) {
  return allocate_again(ptr, size, [&] { return pshmem_realloc(ptr, size); });
}
void shmem_free(void* ptr) { give_back(ptr, pshmem_free); }

// ---- order
void shmem_fence(void) {
  around([] { pshmem_fence(); }, [](Call& call, None) { order(call, SHMEM_CTX_DEFAULT); });
}
void shmem_ctx_fence(shmem_ctx_t ctx) {
  around([&] { pshmem_ctx_fence(ctx); }, [&](Call& call, None) { order(call, ctx); });
}
void shmem_quiet(void) {
  around([] { pshmem_quiet(); }, [](Call& call, None) { quiet(call, SHMEM_CTX_DEFAULT); });
}
void shmem_ctx_quiet(shmem_ctx_t ctx) {
  around([&] { pshmem_ctx_quiet(ctx); }, [&](Call& call, None) { quiet(call, ctx); });
}
// As the library does, all PEs are waited for.
void shmem_pe_quiet(const int* target_pes, size_t npes) {
  around([&] { pshmem_pe_quiet(target_pes, npes); }, [](Call& call, None) { quiet(call, SHMEM_CTX_DEFAULT); });
}
void shmem_ctx_pe_quiet(shmem_ctx_t ctx, const int* target_pes, size_t npes) {
  around([&] { pshmem_ctx_pe_quiet(ctx, target_pes, npes); }, [&](Call& call, None) { quiet(call, ctx); });
}
void shmem_barrier_all(void) {
  around([] { pshmem_barrier_all(); }, [](Call& call, None) { complete_and_meet(call, {SHMEM_TEAM_WORLD}); });
}
void shmem_sync_all(void) {
  around([] { pshmem_sync_all(); }, [](Call& call, None) { barrier(call, {SHMEM_TEAM_WORLD}); });
}
int shmem_team_sync(shmem_team_t team) {
  return around([&] { return pshmem_team_sync(team); },
                [&](Call& call, int error) {
                  if (error == 0) barrier(call, {team});
                });
}
void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long* pSync) {
  around([&] { pshmem_barrier(PE_start, logPE_stride, PE_size, pSync); },
         [&](Call& call, None) {
           complete_and_meet(call, {SHMEM_TEAM_INVALID, PE_start, logPE_stride, PE_size});
         });
}
void shmem_sync(int PE_start, int logPE_stride, int PE_size, long* pSync) {
  around([&] { pshmem_sync(PE_start, logPE_stride, PE_size, pSync); },
         [&](Call& call, None) {
           barrier(call, {SHMEM_TEAM_INVALID, PE_start, logPE_stride, PE_size});
         });
}

// ---- teams and contexts
int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t* config, long config_mask,
                             shmem_team_t* new_team) {
  return around([&] { return pshmem_team_split_strided(parent_team, start, stride, size, config, config_mask, new_team); },
                [&](Call& call, int error) {
                  if (error == 0) created(call, parent_team, new_team);
                });
}
int shmem_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config, long xaxis_mask,
                        shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config, long yaxis_mask, shmem_team_t* yaxis_team) {
  return around(
      [&] { return pshmem_team_split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, yaxis_team); },
      [&](Call& call, int error) {
        if (error != 0) return;
        created(call, parent_team, xaxis_team);
        created(call, parent_team, yaxis_team);
      });
}
void shmem_team_destroy(shmem_team_t team) {
  Call call;
  if (team != SHMEM_TEAM_INVALID && team != SHMEM_TEAM_WORLD && team != SHMEM_TEAM_SHARED) destroyed(call, team);
  pshmem_team_destroy(team);
}
int shmem_ctx_create(long options, shmem_ctx_t* ctx) {
  return around([&] { return pshmem_ctx_create(options, ctx); },
                [&](Call&, int error) {
                  if (error == 0) created(*ctx, SHMEM_TEAM_WORLD);
                });
}
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t* ctx) {
  return around([&] { return pshmem_team_create_ctx(team, options, ctx); },
                [&](Call&, int error) {
                  if (error == 0) created(*ctx, team);
                });
}
void shmem_ctx_destroy(shmem_ctx_t ctx) {
  Call call;
  if (ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT) destroyed(call, ctx);
  pshmem_ctx_destroy(ctx);
}

// ---- signals
void shmem_signal_add(uint64_t* sig_addr, uint64_t signal, int pe) {
  around([&] { pshmem_signal_add(sig_addr, signal, pe); },
         [&](Call& call, None) {
           put(call, SHMEM_CTX_DEFAULT, sig_addr, sizeof signal, pe, 0, {Change::add, signal});
         });
}
void shmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe) {
  around([&] { pshmem_ctx_signal_add(ctx, sig_addr, signal, pe); },
         [&](Call& call, None) {
           put(call, ctx, sig_addr, sizeof signal, pe, 0, {Change::add, signal});
         });
}
void shmem_signal_set(uint64_t* sig_addr, uint64_t signal, int pe) {
  around([&] { pshmem_signal_set(sig_addr, signal, pe); },
         [&](Call& call, None) {
           put(call, SHMEM_CTX_DEFAULT, sig_addr, sizeof signal, pe, 0, {Change::set, signal});
         });
}
void shmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe) {
  around([&] { pshmem_ctx_signal_set(ctx, sig_addr, signal, pe); },
         [&](Call& call, None) {
           put(call, ctx, sig_addr, sizeof signal, pe, 0, {Change::set, signal});
         });
}
uint64_t shmem_signal_fetch(const uint64_t* sig_addr) {
  return around([&] { return pshmem_signal_fetch(sig_addr); },
                [&](Call& call, uint64_t value) { looked(call, sig_addr, sizeof value, value); });
}
uint64_t shmem_signal_wait_until(uint64_t* sig_addr, int cmp, uint64_t cmp_value) {
  return around([&] { return pshmem_signal_wait_until(sig_addr, cmp, cmp_value); },
                [&](Call& call, uint64_t value) { waited(call, sig_addr, sizeof cmp_value, value); });
}
void shmem_wait(long* ivar, long cmp_value) {
  around([&] { pshmem_wait(ivar, cmp_value); }, [&](Call& call, None) { hooks::waited_for(call, ivar); });
}
void shmem_wait_until(long* ivar, int cmp, long cmp_value) {
  around([&] { pshmem_wait_until(ivar, cmp, cmp_value); }, [&](Call& call, None) { hooks::waited_for(call, ivar); });
}

// ---- locks
void shmem_set_lock(long* lock) {
  around([&] { pshmem_set_lock(lock); }, [&](Call& call, None) { locked(call, lock); });
}
int shmem_test_lock(long* lock) {
  return around([&] { return pshmem_test_lock(lock); },
                [&](Call& call, int held) {
                  if (held == 0) locked(call, lock);
                  else call.found_nothing();
                });
}
void shmem_clear_lock(long* lock) {
  Call call;
  unlocked(call, lock);  // before others have it
  pshmem_clear_lock(lock);
}

// ---- collectives on bytes
int shmem_broadcastmem(shmem_team_t team, void* dest, const void* source, size_t nelems, int PE_root) {
  return around([&] { return pshmem_broadcastmem(team, dest, source, nelems, PE_root); },
                [&](Call& call, int error) {
                  if (error == 0) collective(call, {team}, Collective::bcast, nelems, PE_root);
                });
}
#define ON_BYTES(name, kind)                                                                                           \
  int shmem_##name##mem(shmem_team_t team, void* dest, const void* source, size_t nelems) {                            \
    return around([&] { return pshmem_##name##mem(team, dest, source, nelems); },                                      \
                  [&](Call& call, int error) {                                                                         \
                    if (error == 0) collective(call, {team}, Collective::kind, nelems);                                \
                  });                                                                                                  \
  }                                                                                                                    \
  int shmemx_##name##mem_nb(shmem_team_t team, void* dest, const void* source, size_t nelems, shmemx_req_t* request) { \
    return around([&] { return pshmemx_##name##mem_nb(team, dest, source, nelems, request); },                         \
                  [&](Call& call, int error) {                                                                         \
                    if (error == 0) collective(call, {team}, Collective::kind, nelems, 0, request);                    \
                  });                                                                                                  \
  }
ON_BYTES(collect, collect)
ON_BYTES(fcollect, allgather)
ON_BYTES(alltoall, alltoall)
int shmem_alltoallsmem(shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) {
  return around([&] { return pshmem_alltoallsmem(team, dest, source, dst, sst, nelems); },
                [&](Call& call, int error) {
                  if (error == 0) collective(call, {team}, Collective::alltoall, nelems);
                });
}

// ---- collectives that are started
int shmemx_req_wait(shmemx_req_t* request) {
  const shmemx_req_t before = request == nullptr ? SHMEMX_REQ_INVALID : *request;
  return around([&] { return pshmemx_req_wait(request); },
                [&](Call& call, int error) {
                  if (error == 0) completed(call, before);
                });
}
int shmemx_req_test(shmemx_req_t* request, int* complete) {
  const shmemx_req_t before = request == nullptr ? SHMEMX_REQ_INVALID : *request;
  return around([&] { return pshmemx_req_test(request, complete); },
                [&](Call& call, int error) {
                  if (error == 0 && *complete != 0) completed(call, before);
                  else call.found_nothing();
                });
}
int shmemx_req_free(shmemx_req_t* request) {
  if (request != nullptr) freed(*request);
  return pshmemx_req_free(request);
}
int shmemx_barrier_nb(shmem_team_t team, shmemx_req_t* request) {
  return around([&] { return pshmemx_barrier_nb(team, request); },
                [&](Call& call, int error) {
                  if (error != 0) return;
                  quiet(call, SHMEM_CTX_DEFAULT);
                  collective(call, {team}, Collective::barrier, 0, 0, request);
                });
}
int shmemx_sync_nb(shmem_team_t team, shmemx_req_t* request) {
  return around([&] { return pshmemx_sync_nb(team, request); },
                [&](Call& call, int error) {
                  if (error == 0) collective(call, {team}, Collective::barrier, 0, 0, request);
                });
}
int shmemx_broadcastmem_nb(shmem_team_t team, void* dest, const void* source, size_t nelems, int PE_root, shmemx_req_t* request) {
  return around([&] { return pshmemx_broadcastmem_nb(team, dest, source, nelems, PE_root, request); },
                [&](Call& call, int error) {
                  if (error == 0) collective(call, {team}, Collective::bcast, nelems, PE_root, request);
                });
}
int shmemx_alltoallsmem_nb(shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                           shmemx_req_t* request) {
  return around([&] { return pshmemx_alltoallsmem_nb(team, dest, source, dst, sst, nelems, request); },
                [&](Call& call, int error) {
                  if (error == 0) collective(call, {team}, Collective::alltoall, nelems, 0, request);
                });
}

// ---- deprecated names of the same
// A job that start_pes began ends with the program.
void start_pes(int npes) {
  const bool was = is_initialized() != 0;
  Call call;
  pstart_pes(npes);
  if (was) return;
  begin(call);
  atexit([] {
    Call at_end;
    record_end(at_end);
  });
}
void* shmalloc(size_t size) {
  return allocate(size, [&] { return pshmalloc(size); });
}
void* shmemalign(size_t alignment, size_t size) {
  return allocate(size, [&] { return pshmemalign(alignment, size); });
}
void* shrealloc(void* ptr, size_t size) {
  return allocate_again(ptr, size, [&] { return pshrealloc(ptr, size); });
}
void shfree(void* ptr) { give_back(ptr, pshfree); }

#pragma GCC visibility pop
}
