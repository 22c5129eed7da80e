// Teams of parts of a team that shares memory, at places in it: see call_test.cpp.
#include <cstdlib>
#include <string>

#include "tests/goal/call/case.hpp"

namespace portunus::test::goal_call {

namespace {

constexpr unsigned kFirstContext = 16;

void meet(GOAL_Team where) {
  GOAL_Call barrier{};
  barrier.kind = GOAL_CALL_BARRIER;
  expect(GOAL_Call_run(where, &barrier) == GOAL_SUCCESS, "meeting");
}

// Rank 0 takes a place, and the others find it.
int place_of(GOAL_Team whole, const GOAL_Group& part, uint64_t key) {
  int place = rank == 0 ? GOAL_Place_take(whole, &part, key) : 0;
  meet(whole);
  if (rank != 0) place = GOAL_Place_find(whole, &part, key);
  return place;
}

void call_each_kind(bool compiles_nothing, size_t most, const char* what) {
  const uint64_t before = GOAL_Compilations();
  for (int k = 0; k < GOAL_CALL_GATHERV; ++k)
    for (const size_t count : {size_t{1}, most}) {
      const auto kind = static_cast<GOAL_Call_kind>(k);
      Case run(kind, count, 0, ++calls, false), started(kind, count, 0, ++calls, false);
      run.run(what);
      started.start();
      started.finish(what);
    }
  if (compiles_nothing) expect(GOAL_Compilations() == before, "compiling nothing at a place");
}

}  // namespace

void parts_have_places(const GOAL_Group& world) {
  const GOAL_Team others = team;
  const char* const by_node = std::getenv("PTL_NODE");
  const bool shares = size > 1 && !(by_node && *by_node == '0');
  GOAL_Team whole;
  expect(GOAL_Team_open(&world, kFirstContext, 0, nullptr, nullptr, nullptr, &whole) == GOAL_SUCCESS, "opening");
  expect(GOAL_Place_take(whole, &world, 1) == 0, "a place before there is memory");
  expect(GOAL_Team_share(whole) == GOAL_SUCCESS, "sharing");
  GOAL_Group alone = world;
  alone.size = 1;
  alone.rank = 0;
  expect(GOAL_Place_take(whole, &alone, 1) == 0 && GOAL_Place_take(nullptr, &world, 1) == 0, "a place of nobody");
  expect(GOAL_Place_find(whole, &world, 99) == 0, "a place that nobody has taken");

  // More of them one behind the other than there are places.
  for (uint64_t turn = 0; turn < 40; ++turn) {
    const int place = place_of(whole, world, turn);
    expect((place != 0) == shares, "a place for a part");
    expect(GOAL_Place_find(whole, &world, turn + 500) == 0, "a place by a wrong key");
    expect(GOAL_Team_open(&world, kFirstContext + 1, 0, nullptr, nullptr, nullptr, &team) == GOAL_SUCCESS, "opening a part");
    expect(GOAL_Team_lie_at(team, whole, place) == GOAL_SUCCESS, "lying there");
    if (turn % 4 != 3) call_each_kind(shares, turn % 2 == 0 ? 30 : 2, "a call at a place");
    GOAL_Team_close(&team);
    GOAL_Place_leave(whole, &world, place);
  }
  meet(whole);  // all have left

  // All places at once, and one more, which goes by messages.
  std::vector<GOAL_Team> teams;
  std::vector<int> places;
  for (bool any = true; any;) {
    places.push_back(place_of(whole, world, 1000 + places.size()));
    any = places.back() != 0 && places.size() < 40;
    expect(GOAL_Team_open(&world, kFirstContext + 2 + static_cast<unsigned>(teams.size()), 0, nullptr, nullptr, nullptr, &team) ==
               GOAL_SUCCESS,
           "opening one of many");
    expect(GOAL_Team_lie_at(team, whole, places.back()) == GOAL_SUCCESS, "lying at one of many");
    teams.push_back(team);
  }
  const size_t most = size < 8 ? 64 / static_cast<size_t>(size) : 0;
  expect(!shares || most == 0 || places.size() == most + 1, "as many places as there is memory for", GOAL_CALL_BARRIER, places.size());
  for (size_t i = teams.size(); i-- > 0;) {
    team = teams[i];
    call_each_kind(places[i] != 0, 30, "a call at one of many places");
  }
  for (size_t i = 0; i < teams.size(); ++i) {
    GOAL_Team_close(&teams[i]);
    GOAL_Place_leave(whole, &world, places[i]);
  }
  meet(whole);
  if (rank == 0) {
    const int place = GOAL_Place_take(whole, &world, 5);
    GOAL_Place_return(whole, &world, place);
    expect(GOAL_Place_take(whole, &world, 5) == place && (place != 0) == shares, "taking what was given back");
    GOAL_Place_return(whole, &world, place);
  }
  GOAL_Team_close(&whole);
  team = others;
}

}  // namespace portunus::test::goal_call
