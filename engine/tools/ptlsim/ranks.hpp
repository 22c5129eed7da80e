// ranks.hpp: the ranks of a simulated job in one thread: who runs when, on a virtual clock.
//
// A rank runs as a fiber until it needs the network or waits; what it has computed meanwhile is time that passes for it (`ahead`). Then
// the rank whose time is the earliest runs, so nobody sees what others do later. With equal times the order of asking decides; with a seed,
// chance.
//
//   running --needs the network--> waits until all others have come as far --> running
//           --waits in MPI-------> until something arrives, is woken, or the time is over
//           --exit, return-------> ended;   --kill--> dead
//
// Thread: one. Invariant: the clock never goes back.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "engine/simulation/fibers.hpp"
#include "engine/tools/ptlsim/network.hpp"

namespace portunus::ptlsim {

class Copies;
class Rank;

struct Misfortune {
  enum class Kind : uint8_t { kill, cut } kind;
  uint64_t at;
  uint32_t rank, other;
};

struct JobOptions {
  uint32_t ranks = 1;
  uint64_t seed = 0;   // 0: the network's times as they are
  double timeout = 0;  // s of real time; 0: none
  std::string trace;   // the file of --trace, or nothing
  double compute = 1;  // so many ns of virtual time for each of the processor; 0: none
  bool tagged = true, progress = false;
  std::vector<std::string> command;
  std::vector<Misfortune> misfortunes;  // by time
  std::map<uint32_t, double> slow;
  NetworkModel network;
};

class Ranks {
 public:
  explicit Ranks(const JobOptions& options);
  ~Ranks();
  Ranks(const Ranks&) = delete;

  void load(Copies& copies);
  // Until all have ended, or one has ended the job: its status.
  int run();

  uint64_t now() const { return now_; }
  uint64_t trace() const { return trace_; }  // of all that happened: equal for equal runs
  // Ends the file of --trace of the job that runs, if there is one. In a signal's handler, too.
  static void close_trace();
  const JobOptions& options() const { return options_; }
  static FILE* own_errors();  // ptlsim's own stderr, whoever runs

 private:
  friend class Rank;
  struct Thread {
    Thread(Rank& rank, std::function<void()> body) : rank(rank), fiber(std::move(body), kStack) {}
    Rank& rank;
    uint64_t due = 0, ticket = 0;
    const uint32_t* word = nullptr;
    bool for_arrivals = false, busy = false;
    int error = 0;  // errno
    simulation::Fiber fiber;
  };
  static constexpr uint32_t kTold = 4;  // ranks that have failed; of more the number is told
  static constexpr size_t kStack = size_t{8} << 20;
  struct Turn {
    uint64_t due, order;
    Thread* thread;
    uint64_t ticket;
    bool operator>(const Turn& other) const { return due != other.due ? due > other.due : order > other.order; }
  };

  void start(Rank& rank, std::function<void()> body);
  void schedule(Thread& thread, uint64_t due);
  void give_way(uint64_t until, bool busy, const uint32_t* word = nullptr, bool for_arrivals = false);
  std::optional<Turn> next_turn();
  uint64_t earliest();
  void expect(uint32_t rank, uint64_t due);
  uint64_t next_misfortune_at() const;
  void befall();
  void run_turn(Thread& thread);
  bool is_stuck() const;
  int tell_hang();
  void tell_ranks();  // what each waits for
  void limit(double seconds_left);
  void end_job(int status, const std::string& why);
  void fence(Rank& rank);
  void pass_fence();
  void show_progress();

  const JobOptions options_;
  std::unique_ptr<Trace> traced_;  // of --trace
  Network net_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::map<std::pair<int, std::string>, std::vector<std::byte>> published_;
  Thread* running_ = nullptr;
  size_t next_misfortune_ = 0;
  uint64_t now_ = 0, last_act_ = 0, last_order_ = 0, last_ticket_ = 0, trace_ = 0x9e3779b97f4a7c15u;
  uint32_t busy_ = 0, live_ = 0, fenced_ = 0, fences_ = 0, failures_ = 0;
  std::optional<int> status_;  // the job has been ended
  int first_failure_ = 0;
};

}  // namespace portunus::ptlsim
