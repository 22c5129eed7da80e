// team.cpp: splitting teams, their numbers, and questions about them.
#include "shmem/team.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <span>
#include <utility>

#include "shmem/active_set.hpp"
#include "shmem/collectives.hpp"
#include "shmem/context.hpp"
#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/graph/graph.hpp"
#include "shmem/memory/shared.hpp"
#include "shmem/nonblocking/request.hpp"
#include "shmem/rma.hpp"
#include "shmem/sync.hpp"

namespace portunus::shmem {

constinit FixedTeams fixed_teams;

namespace {

// Made by splits and not yet destroyed; threads may split different teams at once. Never taken down at exit.
std::mutex split_teams_guard;
std::vector<Team*>& split_teams() {
  static auto& teams = *new std::vector<Team*>;
  return teams;
}

bool all_on_node(const Members& members) {
  for (int i = 0; i < members.size(); ++i)
    if (!runtime.peers[members[i]].on_node()) return false;
  return true;
}

// old = word; word = word op operand, at PE 0.
uint64_t change_word(size_t offset, ptl_op_t op, uint64_t operand) {
  const Place place{kHeap, runtime.segment[kHeap].size + offset};
  const Peer& keeper = peer("a split or the end of a team", 0);
  uint64_t old;
  at_memory<false>(
      keeper, place, sizeof old, [&](void* word) { old = client::change(std::atomic_ref(*static_cast<uint64_t*>(word)), op, operand); },
      [&] { default_channel.fetch(0, place, op, &operand, &old, sizeof old); });
  return old;
}

size_t word_of(unsigned id) { return offsetof(Shared, team_ids) + id / 64 * sizeof(uint64_t); }

void give_back(unsigned id) { change_word(word_of(id), PTL_BAND, ~(uint64_t{1} << id % 64)); }

int wished_contexts(const shmem_team_config_t* config, long mask) {
  return (mask & SHMEM_TEAM_NUM_CONTEXTS) && config ? config->num_contexts : 0;
}

struct Wish {
  Members members;
  int my_pe;
  int num_contexts;
};

// Gives new teams of this PE, where there are any, places for their collectives. Collective over `parent`, which has all their PEs.
void place_collectives(Team& parent, std::span<Team* const> made) {
  if (!parent.on_node) return;
  const auto key = [](const Team& team) { return team.meetings | team.id; };  // its generation and number
  for (Team* team : made)
    if (team) team->collectives->take_place(key(*team));
  parent.collectives->barrier();
  for (Team* team : made)
    if (team) team->collectives->find_place(key(*team));
}

// This PE is, of the teams that a split of `parent` makes, in those of `wishes` that have it (my_pe >= 0). Number i is that of
// wish i; `first` says where the numbers of this PE's teams begin among all. Null where a wish does not have this PE, or for all
// if there are not enough numbers; then all PEs of the parent agree on that.
bool make_teams(Team& parent, std::span<const Wish> wishes, std::span<const size_t> which, size_t numbers, std::span<Team*> made) {
  std::vector<TeamNumber> given(numbers);
  if (parent.my_pe == 0) {
    for (TeamNumber& number : given) number = claim_number();
    if (given.back().id == TeamNumber::kNone)
      for (const TeamNumber& number : given)
        if (number.id != TeamNumber::kNone) give_back(static_cast<unsigned>(number.id));
  }
  parent.collectives->share(given.data(), given.size() * sizeof(TeamNumber), 0);
  if (given.back().id == TeamNumber::kNone) return false;
  for (size_t i = 0; i < wishes.size(); ++i) {
    const TeamNumber& number = given[which[i]];
    if (wishes[i].my_pe < 0) continue;
    assert(number.id > kSharedId && number.id < kMostTeams);
    made[i] = new Team(wishes[i].members, wishes[i].my_pe, static_cast<unsigned>(number.id), number.generation, wishes[i].num_contexts);
    const std::lock_guard lock(split_teams_guard);
    split_teams().push_back(made[i]);
  }
  place_collectives(parent, made);
  return true;
}

bool has_config(const shmem_team_config_t* config, long mask) { return mask == 0 || config != nullptr; }

// PEs start, start + stride .. of the parent; start and the last one must be among them.
bool fits(const Team& parent, int start, int stride, int size) {
  if (size < 1 || (stride == 0 && size != 1)) return false;
  const int64_t last = start + int64_t{stride} * (size - 1);
  return start >= 0 && start < parent.size() && last >= 0 && last < parent.size();
}

int split_strided(shmem_team_t handle, int start, int stride, int size, const shmem_team_config_t* config, long mask,
                  shmem_team_t* result) {
  *result = SHMEM_TEAM_INVALID;
  Team* parent = team_of(handle);
  if (graph::is_refused("shmem_team_split_strided", graph::kNoTeams)) return -1;
  if (!parent || !fits(*parent, start, stride, size) || !has_config(config, mask)) return -1;
  const Members members = parent->members.some(start, size == 1 ? 1 : stride, size);
  const Wish wish{members, members.number_of(runtime.my_pe), wished_contexts(config, mask)};
  const size_t first = 0;
  Team* made = nullptr;
  if (!make_teams(*parent, {&wish, 1}, {&first, 1}, 1, {&made, 1})) return -1;
  if (made) *result = handle_of(made);
  return 0;
}

// Rows are numbered before columns.
int split_2d(shmem_team_t handle, int xrange, const shmem_team_config_t* xconfig, long xmask, shmem_team_t* xresult,
             const shmem_team_config_t* yconfig, long ymask, shmem_team_t* yresult) {
  *xresult = *yresult = SHMEM_TEAM_INVALID;
  Team* parent = team_of(handle);
  if (graph::is_refused("shmem_team_split_2d", graph::kNoTeams)) return -1;
  if (!parent || xrange < 1 || !has_config(xconfig, xmask) || !has_config(yconfig, ymask)) return -1;
  const int n = parent->size();
  xrange = std::min(xrange, n);
  const int rows = (n + xrange - 1) / xrange;
  const int x = parent->my_pe % xrange, y = parent->my_pe / xrange;
  const Wish wishes[] = {{parent->members.some(y * xrange, 1, std::min(xrange, n - y * xrange)), x, wished_contexts(xconfig, xmask)},
                         {parent->members.some(x, xrange, (n - x + xrange - 1) / xrange), y, wished_contexts(yconfig, ymask)}};
  const size_t which[] = {static_cast<size_t>(y), static_cast<size_t>(rows + x)};
  Team* made[2]{};
  if (!make_teams(*parent, wishes, which, static_cast<size_t>(rows + xrange), made)) return -1;
  *xresult = handle_of(made[0]);
  *yresult = handle_of(made[1]);
  return 0;
}

void destroy_contexts(Team& team, bool private_ones_too) {
  const std::vector<Context*> left = team.contexts;
  for (Context* context : left)
    if (private_ones_too || !(context->options & SHMEM_CTX_PRIVATE)) destroy_context(context);
}

}  // namespace

Team::Team(Members its_members, int me, unsigned its_id, uint64_t generation, int contexts_wished)
    : members(std::move(its_members)),
      my_pe(me),
      id(its_id),
      on_node(all_on_node(members)),
      num_contexts(contexts_wished),
      meetings(generation << 32),
      collectives(std::make_unique<Collectives>(*this)) {}

Team::~Team() = default;

void check_team(const Team* team) {
  if (!runtime.debug) return;
  const std::lock_guard lock(split_teams_guard);
  if (std::find(split_teams().begin(), split_teams().end(), team) == split_teams().end())
    misuse("there is no team with the handle %p: it was destroyed, or never made", static_cast<const void*>(team));
}

TeamNumber claim_number() {
  for (unsigned id = kSharedId + 1; id < kMostTeams;) {
    const uint64_t taken = change_word(word_of(id), PTL_BOR, 0);
    const auto free = static_cast<unsigned>(std::countr_one(taken | ((uint64_t{1} << id % 64) - 1)));
    if (free == 64) {
      id = (id / 64 + 1) * 64;
      continue;
    }
    id = id / 64 * 64 + free;
    const uint64_t bit = uint64_t{1} << free;
    if (!(change_word(word_of(id), PTL_BOR, bit) & bit)) return {id, change_word(offsetof(Shared, generations), PTL_SUM, 1) + 1};
  }
  return {TeamNumber::kNone, 0};
}

void teams_open() {
  fixed_teams.world = new Team(Members(0, 1, runtime.n_pes), runtime.my_pe, kWorldId, 0, 0);
  std::vector<int> here;
  for (int pe = 0; pe < runtime.n_pes; ++pe)
    if (runtime.peers[pe].on_node()) here.push_back(pe);
  const auto me = std::find(here.begin(), here.end(), runtime.my_pe) - here.begin();
  fixed_teams.shared = new Team(Members(std::move(here)), static_cast<int>(me), kSharedId, 0, 0);
}

void teams_share_memory() {
  fixed_teams.world->collectives->share_memory();
  place_collectives(*fixed_teams.world, {&fixed_teams.shared, 1});
}

void teams_close() {
  active_sets_close();
  for (Team* team : split_teams()) {
    destroy_contexts(*team, true);
    delete team;
  }
  split_teams().clear();
  for (Team** team : {&fixed_teams.shared, &fixed_teams.world}) {
    destroy_contexts(**team, true);
    delete std::exchange(*team, nullptr);
  }
}

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(int, team_my_pe, (shmem_team_t team)) try {
  require_init("shmem_team_my_pe");
  const Team* it = team_of(team);
  return it ? it->my_pe : -1;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_n_pes, (shmem_team_t team)) try {
  require_init("shmem_team_n_pes");
  const Team* it = team_of(team);
  return it ? it->size() : -1;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t* config)) try {
  require_init("shmem_team_get_config");
  const Team* it = team_of(team);
  if (!it || !has_config(config, config_mask)) return -1;
  if (config_mask & SHMEM_TEAM_NUM_CONTEXTS) config->num_contexts = it->num_contexts;
  return 0;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team)) try {
  require_init("shmem_team_translate_pe");
  const Team* from = team_of(src_team);
  const Team* to = team_of(dest_team);
  if (!from || !to || src_pe < 0 || src_pe >= from->size()) return -1;
  return to->members.number_of(from->members[src_pe]);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_split_strided,
              (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t* config, long config_mask,
               shmem_team_t* new_team))
