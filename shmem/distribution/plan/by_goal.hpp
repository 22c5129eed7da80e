// by_goal.hpp: messages of large pieces as a GOAL schedule: from its start on the engine gathers, sends and scatters.
//
// Owned by a plan; called by its thread. A schedule is compiled for a pair of arrays when they are first used, and run again
// afterwards. Copies take the plan's context and the epoch at which they begin, so that PEs may meet new arrays at different
// starts; one whose count of executions has fallen behind is compiled anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/goal/goal.h"
#include "shmem/distribution/plan/peer.hpp"

namespace portunus::distribution {

class Scheduled {
 public:
  Scheduled() = default;
  Scheduled(const Scheduled&) = delete;
  Scheduled& operator=(const Scheduled&) = delete;
  ~Scheduled() { close(); }

  // Peers whose way is a schedule; both lists outlive this. GOAL_* codes from here on.
  void open(unsigned context, const std::vector<Peer>& out, const std::vector<Peer>& in, int64_t from_bytes, int64_t to_bytes);
  bool used() const { return used_; }
  int start(const void* from, void* to);
  int test(bool* done);
  int wait();
  void close();

 private:
  // The schedule of one pair of arrays.
  struct Instance {
    const void* from;
    void* to;
    GOAL_Schedule schedule;
    uint64_t next;  // the execution that it would be
  };
  static constexpr size_t kMost = 4;  // instances kept

  int find(const void* from, void* to, Instance** found);
  int make(const void* from, void* to, Instance* made);
  int describe(GOAL_Schedule schedule) const;
  int bind(GOAL_Schedule schedule, const void* from, void* to) const;

  unsigned context_ = 0;
  const std::vector<Peer>* out_ = nullptr;
  const std::vector<Peer>* in_ = nullptr;
  int64_t from_bytes_ = 0, to_bytes_ = 0;
  bool used_ = false, sends_ = false, receives_ = false;
  uint64_t executions_ = 0;
  std::vector<Instance> instances_;  // the last used is the last
  GOAL_Request request_ = GOAL_REQUEST_NULL;
};

}  // namespace portunus::distribution
