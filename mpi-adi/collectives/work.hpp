// work.hpp: what one rank does in one collective, apart from when and how it is run.
//
// A work is one GOAL_Call, on one piece of memory that goes in and one that comes out. Where the user's memory is such a piece the call
// works on it; otherwise data is packed before and unpacked afterwards, by the thread that calls MPI. That thread also does what the engine
// cannot, when the data has come (drain).
//
// Thread: one at a time per object. Source: MPI-5.0, chapter 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/goal/goal_call.h"

namespace portunus::mpi::collectives {

// The properties of calls that match, which all ranks must say alike; 0 where only some know them.
struct Key {
  GOAL_Call_kind kind{};
  uint8_t type = 0, op = 0;
  int root = 0;
  size_t bytes = 0;  // of one rank's part
};

// Beside the codes of GOAL: it ran to its end, but another rank's data have another length than this one expects.
constexpr int kMismatch = GOAL_MISMATCH;
// It will not end, as the ranks' calls do not fit: see CallLog.
constexpr int kDisagreement = GOAL_ABANDONED;

class Work {
 public:
  Work() = default;
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Says what it is, beside `in` and `out` of the call, which are there already. What it points to stays until the next one.
  virtual void describe(GOAL_Call& call);
  // Before a run, unless the call works on the user's memory: packs what this rank contributes.
  virtual void fill(std::byte*) const {}
  // After a run; always, and out is the user's memory if the call works on it.
  virtual void drain(const std::byte*) const {}

  // The runs of bytes that fill() reads and drain() writes, for schedules that pack by themselves, in their order. False: the thread that
  // calls does more than copy.
  using EachRun = std::function<void(std::byte*, size_t)>;
  virtual bool each_run_in(const EachRun&) const { return true; }
  virtual bool each_run_out(const EachRun&) const { return true; }

  Key key{};
  // The packed sizes of what goes in and what comes out on this rank.
  size_t in_bytes = 0, out_bytes = 0;
  // The user's memory, where a call may work on it.
  std::byte *user_in = nullptr, *user_out = nullptr;
  bool in_is_direct = false, out_is_direct = false;
  bool makes_truth = false;      // fill() makes integers 0 or 1
  bool in_place = false;         // what goes in lies in the user's `out`
  bool in_is_out = false;        // one piece of memory is both: fill() fills `out` (broadcast)
  std::unique_ptr<Work> then{};  // begins when this one is drained
};

// Memory for data that are packed.
struct Packed {
  std::vector<std::byte> in, out;
  void drop_large() {
    constexpr size_t kKept = 256 * 1024;
    for (auto* memory : {&in, &out})
      if (memory->size() > kKept) std::vector<std::byte>().swap(*memory);
  }
};
// Describes the work on the user's memory or on what it packs; returns where its result will lie, for Work::drain.
std::byte* describe(Work& work, Packed& packed, GOAL_Call& call);

}  // namespace portunus::mpi::collectives
