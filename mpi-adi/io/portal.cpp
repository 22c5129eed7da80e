// portal.cpp: see portal.hpp.
#include "mpi-adi/io/portal.hpp"

#include <mutex>

#include "mpi-adi/core/device.hpp"

namespace portunus::mpi::io {

int open_file_portal() {
  static std::mutex mutex;
  static ptl_handle_ni_t opened_on = PTL_INVALID_HANDLE;
  static bool opened = false;
  std::lock_guard lock(mutex);
  if (opened && opened_on == device::device.ni) return PTL_OK;
  ptl_pt_index_t portal;
  int result = PtlPTAlloc(device::device.ni, 0, PTL_EQ_NONE, kFilePortal, &portal);
  if (result != PTL_OK) return result;
  ptl_me_t early = client::entry_for_all(kQuietEntry | PTLX_ME_HOLD);
  early.uid = device::device.uid;
  ptl_handle_me_t handle;
  result = PtlMEAppend(device::device.ni, kFilePortal, &early, PTL_OVERFLOW_LIST, nullptr, &handle);
  opened = result == PTL_OK;
  opened_on = device::device.ni;
  return result;
}

int watch_all(client::Deaths& deaths, const std::vector<int>& ranks) {
  if (deaths.is_open()) return PTL_OK;
  int result = deaths.open(device::device.ni);
  for (const int rank : ranks)
    if (result == PTL_OK && static_cast<ptl_rank_t>(rank) != device::device.self.rank) result = deaths.watch(device::process(rank));
  if (result != PTL_OK) deaths.close();
  return result;
}

}  // namespace portunus::mpi::io
