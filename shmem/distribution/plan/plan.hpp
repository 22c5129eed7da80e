// plan.hpp: one redistribution, made once and run as often as one likes.
//
// Owns the lists of this PE's pieces, its peers, the slots in symmetric memory in which they tell each other how far they
// are, and the two kinds of messages. One thread at a time. Made and freed by all PEs together.
//
// Invariants: of a pair both ends have the same move and take the same way; runs and starts are counted alike on all PEs
// that have a part; nothing is under way unless `state` says so; after kBroken the target memory is undefined and only
// freeing is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shmem/distribution/layout/grid.hpp"
#include "shmem/distribution/plan/by_goal.hpp"
#include "shmem/distribution/plan/by_layout.hpp"
#include "shmem/distribution/plan/network.hpp"
#include "shmem/distribution/plan/peer.hpp"

struct ccc_plan_ {
  enum class State { kIdle, kStarted, kBroken };

  ccc_plan_() = default;
  ccc_plan_(const ccc_plan_&) = delete;
  ccc_plan_& operator=(const ccc_plan_&) = delete;

  // For a pair that check_pair has accepted. CCC_* with a sentence; collective, and the same on all PEs.
  int create(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, size_t size);
  void destroy();

  int run(const std::byte* from, std::byte* to);
  int start(const std::byte* from, std::byte* to);
  int test(bool* done);
  int wait();

  // Why the arrays cannot be used, as a code and a sentence.
  int check(const void* from, const void* to) const;
  size_t memory() const;

  State state = State::kIdle;
  ccc_layout from_layout{}, to_layout{};
  std::vector<int> from_pes, to_pes;  // what `pes` of the layouts points to
  std::array<int, CCC_MOST_AXES> order{};
  size_t size = 0;

 private:
  using Peer = portunus::distribution::Peer;
  using Kind = portunus::distribution::LaidOut::Kind;

  void copy_layouts(const ccc_layout& from, const ccc_layout& to);
  void list(portunus::distribution::Side side);
  int reach_peers();
  int agree(int code, int64_t* cell);
  void make_boxes(int64_t cell);
  void choose_copies(int64_t pes_of_node);
  int run_on_node(const std::byte* from, std::byte* to);
  const std::byte* array_of(const Peer& peer) const;
  void copy_together(const std::byte* from, std::byte* to);
  bool find(const std::byte* from, portunus::distribution::NodePlace* place);
  bool announce(const std::byte* from);
  bool post(Peer& peer, const std::byte* from);
  std::byte* cell_of(std::byte* box) const { return box + (runs_ % 2 != 0 ? cell_ : 0); }
  bool answer(std::byte* to);
  void keep_in_step();
  int started(int goal_code, int portals_code);
  int broken(const char* what);
  template <class Done>
  void wait_until(Done done);

  std::array<std::vector<portunus::distribution::Pieces>, CCC_MOST_AXES> send_lists_, receive_lists_;
  std::vector<Peer> sends_, receives_;     // not to this PE itself
  Peer own_;                               // what stays here; bytes 0: nothing
  int64_t from_bytes_ = 0, to_bytes_ = 0;  // of the local arrays
  bool has_from_ = false, has_to_ = false;
  bool any_on_node_ = false;  // some pair of the job shares a node: then `run` copies directly there
  bool crowded_ = false;      // some node has more PEs than cores
  portunus::distribution::Stores stores_ = portunus::distribution::Stores::kCached;
  std::byte* boxes_ = nullptr;  // symmetric: two cells for each PE of the job, in which it posts; NULL: nobody does
  int64_t cell_ = 0;
  bool all_posted_ = false;  // whatever this PE sends to its node
  bool together_ = false;    // on the node, one stretch of the target after the other is copied from all sources
  portunus::distribution::Slot* slots_ = nullptr;
  const std::byte* found_ = nullptr;  // the array of the last run, and where it lies
  portunus::distribution::NodePlace found_at_{};
  bool reachable_ = false;
  uint64_t runs_ = 0, starts_ = 0;
  int context_ = -1;
  portunus::distribution::LaidOut laid_out_;
  portunus::distribution::Scheduled scheduled_;
};
