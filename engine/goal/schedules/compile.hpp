// Compiles one rank's schedule into counters, match list entries and triggered operations.
//
// A Program is data: who increments which counter, and what starts when a counter reaches a threshold. program.hpp
// loads it onto a Portals interface; after that nothing but one increment of kStart is needed to run it, and
// nothing but kFinish has to be watched.
//
// Rules, with A(v) the prerequisites of v that others do not imply (reduce.hpp) and K(c) the increments that counter c receives per
// execution (epoch):
//   - v starts at kStart if A(v) is empty, at the point where its only prerequisite finished or started if there is one,
//     else when its own join counter (K = |A(v)|) is full, or has as many as v needs. In that case what comes after it
//     started counts too: the full join counter increments kFinish.
//   - Time that is none (calc 0) is no operation: it ends at the point where it starts.
//   - What v completes increments kFinish if nothing waits for its end; the join counter of w if only w does, and has
//     one; else a counter of its own.
//   - What the program parks itself counts on a counter of its own, whose K is as many successes as it says.
//   - A receive whose memory nobody else can touch before it ended is appended at the start ("early"). If it has
//     prerequisites, message and prerequisites meet in one counter with K = 1 + |A(v)|.
//   - Any other receive is appended when its prerequisites are fulfilled.
// An operation that waits for the start of v hangs where v itself hangs, behind it: operations on one counter start in the order in
// which they were parked, and so "started" means that the engine has done so.
// Thresholds are written for epoch 0; in epoch e they are threshold + e * K. Counters are never reset, and after E epochs
// each equals E * K exactly.
//
// Match bits are computed by sender and receiver on their own, from the schedule alone:
//
//      63   60 59             44 43        36 35   32 31                              0
//     +-------+-----------------+------------+-------+---------------------------------+
//     | class |     context     |   epoch    | split |              id                 |
//     +-------+-----------------+------------+-------+---------------------------------+
//
//     class 1  id = tag << 2*split | index: the index-th message of this pair of ranks with this tag, in program
//              order. `split` is the smallest number of bit pairs that hold the index, so small tags leave room for
//              many messages and the largest tags for one. Which message a receive gets does not depend on time.
//     class 2  id = tag. Messages that a receive of any source or any tag may take; both sides know from the
//              receiver's schedule which these are. What they take is decided when the program runs.
//     class 3  tells that the sender's program of this context has failed (program.hpp).
//
// Thread: any; pure.
// Invariants: one counter has exactly one purpose; operations are in an order in which prerequisites come first.
// Source: compilation to triggered operations as in Schneider, Hoefler, Grant, Barrett, Brightwell, ICPP 2013; GOAL.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"

namespace portunus::goal {

using CounterId = uint32_t;

inline constexpr CounterId kStart = 0;   // incremented once per epoch by whoever runs the program
inline constexpr CounterId kFinish = 1;  // full when everything ended
inline constexpr CounterId kNoCounter = 0xffffffff;

inline constexpr unsigned kContextShift = 44;
inline constexpr unsigned kEpochShift = 36;  // the epoch modulo 256 in the match bits; added at run time
inline constexpr uint64_t kAnyTagBits = 0xffffffff;

// "When `counter` reached `threshold`."
struct Point {
  CounterId counter = kNoCounter;
  uint32_t threshold = 0;
};

enum class Action : uint8_t {
  put,     // sends the vertex's message, then increments `counter`
  append,  // appends the vertex's entry; an arrival increments `counter`
  local,   // local work (calc), then increments `counter`
  parked,  // calls the program's function, which parks what will fill `counter`
};

struct Operation {
  Action action = Action::local;
  bool any_tag = false;  // of an entry
  Point when{};          // for an entry that is appended early: not set
  CounterId counter = kNoCounter;
  VertexId vertex = kNoVertex;
  uint32_t peer = 0;        // kAnySource for such receives
  uint64_t size = 0;        // bytes; nanoseconds for calc
  uint64_t match_bits = 0;  // epoch 0
  [[nodiscard]] uint64_t ignore_bits() const { return any_tag ? kAnyTagBits : 0; }
};
static_assert(sizeof(Operation) == 40);

// One counter increments another.
struct Relay {
  Point when{};
  CounterId counter = kNoCounter;
};

struct Program {
  uint16_t context = 0;
  std::vector<uint32_t> increments;  // K of each counter
  std::vector<Operation> early;      // entries to append right before kStart
  std::vector<Operation> triggered;
  std::vector<Relay> relays;  // behind what is triggered at the same points
  uint32_t sends_first = 0;   // so many at its front are sends that wait for nothing: they may go before `early`
};

// Which messages to a rank may be taken by its receives of any source or any tag.
class Wildcards {
 public:
  Wildcards() = default;
  explicit Wildcards(const Schedule& receiver);
  [[nodiscard]] bool cover(uint32_t source, uint32_t tag) const;

 private:
  std::set<uint32_t> tags_;     // received from any source
  std::set<uint32_t> sources_;  // from whom any tag is received
  bool all_ = false;
};

// Memory that a vertex reads or writes, as addresses of any kind; nothing when begin == end.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};
struct Touch {
  VertexId vertex = kNoVertex;  // kNoVertex: others change it while the schedule runs
  Range range{};
};

struct CompileOptions {
  uint32_t rank = 0;
  uint16_t context = 0;                  // keeps the messages of different schedules apart
  std::span<const Wildcards> wildcards;  // of all ranks; empty: nobody has any
  std::span<const Touch> touches;        // of all vertices, and of others; in any order; empty: no two touch the same memory
};

// `schedule` is finished. Throws ScheduleError if the messages with one tag between two ranks are too many.
[[nodiscard]] Program compile(const Schedule& schedule, const CompileOptions& options);

// The same program, its messages kept apart from those of other contexts, those of its first execution as of this epoch, and `tag` more in
// the tags of all. Throws ScheduleError if there are too many messages for that.
[[nodiscard]] Program in_context(Program program, uint16_t context, uint8_t epoch = 0, uint32_t tag = 0);

// For each send and receive: the how many-th it is, from 0, among its like with equal peer and tag.
[[nodiscard]] std::vector<uint32_t> running_indices(const Schedule& schedule);

// For each vertex: is it a receive that may be appended before its prerequisites are fulfilled? True if every other
// vertex with a hand on its memory starts only after it ended, and no others change it. `order` is one in which prerequisites come first.
[[nodiscard]] std::vector<bool> free_of_hazards(const Schedule& schedule, std::span<const Touch> touches, std::span<const VertexId> order);

}  // namespace portunus::goal
