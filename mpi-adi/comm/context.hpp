// context.hpp: how the members of a new communicator agree on its contexts.
//
// All propose from a window of numbers the ones that are free with them; the intersection is theirs to choose from. Under
// several threads a number may be taken between proposal and choice, so each reserves it and all confirm; else the next
// window is tried. In which order windows are tried depends on the caller's `key`, which differs among agreements that a
// process can be in at one time, so that these do not chase one another through the same numbers.
//
// Rank 0 of the new communicator also takes a place for its collectives in the memory of the node, before it confirms, where the others
// find it by the number and the ranks. Each leaves it before it gives the number back: when these ranks have that again, all have left.
//
// Thread: any. Source: MPI-5.0, 7.4.2, 12.9; Dinan, Goodell, Gropp, Thakur, Balaji 2012 (group-collective creation).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace portunus::mpi {

struct Group;

constexpr size_t kContextWindow = 256;  // numbers proposed at a time
using ContextOffer = std::array<uint64_t, kContextWindow / 64>;

// The things that the members of a new communicator have agreed on.
struct Agreed {
  uint16_t context;
  int place;  // see collectives::take_place
};
constexpr uint16_t kNoContext = 0xffff;  // of a communicator whose members have yet to agree

// The steps of an agreement, for those who carry the words themselves.
class ContextSearch {
 public:
  // `group`: the new communicator's, or nullptr: no place.
  ContextSearch(uint64_t key, const Group* group);
  // Offers the numbers of the next window that are free here. False: no window has a number in common.
  bool next(ContextOffer& offer);
  // Chooses from what is free everywhere; false: nothing is, so on to the next window.
  bool choose(const ContextOffer& common);
  // Whether the choice is still free here; all must say so.
  bool reserve();
  // `all_did`: everybody's reserve() was true. The context is ours then; else the next window is to be tried.
  bool settle(bool all_did, Agreed& agreed);
  // Others may have settled, or not.
  void give_up();

 private:
  uint64_t random_;
  size_t attempt_ = 0, full_ = 0;
  size_t window_ = 0, number_ = 0;
  const Group* group_;
  int place_ = 0;
  bool reserved_ = false;
};

// all_and(words, count, error): their bitwise and over all who agree, for all of them; MPI_SUCCESS or an error's class. `error`: this
// process has nothing to say, and nobody succeeds.
using AllAnd = std::function<int(uint64_t*, size_t, int)>;

// Collective over all who agree. MPI_SUCCESS, with the first context reserved here; MPI_ERR_OTHER: all are in use somewhere;
// any other: all_and's. `group`: as ContextSearch's.
int agree_on_context(const AllAnd& all_and, uint64_t key, const Group* group, Agreed& agreed);
void release_context(uint16_t context);
void open_contexts();  // all are free but those of MPI_COMM_WORLD, MPI_COMM_SELF and matched messages

}  // namespace portunus::mpi
