// calls.cpp: the paper's calls: the interface where a refusal ends the job.
#include <cstdlib>
#include <new>

#include "portals/portals4_ext.h"
#include "shmem/views/arena/allocator.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/handover/acquire.hpp"

using namespace portunus::views;

int Vdc_nprocs = 0;
int Vdc_proc_id = 0;

namespace {

template <class Work>
auto or_end(const char* call, Work&& work) {
  try {
    return work();
  } catch (const Refusal& refusal) {
    end_job("%s: %s", call, refusal.sentence.c_str());
  } catch (const std::bad_alloc&) {
    end_job("%s: there is no memory left", call);
  }
}

void must_be_up(const char* call) {
  if (!library.up) end_job("%s was called before Vdc_startup", call);
}

}  // namespace

void Vdc_startup(int, char**) {
  start_up();
  Vdc_nprocs = library.n;
  Vdc_proc_id = library.me;
}

void Vdc_exit(int status) {
  if (status != 0) {
    fflush(nullptr);
    PtlxJobAbort(status, nullptr);
  }
  if (library.up) or_end("Vdc_exit", [] { shut_down(); });
  exit(0);
}

void Vdc_barrier(unsigned id) {
  must_be_up("Vdc_barrier");
  or_end("Vdc_barrier", [&] { barrier(id); });
}

char* Vdc_malloc(size_t size) {
  must_be_up("Vdc_malloc");
  return or_end("Vdc_malloc", [&] {
    const size_t at = allocate(size, library.writers.empty() ? -1 : library.writers.back()->id);
    if (at == SIZE_MAX)
      refuse(VDCX_ERR_NO_SPACE, "there are no %zu bytes of shared memory left; set VDC_PAGES (now %zu) to more", size,
             library.layout.arena_bytes / kPage);
    return window.start() + at;
  });
}

void Vdc_free(char* ptr) {
  must_be_up("Vdc_free");
  if (!ptr) return;
  or_end("Vdc_free", [&] {
    if (!window.holds(ptr, 1)) refuse(VDCX_ERR_ARG, "%p is not in the shared pages", static_cast<void*>(ptr));
    give_back(window.offset(ptr));
  });
}

void Vdc_acquire_view(int viewid) {
  or_end("Vdc_acquire_view", [&] { acquire(library.view(viewid), VDCX_WRITE, kForEver); });
}
void Vdc_release_view(int viewid) {
  or_end("Vdc_release_view", [&] {
    View& view = library.view(viewid);
    if (!view.held && !view.stream) refuse(VDCX_ERR_STATE, "view %d is not held for writing by this process", viewid);
    release(view);
  });
}
void Vdc_acquire_Rview(int viewid) {
  or_end("Vdc_acquire_Rview", [&] { acquire(library.view(viewid), VDCX_READ, kForEver); });
}
void Vdc_release_Rview(int viewid) {
  or_end("Vdc_release_Rview", [&] {
    View& view = library.view(viewid);
    if (!view.reads && !view.stream) refuse(VDCX_ERR_STATE, "view %d is not held for reading by this process", viewid);
    release(view);
  });
}
