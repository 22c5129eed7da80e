// One rank of goalrun: compiles its schedule, executes it epoch by epoch and measures.
//
// Thread: one, the application's; the engine has its own.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/parse.hpp"
#include "portals/portals4_ext.h"

namespace portunus::goalrun {

struct Options {
  std::string file;
  uint32_t repeat = 1;        // measured epochs, after one that is not
  uint32_t compute_us = 0;    // the application computes this long between start and wait
  std::string input, output;  // of the arguments of an annotated file
  bool check = true;
  bool csv = false;
  bool busy = false;   // the application's thread does not sleep while the schedule runs
  bool plain = false;  // by Portals 4.3 alone
};

// An error, as a sentence for the user.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Microseconds over the measured epochs.
struct Times {
  double least = 0, median = 0, most = 0;
};

// The report of a rank to rank 0. Plain data: it travels through the job's key-value store.
struct Outcome {
  Times completion;   // from this rank's own start to the end of its schedule
  Times waiting;      // the part of it that the application spent in the wait
  Times undisturbed;  // completion without computing; only with --compute
  int32_t core = -1;
  int32_t oversubscribed = 0;
  char progress[16] = {};
  char transports[64] = {};  // joined by "+"
};

// Collective over the job. `plans`: of all ranks, if the file is annotated; then no pattern is sent and checked, but what the
// annotations say is done. Throws Failure.
Outcome execute(const goal::GoalFile& file, std::vector<goal::Plan> plans, const Options& options, const ptlx_job_t& job);

}  // namespace portunus::goalrun
