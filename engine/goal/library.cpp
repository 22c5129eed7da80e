// Opening and closing what the GOAL_* calls stand on: see library.hpp.
//
// Thread: as library.hpp says.
#include "engine/goal/library.hpp"

#include <map>

namespace portunus::goal {

namespace {

constexpr ptl_pt_index_t kPort = 48;  // the same in all processes, and none that other layers use

}  // namespace

Library& Library::instance() {
  static Library& library = *new Library;  // no destructor at exit: the program may have called Finalize or not
  return library;
}

const char* Library::open() {
  if (users_ == 0) {
    if (PtlxJobInit(&job_) != PTL_OK) return "the job cannot be joined; start the program with ptlrun";
    if (PtlInit() != PTL_OK) {
      PtlxJobFini();
      return "Portals cannot be used in this process; the lines above say why";
    }
    if (const char* problem = open_network()) {
      port_.close();
      if (ni_ != PTL_INVALID_HANDLE) PtlNIFini(ni_);
      ni_ = PTL_INVALID_HANDLE;
      PtlFini();
      PtlxJobFini();
      return problem;
    }
  }
  ++users_;
  return nullptr;
}

const char* Library::open_network() {
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni_) != PTL_OK) {
    ni_ = PTL_INVALID_HANDLE;
    return "the network cannot be opened; the lines above say why";
  }
  if (PtlxJobMap(ni_) != PTL_OK) return "the addresses of the other ranks cannot be had; has one of them ended?";
  if (port_.open(ni_, kPort) != PTL_OK) return "portal table entry 48 is taken; leave it to GOAL";
  // A message that came before its portal table entry would be lost.
  if (PtlxJobFence() != PTL_OK) return "the other ranks do not answer; has one of them ended?";
  return nullptr;
}

int Library::reach() const {
  ptl_size_t known = 0;
  return PtlGetMap(ni_, 0, nullptr, &known) == PTL_OK ? static_cast<int>(known) : job_.size;
}

// Processes of one node have one nid.
const int* Library::nodes() {
  if (!nodes_.empty()) return nodes_.data();
  std::vector<ptl_process_t> map(static_cast<size_t>(job_.size));
  ptl_size_t known = 0;
  if (PtlGetMap(ni_, map.size(), map.data(), &known) != PTL_OK || known < map.size()) map.assign(map.size(), ptl_process_t{});
  std::map<ptl_nid_t, int> numbers;
  for (const ptl_process_t& process : map)
    nodes_.push_back(numbers.try_emplace(process.phys.nid, static_cast<int>(numbers.size())).first->second);
  return nodes_.data();
}

const char* Library::close() {
  if (--users_ > 0) return nullptr;
  nodes_.clear();
  const int fenced = PtlxJobFence();  // nobody sends to us any more
  port_.close();
  PtlNIFini(ni_);
  ni_ = PTL_INVALID_HANDLE;
  PtlFini();
  PtlxJobFini();
  next_context_ = 0;
  taken_.reset();
  return fenced == PTL_OK ? nullptr : "the other ranks do not answer; has one of them ended?";
}

}  // namespace portunus::goal
