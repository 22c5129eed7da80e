// world.hpp: engines on a simulated network, and who of them steps when.
//
// A process sleeps when its engine has nothing to do, as progress/ would have it: from then on only an arrival, room, a call of its
// program or the time that the engine named wakes it. So whatever counts on being stepped without a reason hangs here.
// Thread: one. A program (Actor) is called at the time it asked for; World calls the engine.
#pragma once

#include <memory>
#include <vector>

#include "engine/transport/self/self.hpp"
#include "tests/simulation/transport.hpp"
#include "tests/support/rig.hpp"

namespace portunus::simulation {

// The conditions of a run, by its seed.
Weather draw_weather(uint64_t seed);

// The program of all ranks.
class Actor {
 public:
  // The act of a rank at its time; returns when it wants to be called again, or kNever. Whoever calls the engine wakes it.
  virtual uint64_t act(uint32_t rank) = 0;
  // After each step of the rank's engine.
  virtual void stepped(uint32_t rank) = 0;

 protected:
  ~Actor() = default;
};

class World {
 public:
  World(const Weather& weather, uint64_t seed, Mutant mutant);
  World(const World&) = delete;

  struct Host {
    SelfHub self;
    std::unique_ptr<test::Node> node;
    SimulatedTransport* transport = nullptr;
    uint64_t wake_at = 0, act_at = 0, stopped_until = 0, stopped_in_all = 0;
    bool alive = true;
  };

  // One thing happens. False: nothing will by itself, or not before `until`.
  bool go_on(Actor& actor, uint64_t until) { return go_on(&actor, until); }
  // The same while a program waits in a call: no program does anything meanwhile.
  void go_on_in_call() {
    if (!go_on(nullptr, net.now + kMillisecond)) net.now += kMillisecond;
  }

  // ---- faults ----
  // One that is drawn, at this rank. Returns the time for which a process does not run.
  uint64_t strike(uint32_t rank);
  void kill(uint32_t rank, bool at_once);
  // The process does not run for so long; its kernel answers.
  void stop(uint32_t rank, uint64_t duration);

  void wake(uint32_t rank) { hosts[rank]->wake_at = net.now; }
  test::Node& node(uint32_t rank) { return *hosts[rank]->node; }
  bool alive(uint32_t rank) const { return hosts[rank]->alive; }
  uint32_t ranks() const { return net.weather.ranks; }
  uint32_t other(uint32_t rank) { return (rank + 1 + net.draw(ranks() - 1)) % ranks(); }

  // Closes what is open of those that live and says what is left that should not be: a sentence, or nothing.
  // `failed`: what was freed after a failure may still have been counted on.
  std::string close(bool failed = false);

  Tap tap;
  Network net;
  std::vector<SimulatedTransport*> transports;
  std::vector<std::unique_ptr<Host>> hosts;

 private:
  bool go_on(Actor* actor, uint64_t until);
  uint64_t ready_at(const Host& host, bool acts) const;
  void step(uint32_t rank, Actor* actor);
};

}  // namespace portunus::simulation
