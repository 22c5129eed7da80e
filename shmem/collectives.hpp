// collectives.hpp: the collectives of one team.
//
// A GOAL team does them (goal_call.h). On the node fcollect, collect and alltoall of 2 KiB and more of each go by stores into the others'
// dest, which callers say is ready, and a barrier. Those that are started (nonblocking/) are GOAL's alone.
//
// Thread: one per team at a time.
// Source: OpenSHMEM 1.6, chapter "Collective Routines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

#include "engine/client/numbers.hpp"
#include "engine/goal/goal_call.h"
#include "shmem/runtime.hpp"
#include "shmem/team.hpp"

namespace portunus::shmem {

inline GOAL_Call call_of(GOAL_Call_kind kind, size_t bytes, const void* in, void* out, int root = 0) {
  GOAL_Call call{};
  call.kind = kind;
  call.root = root;
  call.bytes = bytes;
  call.in = in;
  call.out = out;
  return call;
}
inline GOAL_Call call_of(GOAL_Call_kind kind, size_t count, GOAL_Type type, GOAL_Local_op op, const void* in, void* out) {
  GOAL_Call call = call_of(kind, 0, in, out);
  call.type = type;
  call.op = op;
  call.count = count;
  return call;
}

// Writes where the parts of a collect begin.
inline void begins_of(const std::vector<size_t>& sizes, std::vector<ptrdiff_t>& begins) {
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), ptrdiff_t{0},
                      [](ptrdiff_t sum, auto size) { return sum + static_cast<ptrdiff_t>(size); });
}

// Ends the job unless this is GOAL_SUCCESS: the end of a call that waits for the PEs of a team.
void must_succeed(int code, const char* call, const Members& members);

class Request;

class Collectives {
 public:
  explicit Collectives(const Team& team) : team_(team) {}
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  // Makes what its PEs share for all calls, which else the fourth of a kind makes. Collective, before any other call.
  void share_memory();
  // A place for its calls in what the world's PEs share (GOAL_Place_take): PE 0 takes one, and the others find it, if there is any, when it
  // has done so. `key` is no other team's.
  void take_place(uint64_t key);
  void find_place(uint64_t key);
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

  // Starts a call of GOAL, as GOAL_Start. `later`: one of those whose order on all PEs is their own; by one thread at a time, too.
  int start(const GOAL_Call& call, void (*ended)(void*), void* arg, GOAL_Started* started, bool later = false);
  // Makes ready for those.
  int open_later() { return open(later_, client::kFirstLaterTeamContext); }

  // Those that are to begin so (nonblocking/request.cpp), in the order of their calls on all PEs.
  struct Later {
    std::mutex guard;
    std::vector<Request*> waiting;
  } later;

  // The team's PEs, valid as long as the team. Not by two threads at once.
  const GOAL_Group& group();

 private:
  static constexpr size_t kLeastStored = 2048;  // of each: less is better taken with the meeting
  static_assert(client::kFirstTeamContext + kMostTeams <= client::kFirstLaterTeamContext);
  static_assert(client::kFirstLaterTeamContext + kMostTeams <= client::kFirstTeamsProgramContext);

  // Unless it is open. GOAL_* codes.
  int open(GOAL_Team& team, unsigned first_context);
  void run(const GOAL_Call& call);
  void combine(GOAL_Call_kind kind, void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op);
  // Whether a collective puts `all` bytes into every PE's dest by plain stores: there are many, and all reach all. Collective.
  bool stores(void* dest, size_t all);
  // `bytes` for PE i, at source + i * step, go to its dest + at; then all meet.
  void store_to_all(void* dest, size_t at, const void* source, size_t bytes, size_t step);

  const Team& team_;
  std::vector<int> ranks_, nodes_;  // of `group_`
  GOAL_Group group_{};
  GOAL_Team goal_ = nullptr, later_ = nullptr;
  int place_ = 0;
  bool asked_ = false;
  uint8_t reaches_all_ = 0;
};

// The facts that all PEs of a team must call alike. `bytes` 0: they may differ, and so may dest. Its bytes are sent to others.
struct CallFacts {
  char function[48];
  size_t bytes;
  Place dest;
  int root;

  CallFacts() = default;
  CallFacts(const char* its_function, size_t its_bytes, int its_root, const void* its_dest);
  bool operator==(const CallFacts& other) const;
  // Ends the job with a sentence: `other` is what number `pe` in the world calls.
  [[noreturn, gnu::cold]] void complain(const CallFacts& other, int pe) const;
};

// With SHMEM_DEBUG: ends the job with a sentence if the PEs of the team do not all call this function with as many bytes, the same
// root and dest. Collective over the team.
void must_be_alike(const char* function, Team& team, size_t bytes, int root, const void* dest);

// Joins GOAL: collective over the job.
void collectives_open();
void collectives_close();

}  // namespace portunus::shmem
