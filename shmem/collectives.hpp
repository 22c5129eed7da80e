// collectives.hpp: the collectives of one team.
//
// Where all PEs share a node they go through memory that all map (goal_node.h), as soon as there were a few; or, fcollect, collect and
// alltoall of 2 KiB and more of each, by stores into the others' dest, which callers say is ready, and a barrier. The rest are GOAL
// schedules. A small collective works on memory of its own: what was compiled for a shape (operation, type, size, root) is kept and run
// again with any arguments, copied in and out. A large one is compiled for the caller's memory and freed after it. Shapes are
// the same on all PEs of a team, so all keep and forget the same schedules; each has a GOAL context of the team's.
//
// Thread: one per team at a time; GOAL's compiler is guarded here.
// Source: OpenSHMEM 1.6, chapter "Collective Routines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/goal/goal_collectives.h"
#include "engine/goal/goal_node.h"
#include "engine/goal/schedule_cache.hpp"
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
  // What the root has in `data` is there on all.
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

 private:
  enum class Kind { barrier, broadcast, fcollect, alltoall, reduce, inscan, exscan };
  struct Shape {
    Kind kind;
    size_t bytes;  // of this PE's source
    int root = 0;
    size_t count = 0;  // the rest is for those that combine
    GOAL_Type type{};
    GOAL_Local_op op{};
    bool operator==(const Shape&) const = default;
  };
  // Memory of its own, and what was compiled for it.
  struct Kept {
    ~Kept();
    bool busy() const { return false; }  // one collective of a team at a time
    GOAL_Schedule schedule = nullptr;
    std::unique_ptr<std::byte[]> memory;  // source, then dest
    std::byte* dest = nullptr;
  };

  // Large shapes: what a PE gives and gets, in bytes, together.
  static constexpr size_t kMostKeptBytes = size_t{1} << 16;
  static constexpr size_t kLeastStored = 2048;  // of each: less is better taken with the meeting
  static constexpr unsigned kContexts = 32;     // of this team: the first for kept schedules, the others in turn
  static constexpr unsigned kFirstContext = 16384;
  static_assert(kFirstContext + kMostTeams * kContexts <= 32768);

  // False: not through memory that all share.
  bool on_node(const GOAL_Node_call& call);
  // Whether a collective puts `all` bytes into every PE's dest by plain stores: there are many, and all reach all. Collective.
  bool stores(void* dest, size_t all);
  // `bytes` for PE i, at source + i * step, go to its dest + at; then all meet.
  void store_to_all(void* dest, size_t at, const void* source, size_t bytes, size_t step);
  void run(const Shape& shape, void* dest, const void* source, size_t dest_bytes);
  Kept& kept(const Shape& shape, size_t dest_bytes);
  void run_once(const Shape& shape, void* dest, const void* source);
  // Adds the collective to the schedule.
  int add(GOAL_Schedule& schedule, const GOAL_Group& group, const Shape& shape, void* dest, const void* source);
  template <class Add>
  GOAL_Schedule compile(unsigned context, unsigned epoch, Add&& add);
  void execute(GOAL_Schedule schedule);
  unsigned next_context();
  void combine(Kind kind, void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op);
  const GOAL_Group& group();

  const Team& team_;
  GOAL_Group group_{};
  GOAL_Node node_ = nullptr;
  std::vector<int> ranks_;
  std::vector<int> nodes_;
  goal::ScheduleCache<Shape, Kept> cache_;
  unsigned turn_ = 0;
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
