// The plan of a job: its name, its hosts, and which ranks each of them runs. The same on every host of the job.
//
// **Thread:** built once by ptlrun's main thread, only read afterwards.
// **Invariants:** ranks are numbered host by host without gaps; host names differ from each other.
#pragma once

#include <string>
#include <vector>

namespace portunus::launch {

struct HostShare {
  std::string name;
  int first_rank = 0;
  int ranks = 0;
};

struct JobPlan {
  std::string nspace;
  std::vector<HostShare> hosts;
  int host_id = 0;  // which of them this is

  const HostShare& here() const { return hosts[static_cast<std::size_t>(host_id)]; }
  int size() const { return hosts.back().first_rank + hosts.back().ranks; }

  // -1 when no host has this rank.
  int host_of(int rank) const {
    for (std::size_t host = 0; host < hosts.size(); ++host)
      if (rank >= hosts[host].first_rank && rank < hosts[host].first_rank + hosts[host].ranks) return static_cast<int>(host);
    return -1;
  }
};

// Numbers the ranks, makes the names of the hosts differ, and leaves the rest as it is.
void complete_plan(JobPlan& plan);

// A name that no other job has: ptlrun-<host>-<pid>-<time>, fit for file names.
std::string new_job_name();

std::string host_name();

}  // namespace portunus::launch
