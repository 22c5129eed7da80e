// goal_job.hpp: random GOAL schedules of several ranks on a World, run again and again, and what they must compute.
//
// The schedules are compiled, loaded and run as in a process (engine/goal), several at the same time; some share a context, and that has
// a domain or none. The reference executes the same graph one operation after the other. What is known: an execution that ends well has
// the data of the reference; nothing fails unless a process or a way was lost, an operation failed, or somebody gave up; every execution
// ends on every rank that lives; a failure reaches every schedule of a domain on every living rank, those that run, that stay, and that are
// yet to come; counters have what so many executions make of them. Thread: one.
#pragma once

#include <memory>
#include <vector>

#include "engine/goal/domain.hpp"
#include "engine/goal/program.hpp"
#include "tests/goal/random_programs.hpp"
#include "tests/simulation/world.hpp"

namespace portunus::simulation {

class GoalJob final : public Actor {
 public:
  // Faults: none, or drawn.
  GoalJob(uint64_t seed, Mutant mutant);
  ~GoalJob();
  GoalJob(const GoalJob&) = delete;
  // The first violation; empty: there was none.
  std::string run();
  uint64_t acts() const { return acts_; }
  uint64_t struck() const { return world_.net.struck; }

  uint64_t act(uint32_t rank) override;
  void stepped(uint32_t) override {}

 private:
  static constexpr uint32_t kNobody = ~0u;
  // One for all ranks.
  struct Script {
    goal::RandomJob job;
    std::vector<goal::Program> programs;                     // by rank
    std::vector<std::vector<goal::Slots>> after;             // the reference: by execution and rank
    std::pair<uint32_t, goal::VertexId> breaks{kNobody, 0};  // the operation that fails, of this rank
    uint16_t context = 0;
    bool in_domain = false;
  };
  // The copy of one rank and script.
  struct Copy {
    goal::Slots slots;
    std::unique_ptr<goal::LoadedProgram> program;
    bool failed = false, given_up = false;
  };
  struct Rank {
    std::unique_ptr<goal::Port> port;
    std::unique_ptr<goal::Domain> domain;
    std::vector<Copy> copies;  // by script
    uint64_t pause = 0;        // until it looks again
  };

  uint32_t draw(uint32_t below) { return world_.net.draw(below); }
  bool one_in(uint32_t n) { return world_.net.one_in(n); }
  void plant();
  Script script(uint32_t number, uint64_t seed);
  void enter(uint32_t rank, const char* call);
  int meanwhile();
  void load(uint32_t rank, uint32_t which);
  void go_on(uint32_t rank, uint32_t which);
  void end(uint32_t rank, uint32_t which);
  void give_up(uint32_t rank, uint32_t which);
  bool over(const Copy& copy) const {
    return copy.failed || (copy.program && copy.program->epoch() == executions_ && !copy.program->running());
  }
  bool over(uint32_t rank) const;
  bool anything_lost() const;
  void run_out(uint64_t time);
  void look_at_domain();
  void look_at_copies();
  void clear_up();
  void abandon(Rank& rank);
  template <class Call>
  void each_living(Call&& call) {
    for (uint32_t r = 0; r < world_.ranks(); ++r)
      if (world_.alive(r) && world_.net.violation.empty()) call(r);
  }

  World world_;
  std::vector<Script> scripts_;
  std::vector<Rank> ranks_;
  uint64_t executions_;
  uint32_t faults_left_ = 0, gives_up_ = 0;
  uint64_t gap_;
  uint64_t acts_ = 0, happened_ = 0, stopped_in_all_ = 0;
  const char* call_ = "";  // in which a rank is, since when
  uint64_t called_at_ = 0;
  uint32_t caller_ = 0;
  bool looks_ = false, unwinds_ = true;
};

}  // namespace portunus::simulation
