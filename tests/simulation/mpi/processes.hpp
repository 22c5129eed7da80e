// processes.hpp: MPI processes on a simulated network, in one thread: who of them runs when.
//
// Each has its own copy of the libraries (Copies), and its threads are fibers. A process runs until it waits, gives way, looks at its
// transport or at the clock, or its program goes on; then the seed says who is next. Time passes only here.
// Thread: one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/simulation/fibers.hpp"
#include "tests/simulation/mpi/machine.hpp"
#include "tests/simulation/transport.hpp"

namespace portunus::simulation {

// So many copies of the shared object, each with variables of its own. They stay until the process ends.
class Copies {
 public:
  Copies(const std::string& object, uint32_t count);  // throws std::runtime_error
  SimulatedRank& rank(uint32_t number) const { return *ranks_[number]; }

 private:
  std::vector<SimulatedRank*> ranks_;
};

// A misfortune of a job, when so many turns have been taken since all ranks had begun.
struct Misfortune {
  enum class Kind : uint8_t { none, kill, stop, cut } kind = Kind::none;
  uint64_t turns = 0;
  uint32_t rank = 0, other = 0;
  uint64_t duration = 0;  // stop, cut
  bool at_once = true;    // kill: the others learn of it soon
};

class Processes {
 public:
  Processes(const Weather& weather, uint64_t seed, Mutant mutant, std::vector<Misfortune> misfortunes);
  ~Processes();
  Processes(const Processes&) = delete;

  // Until all that live have ended, or something is violated (net.violation).
  void run(const Copies& copies, const Plan& plan, History& history);

  bool alive(uint32_t rank) const;
  uint64_t acts() const { return acts_; }
  uint64_t turns() const { return turns_; }
  uint64_t trace() const { return trace_; }  // of all that happened: equal for equal seeds

  Network net;
  bool tells = false;  // on stdout, what each rank does

 private:
  class Process;
  class Job;
  struct Thread;

  void give_way(uint64_t until, const uint32_t* word = nullptr, bool for_arrivals = false);
  uint64_t ready_at(const Thread& thread) const;
  void befall();
  void wake(const uint32_t* word);
  void fence();
  std::string where() const;
  void show_stacks();

  Tap tap_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<SimulatedTransport*> transports_;
  std::vector<Misfortune> misfortunes_;
  Thread* running_ = nullptr;
  bool shows_stacks_ = false;
  uint64_t acts_ = 0, turns_ = 0, begun_at_ = 0, last_act_ = 0, trace_ = 0x9e3779b97f4a7c15u;
  uint32_t generation_ = 0, in_program_ = 0;
  std::map<std::pair<int, std::string>, std::vector<std::byte>> published_;
};

}  // namespace portunus::simulation
