// Asking and reading: see peer_memory.hpp.
//
// Thread: as peer_memory.hpp says.
#include "engine/goal/node/peer_memory.hpp"

#include <sys/uio.h>

#include <cassert>
#include <cerrno>
#include <utility>

#include "portals/portals4_ext.h"

namespace portunus::goal::node {

int PeerMemory::open(Agreement& agreement) {
  std::vector<uint64_t> places;
  for (const Record& one : agreement.all) {
    processes_.push_back(static_cast<int>(one.process));
    places.push_back(~static_cast<uint64_t>(one.memory));
  }
  bool can = PtlxDebug("no-cma") == 0;
  for (size_t i = 0; can && i < places.size(); ++i) {
    uint64_t theirs = 0;
    can = read(i, places[i], 0, sizeof theirs, reinterpret_cast<std::byte*>(&theirs)) == Read::all && theirs == (kProbed ^ i);
  }
  const int code = agreement.tell({.well = can});
  if (code != GOAL_SUCCESS || !agreement.all_well()) processes_.clear();
  return code;
}

void PeerMemory::open_as(const PeerMemory& whole, const std::vector<size_t>& members) {
  if (!whole.may_read()) return;
  for (const size_t member : members) processes_.push_back(whole.processes_[member]);
}

PeerMemory::Read PeerMemory::read(size_t rank, uint64_t at, size_t from, size_t bytes, std::byte* to) const {
  assert(lies_in_process(at));
  const uint64_t address = ~at + from;
  for (size_t done = 0; done < bytes;) {
    const iovec mine{to + done, bytes - done}, theirs{reinterpret_cast<void*>(address + done), bytes - done};
    const ssize_t moved = process_vm_readv(processes_[rank], &mine, 1, &theirs, 1, 0);
    if (moved <= 0) return moved < 0 && errno == ESRCH ? Read::gone : Read::refused;
    done += static_cast<size_t>(moved);
  }
  return Read::all;
}

}  // namespace portunus::goal::node
