// portals_job.hpp: a random Portals program of several ranks on a World, and its ledger.
//
// Messages with receives before and after them, triggered ones, puts and gets at windows of memory, atomics and fetching ones, in
// every way of the data that the weather leaves; while processes are killed or stopped and ways are cut. Thread: one.
#pragma once

#include <array>
#include <set>
#include <vector>

#include "tests/simulation/ledger.hpp"
#include "tests/simulation/world.hpp"

namespace portunus::simulation {

class PortalsJob final : public Actor {
 public:
  // Faults: none, or drawn.
  PortalsJob(uint64_t seed, Mutant mutant);
  // The first violation; empty: there was none.
  std::string run();
  uint64_t acts() const { return acts_; }
  uint64_t struck() const { return world_.net.struck; }

  uint64_t act(uint32_t rank) override;
  void stepped(uint32_t rank) override;

 private:
  static constexpr uint32_t kWords = 16, kSlots = 4;
  static constexpr uint64_t kPatternAt = 512, kPattern = 4096, kSlotsAt = 8192, kSlot = 8448;
  struct Slot {
    bool busy = false, filled = false;
    uint64_t content = 0, length = 0;  // the put that filled it
  };
  struct Rank {
    uint32_t eq = 0, trigger = 0, hold = 0, window = 0;
    uint64_t triggered = 0, promised = 0;            // the trigger's counter; the highest threshold
    uint32_t left = 0;                               // acts
    std::vector<uint8_t> memory;                     // the window
    std::vector<Slot> slots;                         // of everybody's windows, mine
    std::array<std::set<uint64_t>, kWords> fetched;  // from my window, by anybody
  };

  uint32_t draw(uint32_t below) { return world_.net.draw(below); }
  bool one_in(uint32_t n) { return world_.net.one_in(n); }
  void set_up(uint32_t rank);
  uint64_t length();
  uint32_t other(uint32_t rank) { return world_.other(rank); }
  Slot& slot(uint32_t rank, uint32_t to, uint32_t which) { return ranks_[rank].slots[to * kSlots + which]; }
  void send(uint32_t rank, bool triggered);
  void receive(uint32_t rank, bool any);
  void put_or_get(uint32_t rank);
  void atomic(uint32_t rank);
  void count(uint32_t rank, uint64_t by);
  void fault(uint32_t rank);
  void issue(Operation& operation);
  Command command_of(Operation& operation);
  void ended(const Operation& operation, const ptl_event_t& event);
  bool drain();
  void look_at_windows();
  void clear_up();
  bool anything_lost() const;

  World world_;
  Ledger ledger_;
  std::vector<Rank> ranks_;
  uint32_t faults_left_ = 0;
  uint64_t gap_;       // between acts
  bool long_ = false;  // some messages are longer than the areas that data are staged in, so that one end waits for the other
  uint64_t acts_ = 0;
};

}  // namespace portunus::simulation
