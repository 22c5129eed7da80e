// The plan of a job: its name, its hosts, and which ranks each of them runs. The same on every host of the job.
//
// Thread: built once by ptlrun's main thread, only read afterwards.
// Invariants: ranks are numbered host by host without gaps; host names differ from each other.
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
  int host_id = 0;        // which of them this is
  std::vector<int> apps;  // ranks of each program; several only with one host
  int room = 0;           // how many processes the hosts have room for at a time: PMIX_UNIV_SIZE; 0: as many as there are ranks

  // A job that a rank of another one has asked for has these; such jobs are on one host.
  int number = 0;      // 0: what ptlrun was started for
  std::string family;  // the name of the job that ptlrun was started for
  std::string note;    // what the rank that asked for it tells it
  int born = 0;        // how many processes ptlrun had started before
  int before = 0;      // how many of these still run

  // Which program this rank runs, and the first rank that does.
  int app_of(int rank) const {
    int app = 0;
    for (int left = rank; app + 1 < static_cast<int>(apps.size()) && left >= apps[static_cast<size_t>(app)]; ++app)
      left -= apps[static_cast<size_t>(app)];
    return app;
  }
  int first_of_app(int app) const {
    int first = 0;
    for (int i = 0; i < app; ++i) first += apps[static_cast<size_t>(i)];
    return first;
  }

  const HostShare& here() const { return hosts[static_cast<size_t>(host_id)]; }
  int size() const { return hosts.back().first_rank + hosts.back().ranks; }

  // -1 when no host has this rank.
  int host_of(int rank) const {
    for (size_t host = 0; host < hosts.size(); ++host)
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
