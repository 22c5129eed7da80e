// Names and numbers of a job.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/job.hpp"

#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <set>

#include <time.h>

namespace portunus::launch {

void complete_plan(JobPlan& plan) {
  std::set<std::string> names;
  int next = 0;
  for (size_t host = 0; host < plan.hosts.size(); ++host) {
    HostShare& share = plan.hosts[host];
    // Network namespaces of one machine share its name; PMIx takes equal names for the same node.
    if (!names.insert(share.name).second) names.insert(share.name += "." + std::to_string(host));
    share.first_rank = next;
    next += share.ranks;
  }
}

std::string host_name() {
  char name[128] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  std::string kept;
  for (const char letter : std::string(name))  // a comma would divide the list of nodes, a slash a file name
    kept += std::isalnum(static_cast<unsigned char>(letter)) || letter == '.' || letter == '-' ? letter : '_';
  return kept;
}

std::string new_job_name() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char tail[64];
  std::snprintf(tail, sizeof tail, "-%ld-%llx%08lx", static_cast<long>(getpid()), static_cast<unsigned long long>(now.tv_sec),
                static_cast<unsigned long>(now.tv_nsec));
  return "ptlrun-" + host_name() + tail;
}

}  // namespace portunus::launch
