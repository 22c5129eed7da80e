// team.hpp: teams: which PEs they have, and what belongs to them.
//
// A team has a number that no other team has which shares PEs with it: the bits of PE 0's `team_ids` say which are taken.
// By its number it finds its signals in symmetric memory (sync.hpp) and keeps its collectives apart (collectives.hpp). Numbers
// are used again; the *generation* tells the signals of a new team from what an old one left.
//
// Thread: split and destroy: one per PE at a time; queries: any.
// Source: OpenSHMEM 1.6, chapter "Team Management Routines".
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shmem/include/shmem_base.h"
#include "shmem/members.hpp"

namespace portunus::shmem {

struct Context;
class Collectives;

struct Team {
  Team(Members members, int my_pe, unsigned id, uint64_t generation, int num_contexts);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return members.size(); }

  const Members members;
  const int my_pe;  // my number in it
  const unsigned id;
  const bool on_node;      // all its PEs are on this node
  const int num_contexts;  // what the program wished for
  uint64_t meetings;       // what its signals count up to: generation << 32, and one more for each sync
  std::unique_ptr<Collectives> collectives;
  std::atomic<bool> is_captured{false};  // by a thread, for a graph
  std::mutex guard;                      // of what follows
  std::vector<Context*> contexts;        // created on it and not yet destroyed
};

inline constexpr unsigned kMostTeams = 512;
inline constexpr unsigned kWorldId = 0, kSharedId = 1;

// The two teams that are always there, in the order of their handles.
struct FixedTeams {
  Team* world = nullptr;
  Team* shared = nullptr;
};
extern constinit FixedTeams fixed_teams [[gnu::visibility("hidden")]];

// With SHMEM_DEBUG: the end of the job if there is no such team (any more).
void check_team(const Team* team);

// Null for SHMEM_TEAM_INVALID.
inline Team* team_of(shmem_team_t handle) {
  if (handle == SHMEM_TEAM_INVALID) return nullptr;
  if (handle == SHMEM_TEAM_WORLD) return fixed_teams.world;
  if (handle == SHMEM_TEAM_SHARED) return fixed_teams.shared;
  Team* const team = reinterpret_cast<Team*>(handle);
  check_team(team);
  return team;
}
inline shmem_team_t handle_of(Team* team) {
  if (team == fixed_teams.world) return SHMEM_TEAM_WORLD;
  if (team == fixed_teams.shared) return SHMEM_TEAM_SHARED;
  return reinterpret_cast<shmem_team_t>(team);
}

// After `runtime` is filled; and before it is emptied, when nobody uses teams any more. Destroys what the program left.
void teams_open();
void teams_close();
// Makes what the PEs of a node share for their collectives. Collective over the job, behind teams_open().
void teams_share_memory();

// A number for a team that is formed without a split, and its generation; for the deprecated active sets. Never given back.
struct TeamNumber {
  uint64_t id, generation;
  static constexpr uint64_t kNone = UINT64_MAX;
};
TeamNumber claim_number();

}  // namespace portunus::shmem
