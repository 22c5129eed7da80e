// request.hpp: collectives that were started (shmemx.h), and the handles that programs have of them.
//
// A collective is a call of GOAL that goes on by itself. The thread that finds its end (PtlxPollerAdd) puts its result into place. Two
// have more to do:
//   collect              the sizes come first, then the data, by a call that begins in the order of the collects on all PEs, whatever the
//                        program has started meanwhile: so these have a context of their own
//   with SHMEM_DEBUG     what all PEs of the team call comes beside the data, and is compared
// A request may stand for a run of a graph instead (graph/), whose failure is a code and not the end of the job.
// A handle is the number of a request and how often that was used before, so that one that has ended is known as such.
//
// Thread: a request is started, waited for and freed by one at a time; any finds its end. Invariants: a team does not go before what was
// started on it is complete; GOAL has no call of a request that is complete.
// Source: OpenSHMEM 1.6, chapter "Collective Routines", for what the calls mean.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shmem/collectives.hpp"
#include "shmem/include/shmemx.h"
#include "shmem/typed/typed_team.hpp"

namespace portunus::shmem {

// The work of one collective.
struct Task {
  GOAL_Call call{};
  CallFacts facts{};
  bool sends_nothing = false;
  // collect: the sizes and places of the parts of all PEs, for `call`. Empty: another collective.
  std::vector<size_t> sizes{};
  std::vector<ptrdiff_t> begins{};
  // alltoalls: what leaves and what comes, which goes to dest.
  std::unique_ptr<std::byte[]> packed{};
  ops::Strided elements{};
  ptrdiff_t stride = 0;
  // exscan: bytes at dest that become zeros on the first PE.
  size_t cleared = 0;
  void* dest = nullptr;
};

class Request;

// Something else than a collective that a request stands for.
class Run {
 public:
  virtual ~Run() = default;
  // Starts it: a code of GOAL. request.run_has_ended() is called when it has ended, on any thread.
  virtual int begin(Request& request) = 0;
  // Once when the program has learned of its end: 0, or a code of shmemx.h, which it has explained to `function`.
  virtual int finish(const char* function) = 0;
  // Grows while runs go on.
  virtual uint64_t progress() const = 0;
};

class Request {
 public:
  // GOAL_* codes; if it is not GOAL_SUCCESS, nothing has begun.
  int launch(Team& team, Task&& task);
  int launch(Run& run, Team* team);
  void run_has_ended() { one_is_over(); }

  // Complete, or known to differ from what other PEs call.
  bool is_decided() const { return is_complete() || differs_.load(std::memory_order_acquire); }
  // 0, and the end of the job if what is decided is a failure; of a run its code.
  int take_end(const char* function) const;
  void must_be_well() const;
  // The end of the job, with a sentence that begins with `function`, if it waits for a PE which is known to have died.
  void must_be_hopeful(const char* function) const;
  // Waits until it is decided; the end of the job, with a sentence that begins with `function`, if a PE of its team dies meanwhile.
  void await(const char* function) const;

 private:
  friend class Requests;
  void await_run() const;
  enum State : uint8_t { kFree, kUnderWay, kComplete };

  bool is_complete() const { return state_.load(std::memory_order_acquire) == kComplete; }
  bool is_well() const { return code_ == GOAL_SUCCESS && !differs_.load(std::memory_order_acquire); }
  bool collects() const { return !task_.sizes.empty(); }
  int start_call();
  static void call_ended(void* request);
  static void facts_came(void* request);
  // The first PE of the team that calls something else; -1: none does.
  int other_call() const;
  void sizes_came(int code);
  void start_data();
  void finish();
  void one_is_over();

  std::atomic<State> state_{kFree};
  std::atomic<bool> differs_{false};
  std::atomic<int> steps_{0};  // until it is complete
  bool freed_ = false;         // by the program, which has no handle any more
  bool has_sizes_ = false;
  int code_ = GOAL_SUCCESS, code_of_facts_ = GOAL_SUCCESS;
  uint64_t number_ = 0, uses_ = 0;
  Team* team_ = nullptr;
  Run* run_ = nullptr;
  Task task_;
  std::vector<CallFacts> facts_of_all_;  // what the PEs of the team call, where that is compared
  GOAL_Started started_ = nullptr, comparison_ = nullptr;
};

// All requests of this PE.
class Requests {
 public:
  static Requests& instance();

  // One that nobody else gets; std::bad_alloc.
  Request& claim();
  // The request is complete, or was not launched.
  void give_back(Request& request);
  // Lets it give itself back.
  void free(Request& request);
  // Its last step.
  void conclude(Request& request);

  static shmemx_req_t handle_of(const Request& request);
  // Null: there is none.
  Request* find(shmemx_req_t handle);

  // No request stands for this run, which has ended, any more.
  void forget(const Run& run);
  // Waits for all that was started on a team. Null: on any; then no handle is one any more.
  void drain(const char* function, const Team* team);

 private:
  static constexpr unsigned kNumberBits = 24;
  // Under the lock.
  void recycle(Request& request);

  std::mutex guard_;
  std::vector<std::unique_ptr<Request>> all_;  // by their numbers
  std::vector<Request*> unused_;               // has room for all
};

}  // namespace portunus::shmem
