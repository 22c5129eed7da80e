// portal.cpp: see portal.hpp.
#include "mpi-adi/io/portal.hpp"

#include <sched.h>

#include <mutex>

#include "mpi-adi/core/adi.hpp"

namespace portunus::mpi::io {

int open_file_portal() {
  static std::mutex mutex;
  static ptl_handle_ni_t opened_on = PTL_INVALID_HANDLE;
  static bool opened = false;
  std::lock_guard lock(mutex);
  if (opened && opened_on == adi::device.ni) return PTL_OK;
  ptl_pt_index_t portal;
  int result = PtlPTAlloc(adi::device.ni, 0, PTL_EQ_NONE, kFilePortal, &portal);
  if (result != PTL_OK) return result;
  ptl_me_t early{};
  early.ct_handle = PTL_CT_NONE;
  early.uid = adi::device.uid;
  early.options = kQuietEntry | PTLX_ME_HOLD;
  early.match_id.rank = PTL_RANK_ANY;
  early.ignore_bits = ~ptl_match_bits_t{0};
  ptl_handle_me_t handle;
  result = PtlMEAppend(adi::device.ni, kFilePortal, &early, PTL_OVERFLOW_LIST, nullptr, &handle);
  opened = result == PTL_OK;
  opened_on = adi::device.ni;
  return result;
}

void release_memory(ptl_handle_md_t md) {
  while (md != PTL_INVALID_HANDLE && PtlMDRelease(md) == PTL_IN_USE)
    if (PtlxProgress() == 0) sched_yield();
}
void release_counter(ptl_handle_ct_t counter) {
  if (counter != PTL_INVALID_HANDLE) PtlCTFree(counter);
}
void release_entry(ptl_handle_me_t entry) {
  while (entry != PTL_INVALID_HANDLE && PtlMEUnlink(entry) == PTL_IN_USE)
    if (PtlxProgress() == 0) sched_yield();
}

int await_counter(ptl_handle_ct_t counter, ptl_size_t count, ptl_handle_ct_t deaths) {
  const ptl_handle_ct_t counters[] = {counter, deaths};
  const ptl_size_t counts[] = {count, PTL_SIZE_MAX};
  ptl_ct_event_t seen;
  unsigned which;
  const int result = PtlCTPoll(counters, counts, 2, PTL_TIME_FOREVER, &seen, &which);
  return result == PTL_OK && which == 0 && seen.success >= count ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
}

}  // namespace portunus::mpi::io
