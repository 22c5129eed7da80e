// agreement.cpp: see agreement.hpp.
#include "shmem/graph/agreement.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

#include "shmem/collectives.hpp"
#include "shmem/include/shmemx.h"

namespace portunus::shmem::graph {
namespace {

using Numbers = std::array<uint64_t, kMostGraphs / 64>;
std::mutex numbers_guard;
Numbers taken{};

Numbers free_numbers() {
  const std::lock_guard lock(numbers_guard);
  Numbers left = taken;
  for (uint64_t& word : left) word = ~word;
  return left;
}

// False: another thread has just taken it.
bool take(unsigned number) {
  const std::lock_guard lock(numbers_guard);
  uint64_t& word = taken[number / 64];
  const uint64_t bit = uint64_t{1} << number % 64;
  if (word & bit) return false;
  word |= bit;
  return true;
}

// The lowest number that is free on all PEs.
unsigned claim_number(Team& team) {
  for (;;) {
    const Numbers mine = free_numbers();
    Numbers all{};
    team.collectives->reduce(all.data(), mine.data(), all.size(), GOAL_UINT64, GOAL_AND);
    unsigned number = 0;
    for (const uint64_t word : all) {
      number += static_cast<unsigned>(std::countr_zero(word));
      if (word != 0) break;
    }
    if (number >= kMostGraphs) return kMostGraphs;
    const bool took = take(number);
    const auto good = static_cast<uint8_t>(took);
    uint8_t all_good = 0;
    team.collectives->reduce(&all_good, &good, 1, GOAL_UINT8, GOAL_MIN);
    if (all_good) return number;
    if (took) give_number_back(number);
  }
}

struct Header {
  uint64_t is_good, collectives, hash, has_accesses;
};

std::vector<Collective*> collectives_of(Recording& recording) {
  std::vector<Collective*> all;
  for (Node& node : recording.nodes())
    if (node.collective) all.push_back(node.collective.get());
  return all;
}

uint64_t hash_of(const CallFacts& facts, uint64_t so_far) {
  const auto mix = [&](uint64_t word) { so_far = (so_far ^ word) * 0x100000001b3u; };
  for (const char* at = facts.function; *at; ++at) mix(static_cast<unsigned char>(*at));
  mix(facts.bytes);
  mix(static_cast<uint64_t>(facts.root));
  mix(facts.dest.segment);
  mix(facts.dest.offset);
  return so_far;
}

// The first collective that differs from that of the team's first PE; all PEs find the same.
void find_difference(Team& team, const std::vector<Collective*>& mine, size_t most, std::string& sentence) {
  CallFacts none;
  memset(&none, 0, sizeof none);
  std::vector<CallFacts> facts(most, none), all(most * static_cast<size_t>(team.size()), none);
  std::ranges::transform(mine, facts.begin(), [](const Collective* one) { return one->facts; });
  team.collectives->fcollect(all.data(), facts.data(), most * sizeof none);
  const auto name = [](const CallFacts& one) { return one.function[0] ? one.function : "nothing"; };
  for (size_t i = 0; i < most; ++i)
    for (size_t pe = 1; pe < static_cast<size_t>(team.size()); ++pe) {
      const CallFacts &first = all[i], &other = all[pe * most + i];
      if (first == other) continue;
      const bool same = strcmp(first.function, other.function) == 0;
      sentence = "collective number " + std::to_string(i + 1) + " of the graph is " + name(other) + " on PE " +
                 std::to_string(team.members[static_cast<int>(pe)]) +
                 (same ? ", with another length, root or dest than on PE " : std::string(", but ") + name(first) + " on PE ") +
                 std::to_string(team.members[0]);
      return;
    }
}

void tell_sizes(Team& team, Collective& collect) {
  team.collectives->fcollect(collect.sizes.data(), &collect.call.bytes, sizeof collect.call.bytes);
  begins_of(collect.sizes, collect.begins);
  collect.call.out_sizes = collect.sizes.data();
  collect.call.out_places = collect.begins.data();
}

}  // namespace

void give_number_back(unsigned number) {
  const std::lock_guard lock(numbers_guard);
  taken[number / 64] &= ~(uint64_t{1} << number % 64);
}

int agree_on_code(Team& team, int code, std::string& sentence) {
  const auto good = static_cast<uint8_t>(code == 0);
  uint8_t all_good = 0;
  team.collectives->reduce(&all_good, &good, 1, GOAL_UINT8, GOAL_MIN);
  if (all_good || code != 0) return code;
  sentence = "another PE could not make its part of the graph";
  return SHMEMX_ERR_MEMORY;
}

int agree(Team& team, Recording& recording, const std::string& refusal, Agreement& agreement, std::string& sentence) {
  const std::vector<Collective*> collectives = collectives_of(recording);
  Header mine{refusal.empty(), collectives.size(), 0, 0};
  for (const Collective* one : collectives) mine.hash = hash_of(one->facts, mine.hash);
  for (const Node& node : recording.nodes()) mine.has_accesses |= node.access || node.await;
  std::vector<Header> all(static_cast<size_t>(team.size()));
  team.collectives->fcollect(all.data(), &mine, sizeof mine);
  uint64_t most = 0;
  bool alike = true;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_good) {
      sentence =
          refusal.empty() ? "the capture of PE " + std::to_string(team.members[static_cast<int>(i)]) + " is void; see its error" : refusal;
      return SHMEMX_ERR_UNSUPPORTED;
    }
    most = std::max(most, all[i].collectives);
    alike = alike && all[i].collectives == all[0].collectives && all[i].hash == all[0].hash;
    agreement.has_accesses |= all[i].has_accesses != 0;
  }
  if (!alike) {
    find_difference(team, collectives, most, sentence);
    return SHMEMX_ERR_ARG;
  }
  for (Collective* one : collectives)
    if (!one->sizes.empty()) tell_sizes(team, *one);
  agreement.number = claim_number(team);
  if (agreement.number < kMostGraphs) return 0;
  sentence = "a PE has " + std::to_string(kMostGraphs) + " graphs already; free some first";
  return SHMEMX_ERR_MEMORY;
}

}  // namespace portunus::shmem::graph
