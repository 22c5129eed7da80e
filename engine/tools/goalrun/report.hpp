// Prints what the ranks measured.
//
// Thread: one, of rank 0, after execute().
#pragma once

#include "engine/tools/goalrun/rank.hpp"

namespace portunus::goalrun {

// Throws Failure if a rank's outcome cannot be had.
void print_report(const goal::GoalFile& file, const Options& options, const ptlx_job_t& job);

}  // namespace portunus::goalrun