try {
  require_init("shmem_team_split_strided");
  return split_strided(parent_team, start, stride, size, config, config_mask, new_team);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_split_2d,
              (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config, long xaxis_mask, shmem_team_t* xaxis_team,
               const shmem_team_config_t* yaxis_config, long yaxis_mask, shmem_team_t* yaxis_team))
try {
  require_init("shmem_team_split_2d");
  return split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, yaxis_team);
}
SHMEMI_BARRIER

// Private contexts stay their creators' business; they are put elsewhere until those destroy them.
SHMEMI_DEFINE(void, team_destroy, (shmem_team_t team)) try {
  require_init("shmem_team_destroy");
  Team* it = team_of(team);
  if (!it || graph::is_refused("shmem_team_destroy", graph::kNoTeams)) return;
  if (it->id == kWorldId || it->id == kSharedId) misuse("shmem_team_destroy: SHMEM_TEAM_WORLD and SHMEM_TEAM_SHARED cannot be destroyed");
  Requests::instance().drain("shmem_team_destroy", it);
  graph::forget_team(*it);
  destroy_contexts(*it, false);
  {
    const std::lock_guard lock(fixed_teams.world->guard);
    for (Context* context : it->contexts) {
      context->team = fixed_teams.world;
      fixed_teams.world->contexts.push_back(context);
    }
  }
  sync(*it);
  if (it->my_pe == 0) give_back(it->id);
  {
    const std::lock_guard lock(split_teams_guard);
    std::erase(split_teams(), it);
  }
  delete it;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) try {
  require_init("shmem_team_ptr");
  const Team* it = team_of(team);
  if (!it || pe < 0 || pe >= it->size()) return nullptr;
  return shmem_ptr(dest, it->members[pe]);
}
SHMEMI_BARRIER
