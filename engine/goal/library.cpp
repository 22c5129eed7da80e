// Opening and closing what the GOAL_* calls stand on: see library.hpp.
//
// Thread: as library.hpp says.
#include "engine/goal/library.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "engine/client/numbers.hpp"
#include "engine/goal/wire_probe.hpp"

namespace portunus::goal {

namespace {

constexpr const char* kPlaceKey = "goal.place";
constexpr const char* kWireKey = "goal.wire";
constexpr uint8_t kNotByMemory = 1, kCrowded = 2, kSlow = 1;  // facts under these keys
constexpr const char* kNoAnswer = "the other ranks do not answer; has one of them ended?";

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
      return "the network cannot be used in this process; the lines above say why";
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
  if (port_.open(ni_, client::kGoalPortal) != PTL_OK)
    return "another library of this process has taken number 48 of the network's interface; leave it to this one";
  return agree_on_places();
}

bool Library::reaches_its_node_by_memory() {
  const int* const all = nodes();
  for (int i = 0; i < job_.size; ++i) {
    if (i == job_.rank || all[i] != all[job_.rank]) continue;
    ptl_process_t peer{};
    peer.rank = static_cast<ptl_rank_t>(i);
    if (PtlxTransport(ni_, peer, nullptr) != PTLX_TRANSPORT_NODE) return false;
  }
  return true;
}

// Facts that a rank finds about itself are told to all, so that none chooses another algorithm than the others.
const char* Library::agree_on_places() {
  ptlx_engine_info_t engine{};
  const bool crowded = PtlxEngineInfo(&engine) == PTL_OK && engine.oversubscribed != 0;
  const std::optional<int> next = first_of_next_node();
  WireProbe probe;
  if (next) probe.open(ni_);
  // A message that came before its portal table entry would be lost: that of all others is there behind this.
  uint8_t facts = (reaches_its_node_by_memory() ? 0 : kNotByMemory) | (crowded ? kCrowded : 0);
  const char* problem = tell_all(kPlaceKey, facts);
  by_memory_ = (facts & kNotByMemory) == 0;
  crowded_ = (facts & kCrowded) != 0;
  slow_ = false;
  if (problem || nodes_in_all() < 2) return problem;
  facts = next && probe.is_slow(static_cast<ptl_rank_t>(*next)) ? kSlow : 0;
  problem = tell_all(kWireKey, facts);
  slow_ = facts != 0;
  return problem;
}

const char* Library::tell_all(const char* key, uint8_t& facts) {
  std::vector<uint8_t> all(static_cast<size_t>(job_.size));
  if (PtlxJobShare(key, &facts, sizeof facts, all.data()) != PTL_OK) return kNoAnswer;
  for (const uint8_t theirs : all) facts |= theirs;
  return nullptr;
}

int Library::nodes_in_all() { return job_.size == 0 ? 0 : 1 + *std::max_element(nodes(), nodes() + job_.size); }

std::optional<int> Library::first_of_next_node() {
  const int* const all = nodes();
  const auto first_of = [&](int node) { return static_cast<int>(std::find(all, all + job_.size, node) - all); };
  const int count = nodes_in_all();
  if (count < 2 || first_of(all[job_.rank]) != job_.rank) return std::nullopt;
  return first_of((all[job_.rank] + 1) % count);
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

collectives::Choices::Places Library::places(int size, const int* ranks) {
  using collectives::RankPlacement;
  const auto place = [](bool network, bool several, bool crowded, bool slow) {
    return RankPlacement{static_cast<uint8_t>((network ? RankPlacement::kNetwork : 0) | (several ? RankPlacement::kSeveral : 0) |
                                              (crowded ? RankPlacement::kCrowded : 0) | (network && slow ? RankPlacement::kSlow : 0))};
  };
  std::vector<int> used;
  const int* const all = nodes();
  for (int i = 0; i < size; ++i) {
    const int rank = ranks ? ranks[i] : i;
    if (rank >= job_.size) return {place(true, false, false, false), place(false, true, false, false), place(true, false, false, false)};
    used.push_back(all[rank]);
  }
  std::ranges::sort(used);
  const bool one = used.empty() || used.front() == used.back();
  const bool several = std::ranges::adjacent_find(used) != used.end();
  return {place(!one || !by_memory_, several, crowded_, slow_), place(!by_memory_, true, crowded_, slow_),
          place(true, false, crowded_, slow_)};
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
  counted_.clear();
  return fenced == PTL_OK ? nullptr : kNoAnswer;
}

}  // namespace portunus::goal
