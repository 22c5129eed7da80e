// network.hpp: what all plans of a process share: an interface, a portal table entry, and where the node's memory lies.
//
// Opened by the first plan and closed when the last is freed; both are collective. Plans alone use it, one thread at a time.
// Invariant: all PEs make plans in the same order, so that the numbers given here agree.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/client/numbers.hpp"
#include "engine/client/objects.hpp"

namespace portunus::distribution {

using client::process;

// A place in a process's node memory.
struct NodePlace {
  uint32_t block;
  uint64_t offset;
};

class Network {
 public:
  static Network& instance();

  // Collective. CCC_* with a sentence.
  int open();
  // Collective, unless a PE is lost: then the network stays.
  void close(bool lost);

  ptl_handle_ni_t ni() const { return ni_; }
  ptl_pt_index_t index() const { return index_; }

  // A number that no other plan of the job has, ever; and a GOAL context that none has now, or -1.
  uint32_t next_plan() { return ++plans_; }
  int take_context();
  void give_context(int context) { contexts_.reset(static_cast<unsigned>(context) - client::kFirstPlanContext); }

  // Whether `memory`, of so many bytes, is this process's node memory, and where.
  bool find(const void* memory, uint64_t bytes, NodePlace* place) const;
  // The address here of another PE's place on the node, or NULL.
  const std::byte* reach(int pe, const NodePlace& place);

 private:
  static constexpr unsigned kBlocks = 8;
  static constexpr ptl_pt_index_t kIndex = client::kDistributionPortal;
  static constexpr unsigned kMostPlans = 1024;
  static_assert(client::kFirstPlanContext + kMostPlans <= client::kFirstCommunicatorContext);

  int users_ = 0;
  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  ptl_pt_index_t index_ = 0;
  client::MatchEntry keeper_;
  uint32_t plans_ = 0;
  std::bitset<kMostPlans> contexts_;
  std::vector<std::array<std::byte*, kBlocks>> bases_;  // of each PE, once asked for
};

}  // namespace portunus::distribution
