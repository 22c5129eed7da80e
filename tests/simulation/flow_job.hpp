// flow_job.hpp: portals with flow control (PTL_PT_FLOWCTRL) that are too small for what comes, on a World, and a ledger.
//
// Each rank has a portal with a short queue of events, few receives or little room for unexpected messages. Where these run out, the portal
// closes; its owner reads what there is, makes room and opens it again; whoever was refused tries again, after a while. The ledger knows:
// each try is answered once; what was taken is received once and unchanged, and what was refused never; no event is lost, however slowly
// the owner reads; between the event that tells of the closing and the opening nothing is reported; sums add up; all is taken in the end,
// unless a process or a way is lost. Thread: one. Source: Portals 4.3, flow control.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/simulation/world.hpp"

namespace portunus::simulation {

class FlowJob final : public Actor {
 public:
  // Faults: none, or drawn.
  FlowJob(uint64_t seed, Mutant mutant);
  // The first violation; empty: there was none.
  std::string run();
  uint64_t acts() const { return acts_; }
  uint64_t struck() const { return world_.net.struck; }

  uint64_t act(uint32_t rank) override;
  void stepped(uint32_t rank) override;

 private:
  struct Message {
    uint64_t id = 0;
    uint32_t from = 0, to = 0;
    bool adds = false;  // to the target's sum; else it wants a receive
    std::vector<uint8_t> data;
    bool waits = false;                // to be tried again
    bool taken = false, lost = false;  // how it ended
    unsigned received = 0;
  };
  struct Try {
    Message* message;
    bool answered = false, refused = false, received = false;
  };
  struct Receive {
    std::vector<uint8_t> memory;
    uint32_t handle = PTL_INVALID_HANDLE;
    bool done = false;
  };
  struct Rank {
    uint32_t eq = 0, flow_eq = 0, window = 0, hold = 0;
    bool holds = false;       // unexpected messages, a few
    bool tells_ends = false;  // of its receives, by events
    bool closed = false;      // as far as it knows
    bool over = false;
    uint32_t left = 0;  // messages
    uint64_t sum = 0;
    uint64_t pause = 0;
    std::vector<Message*> waiting;
    std::deque<Receive> receives;
  };

  uint32_t draw(uint32_t below) { return world_.net.draw(below); }
  bool one_in(uint32_t n) { return world_.net.one_in(n); }
  void set_up(uint32_t rank);
  void send(uint32_t rank);
  void try_it(Message& message);
  void receive(uint32_t rank);
  void read(uint32_t rank, uint32_t most);
  void reported(uint32_t rank, const ptl_event_t& event);
  void answered(Try& attempt, const ptl_event_t& event);
  void open_again(uint32_t rank);
  // Whether all events of one more message have room that is not promised to others.
  bool has_room(uint32_t rank) {
    return world_.node(rank).objects.queues.find(ranks_[rank].flow_eq)->room() >= (ranks_[rank].tells_ends ? 2u : 1u);
  }
  bool over(const Message& message) const;
  bool over(uint32_t rank);
  bool anything_lost(uint32_t a, uint32_t b);
  void violated(const Message& message, const char* what);
  void finish();
  void look_at_messages();
  void clear_up();

  World world_;
  std::vector<Rank> ranks_;
  std::deque<Message> messages_;
  std::deque<Try> tries_;
  uint32_t faults_left_ = 0;
  uint64_t gap_;
  uint64_t acts_ = 0, happened_ = 0, stopped_in_all_ = 0;
};

}  // namespace portunus::simulation
