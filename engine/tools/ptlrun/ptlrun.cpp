// ptlrun: starts a program as the ranks of one job on this host, as a PMIx server. 'ptlrun --help' is its manual.
//
// Thread: one; PMIx is served by a process of its own.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/launcher.hpp"

extern char** environ;

namespace {

using namespace portunus::launch;

// Pipes and sockets must not take the numbers of standard descriptors that the starter has closed.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) < 0) std::_Exit(1);
}

int usable_processors() {
  cpu_set_t usable;
  return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
}

// When ptlrun is itself a rank of another job, that job's server is none of its ranks' business.
void forget_outer_job() {
  std::vector<std::string> names;
  for (char** item = environ; *item != nullptr; ++item)
    if ((std::strncmp(*item, "PMIX_", 5) == 0 && std::strncmp(*item, "PMIX_MCA_", 9) != 0) || std::strncmp(*item, "PMI_", 4) == 0)
      names.emplace_back(*item, std::strcspn(*item, "="));
  for (const std::string& name : names) unsetenv(name.c_str());
}

int launch(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.asked_for_text) {
    std::fputs(options.text.c_str(), stdout);
    return 0;
  }
  must_have_descriptors(options.ranks);
  forget_outer_job();
  sweep_dead_segments();
  JobPlan plan;
  plan.nspace = plan.family = new_job_name();
  plan.host_id = options.host_id;
  for (const App& app : options.apps) plan.apps.push_back(app.ranks);
  Agents agents;
  std::optional<Link> link;
  if (options.hosts > 1) {
    link.emplace(options, plan, agents);
  } else {
    plan.hosts.push_back({host_name(), 0, options.ranks});
    complete_plan(plan);
    plan.room = std::max(options.ranks, usable_processors());
  }
  if (options.universe > 0) plan.room = options.universe;
  if (plan.apps.size() == 1) plan.apps[0] = plan.size();
  return Launcher(options, plan, link ? &*link : nullptr, agents).run();
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  int status = 1;
  try {
    status = launch(argc, argv);
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "ptlrun: %s\n", refusal.what());
    status = refusal.status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptlrun: %s; this is a defect of ptlrun, please report it\n", error.what());
  }
  return status;
}
