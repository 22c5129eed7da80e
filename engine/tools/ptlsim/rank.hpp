// rank.hpp: one simulated rank: its clock, its sleep, its transport and its share of what processes have of the C library.
//
// Thread: one.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "engine/tools/ptlsim/copies.hpp"
#include "engine/tools/ptlsim/output.hpp"
#include "engine/tools/ptlsim/rank_machine.hpp"
#include "engine/tools/ptlsim/ranks.hpp"
#include "engine/tools/ptlsim/transport.hpp"

namespace portunus::ptlsim {

class Rank final : public RankMachine, public RankClock {
 public:
  Rank(Ranks& all, uint32_t number);

  // ---- Machine ----
  uint64_t now() override;
  void yield() override;
  void sleep_on(const uint32_t* word, uint32_t value, int64_t timeout_ns) override;
  void wake(const uint32_t* word) override;
  void sleep_for_arrivals(int64_t timeout_ns) override;
  void ring() override;
  uint64_t start_thread(void (*body)(void*), void* argument) override;
  void join_thread(uint64_t number) override;
  bool costly() const override { return false; }
  ProcessId id() const override { return Network::id(number); }
  std::unique_ptr<Transport> open_transport(Sink& sink) override;
  std::unique_ptr<Bootstrap> join_job() override;
  void waits(const char* call, const char* what) override;
  // Tells that this rank has waited since then, and for what if the library has said so meanwhile.
  void tell_wait(Trace& trace, uint64_t since);

  // ---- RankClock ----
  uint64_t time() const override;
  void charge(double ns) override;
  void synchronize() override;
  void close() override { transport_ = nullptr; }

  // ---- what its program calls (interposed.cpp) ----
  void sleep(uint64_t ns);
  [[noreturn]] void end(int status);
  // Without the functions that were registered for the end.
  [[noreturn]] void end_at_once(int status) {
    at_end_.clear();
    end(status);
  }
  [[noreturn]] void end_job(int status, const std::string& why);
  void run_main();
  void at_end(void (*function)(void*), void* argument) { at_end_.emplace_back(function, argument); }

  // Before it runs, and when it has given way: what the C library keeps for all is set to this rank's.
  void enter();
  void leave();

  static Rank* current;

  const uint32_t number;
  Copies::Loaded loaded{};
  bool alive = true, ended = false, in_fence = false;
  int status = 0, own_optind = 1;
  std::string wait_call, wait_what;  // the last that lasted
  bool wait_is_new = false;          // it was told since tell_wait()
  random_data random{};
  Output output;

 private:
  friend class Ranks;
  void charge_computing();
  uint64_t end_of(int64_t timeout_ns) const { return timeout_ns < 0 ? kNever : time() + static_cast<uint64_t>(timeout_ns); }

  Ranks& all_;
  ModelTransport* transport_ = nullptr;
  std::vector<Ranks::Thread*> threads_;
  std::vector<std::pair<void (*)(void*), void*>> at_end_;
  char random_state_[128];
  double ahead_ = 0;
  uint64_t computed_since_ = 0;  // by the clock of this thread
  uint64_t nap_ = 0;
  const void* last_ran_ = nullptr;  // a thread
  bool rung_ = false;
};

}  // namespace portunus::ptlsim
