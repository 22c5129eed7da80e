// execution.hpp: a compiled schedule of one call together with the memory that it works on, run for one call at a time.
//
// It works on the memory of the call, or, for short data, on memory of its own that the data are copied to and from: then calls with any
// memory can use it.
//
// Thread: one at a time per object; busy() tells the thread that starts calls whether another has taken the last result.
// Invariants: all calls that it runs have the shape and the details of the first one; those that it does not copy, also its memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/goal/call/build.hpp"
#include "engine/goal/node/waiting.hpp"

namespace portunus::goal {

class Execution {
 public:
  // Context, tag and epoch tell the messages of a schedule apart. `meets`: no rank ends a run before all have begun it.
  struct Binding {
    unsigned context;
    uint32_t tag;
    unsigned epoch;
    bool meets;
  };
  // `copies`: it may be run for calls with other memory. `details`: with places unless it copies. The group must outlive this object.
  Execution(const GOAL_Call& call, const GOAL_Group& group, bool copies, Details details = {});
  // Runs the caller's compiled schedule, which stays, for a call without data.
  Execution(const GOAL_Group& group, GOAL_Schedule schedule);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Builds and compiles: GOAL_* codes.
  int make(const GOAL_Call& call, const Binding& binding);
  // The same from what `original` compiled, if that fits.
  int make_like(const Execution& original, const GOAL_Call& call, const Binding& binding);
  [[nodiscard]] bool is_like(const Execution& other) const {
    return copies() == other.copies() && in_place_ == other.in_place_ && details_ == other.details_;
  }

  // Starts a run: GOAL_* codes.
  int start(const GOAL_Call& call);
  // Whether the run has ended. Looks at memory alone.
  [[nodiscard]] bool has_ended() const;
  // Waits until has_ended(), or until `abort` says that it never will; then it is cancelled.
  int wait(const node::AbortPredicate& abort);
  // The end of a run that has ended; puts the result into the memory of the call. GOAL_* codes, GOAL_MISMATCH.
  int take(const GOAL_Call& call);
  // The same without the result.
  int end();
  // Ends a run that may not have ended; the execution can only go then.
  void cancel();

  // Whether an end of it says so (tell_ends), rather than being looked for.
  [[nodiscard]] bool tells_ends() const { return tells_ends_; }
  void tell_ends(std::atomic<uint32_t>& word);

  // From start() to the end of take() or cancel().
  [[nodiscard]] bool busy() const { return busy_.load(std::memory_order_acquire); }
  // Whether it can run such a call, of the shape of the first one, now.
  [[nodiscard]] bool ready_for(const GOAL_Call& call, const Details& details) const {
    return !busy() && result_ == GOAL_SUCCESS && (copies() || (in_ == call.in && out_ == call.out)) && details_ == details;
  }

  // Bytes of all that are kept by this process: scratchpads and memory of their own.
  static size_t bytes_in_all() { return in_all_.load(std::memory_order_relaxed); }

 private:
  // Memory that is one argument of the schedule: where the parts of a call lie in it.
  struct Region {
    void* start;
    size_t bytes;
    std::vector<ptrdiff_t> places;
  };
  [[nodiscard]] bool copies() const { return own_in_ != nullptr; }
  Region region(const Parts& parts, std::byte* own, const void* given, size_t bytes) const;
  std::pair<Region, Region> regions(const GOAL_Call& call) const {
    const auto [in, out] = parts_of(call, group_);
    return {region(in, own_in_.get(), call.in, extents_.in), region(out, own_out_.get(), call.out, extents_.out)};
  }
  [[nodiscard]] bool has_parts() const { return !details_.empty(); }  // perhaps
  [[nodiscard]] size_t ranks() const { return static_cast<size_t>(group_.size); }
  int compile(const GOAL_Call& call, const Binding& binding);
  int conclude();

  static inline std::atomic<size_t> in_all_{0};
  const GOAL_Group& group_;  // of tag 0
  const Extents extents_;
  const Details details_;
  const bool in_place_, is_root_;
  const void* in_;
  void* out_;
  std::unique_ptr<std::byte[]> own_in_, own_out_;
  size_t bytes_ = 0;
  GOAL_Schedule schedule_ = nullptr;
  bool owns_ = true;  // the schedule
  bool tells_ends_ = false;
  GOAL_Request run_ = GOAL_REQUEST_NULL;
  std::atomic<bool> busy_{false};
  int result_ = GOAL_SUCCESS;
  unsigned runs_ = 0;
  const uint64_t* mismatches_ = nullptr;
  uint64_t mismatches_told_ = 0;
};

}  // namespace portunus::goal
