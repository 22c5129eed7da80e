// explore.hpp: one run of a job, and many, each with another order of messages. Thread: one.
#pragma once

#include <functional>

#include "engine/tools/ptlsim/copies.hpp"
#include "engine/tools/ptlsim/ranks.hpp"

namespace portunus::ptlsim {

// The status of the job.
int run_job(const JobOptions& options, Copies& copies);
// The same in a child, which does `first` before, so that this process goes on however that ends.
int run_in_child(const JobOptions& options, Copies& copies, const std::function<void()>& first);
// Seeds from options.seed + 1 on, each in a child, until one fails or the time is over: the status of the one that failed. `same_output`:
// it fails, with status 1, too, if a rank prints other lines than with options.seed.
int explore(JobOptions options, Copies& copies, double seconds, bool same_output);

}  // namespace portunus::ptlsim
