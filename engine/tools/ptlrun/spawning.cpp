// The jobs that ranks ask for: started beside the one of the command line, each with a PMIx server of its own, and buried when their last
// rank has ended.
//
// Thread: ptlrun's main thread.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "engine/tools/ptlrun/launcher.hpp"

namespace portunus::launch {
namespace {

constexpr int kMostProcesses = 1 << 20;  // in all jobs, one after another: ranks of several jobs are numbered together

// One word of kNoProgram and the like, why not.
struct NotStarted {
  const char* word;
};

bool all_here(const std::string& hosts) {
  std::vector<HostSlots> places;
  if (!hosts.empty()) add_hosts(hosts, places);
  return std::all_of(places.begin(), places.end(), [](const HostSlots& place) { return is_this_host(place.name); });
}

}  // namespace

std::vector<PmixServer*> Launcher::servers() const {
  std::vector<PmixServer*> all{server_.get()};
  for (const auto& [number, job] : spawned_)
    if (job->server) all.push_back(job->server.get());
  return all;
}

// They get what the program of the rank that asked has got: its folder, unless another is named, and its environment.
std::vector<App> Launcher::apps_for(int parent, const SpawnRequest& request) {
  const Job asking = job_numbered(parent);
  const App& model = (*asking.apps)[static_cast<size_t>(asking.plan->app_of(request.rank))];
  std::vector<App> apps;
  for (const SpawnRequest::Program& program : request.programs) {
    App app = model;
    app.ranks = program.ranks;
    app.command = program.command;
    try {
      if (!all_here(program.hosts)) throw NotStarted{kNotHere};
    } catch (const Refusal&) {
      throw NotStarted{kNotHere};
    }
    if (!program.folder.empty()) {
      const std::filesystem::path from = model.folder.empty() ? std::filesystem::current_path() : std::filesystem::path(model.folder);
      app.folder = (from / program.folder).string();
      std::error_code none;
      if (!std::filesystem::is_directory(app.folder, none)) throw NotStarted{kNoFolder};
    }
    try {
      app.program_path = find_program(app.command.empty() ? "" : app.command[0], app.folder, program.path);
    } catch (const Refusal&) {
      throw NotStarted{kNoProgram};
    }
    apps.push_back(std::move(app));
  }
  return apps;
}

void Launcher::spawn(int parent, SpawnRequest request) {
  try {
    if (hosts_ || status_) throw NotStarted{kNotHere};
    int64_t ranks = 0;
    for (const SpawnRequest::Program& program : request.programs) {
      if (program.ranks < 0) throw NotStarted{kNoRoom};
      ranks += program.ranks;
    }
    if (ranks < 1 || ranks > kMaxRanks || born_ + ranks > kMostProcesses) throw NotStarted{kNoRoom};
    Spawned& made = *spawned_.emplace(last_job_ + 1, std::make_unique<Spawned>()).first->second;
    ++last_job_;
    made.parent = parent;
    made.abandoned = true;  // until all of it runs
    made.apps = apps_for(parent, request);
    made.plan.nspace = plan_.nspace + "." + std::to_string(last_job_);
    made.plan.number = last_job_;
    made.plan.family = plan_.family;
    made.plan.note = request.note;
    made.plan.born = born_;
    made.plan.before = ranks_->running();
    made.plan.room = made.plan.before + static_cast<int>(ranks) + plan_.room;  // what runs, and as many again as the first job could have
    made.plan.hosts.push_back({plan_.here().name, 0, static_cast<int>(ranks)});
    for (const App& app : made.apps) made.plan.apps.push_back(app.ranks);
    const std::string folder = workspace_.folder() + "/" + std::to_string(last_job_);
    try {
      must_have_descriptors(made.plan.before + static_cast<int>(ranks));
      if (mkdir(folder.c_str(), 0700) != 0) throw NotStarted{kNoRoom};
      made.server = std::make_unique<PmixServer>(made.plan, folder, handlers_for(last_job_));
      ranks_->spare(made.server->pid());
      for (int rank = 0; rank < static_cast<int>(ranks); ++rank) start_rank(plan_rank(job_numbered(last_job_), rank));
    } catch (const Refusal& refusal) {
      throw NotStarted{refusal.status() == kNotExecutable ? kNoProgram : kNoRoom};
    }
    made.abandoned = false;
    request.done(true, made.plan.nspace);
  } catch (const NotStarted& why) {
    if (!spawned_.empty() && spawned_.rbegin()->second->abandoned) ranks_->kill_job(spawned_.rbegin()->first);
    request.done(false, why.word);
  }
}

void Launcher::bury_jobs() {
  for (auto next = spawned_.begin(); next != spawned_.end();) {
    const auto now = next++;
    Spawned& job = *now->second;
    if (ranks_->running(now->first) > 0) continue;
    if (!job.abandoned && (job.parent == 0 || spawned_.contains(job.parent))) job_numbered(job.parent).server->job_over(job.plan.nspace);
    std::error_code none;
    if (job.server) {
      const pid_t server = job.server->pid();
      job.server.reset();
      ranks_->spare_no_more(server);
      std::filesystem::remove_all(workspace_.folder() + "/" + std::to_string(now->first), none);
    }
    spawned_.erase(now);
  }
}

}  // namespace portunus::launch
