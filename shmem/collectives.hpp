// collectives.hpp: the collectives of one team.
//
// A GOAL team does them (goal_call.h). On the node fcollect, collect and alltoall of 2 KiB and more of each go by stores into the others'
// dest, which callers say is ready, and a barrier.
//
// Thread: one per team at a time.
// Source: OpenSHMEM 1.6, chapter "Collective Routines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/client/numbers.hpp"
#include "engine/goal/goal_call.h"
#include "shmem/team.hpp"

namespace portunus::shmem {

class Collectives {
 public:
  explicit Collectives(const Team& team) : team_(team) {}
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  void barrier();
  // dest = the root's source, on all, `at_root` says whether on the root as well.
  void broadcast(void* dest, const void* source, size_t bytes, int root, bool at_root);
  // Gives `data` of the root to all.
  void share(void* data, size_t bytes, int root);
  // dest: the sources of all in the order of their numbers, `bytes` each; collect: each PE's own bytes.
  void fcollect(void* dest, const void* source, size_t bytes);
  void collect(void* dest, const void* source, size_t bytes);
  // Piece i of the source goes to PE i.
  void alltoall(void* dest, const void* source, size_t bytes);
  // Element by element; source and dest may be equal.
  void reduce(void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op);
  void inscan(void* dest, const void* source, size_t count, GOAL_Type type);
  // PE 0 gets zeros.
  void exscan(void* dest, const void* source, size_t count, GOAL_Type type);

  // The team's PEs, valid as long as the team. Not by two threads at once.
  const GOAL_Group& group();

 private:
  static constexpr size_t kLeastStored = 2048;  // of each: less is better taken with the meeting
  static_assert(client::kFirstTeamContext + kMostTeams <= client::kFirstTeamsProgramContext);

  GOAL_Team goal();
  void run(const GOAL_Call& call);
  void combine(GOAL_Call_kind kind, void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op);
  // Whether a collective puts `all` bytes into every PE's dest by plain stores: there are many, and all reach all. Collective.
  bool stores(void* dest, size_t all);
  // `bytes` for PE i, at source + i * step, go to its dest + at; then all meet.
  void store_to_all(void* dest, size_t at, const void* source, size_t bytes, size_t step);

  const Team& team_;
  std::vector<int> ranks_, nodes_;  // of `group_`
  GOAL_Group group_{};
  GOAL_Team goal_ = nullptr;
  bool asked_ = false;
  uint8_t reaches_all_ = 0;
};

// With SHMEM_DEBUG: ends the job with a sentence if the PEs of the team do not all call this function with as many bytes, the same
// root and dest. Collective over the team. `bytes` 0: they may differ, and so may dest.
void must_be_alike(const char* function, Team& team, size_t bytes, int root, const void* dest);

// Joins GOAL: collective over the job.
void collectives_open();
void collectives_close();

}  // namespace portunus::shmem
