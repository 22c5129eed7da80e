// The job of one: a program started alone, without any launcher. Also the choice between the kinds of job.
//
// Thread: as bootstrap.hpp says.
// Invariants: rank 0 of 1; a key is visible as soon as it is put.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include <time.h>

#include "engine/host/bootstrap.hpp"
#include "engine/host/launchers.hpp"

namespace portunus {
namespace {

// Process ids return; with the start time the name stays unique among the segments that earlier processes left.
std::string lone_job_id() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char text[64];
  std::snprintf(text, sizeof text, "alone-%ld-%llx%08lx", static_cast<long>(getpid()), static_cast<unsigned long long>(now.tv_sec),
                static_cast<unsigned long>(now.tv_nsec));
  return text;
}

class LocalJob final : public Bootstrap {
 public:
  LocalJob() : Bootstrap({.id = lone_job_id(), .rank = 0, .size = 1, .local_rank = 0, .local_ranks = {0}}) {}

  void put(const std::string& key, std::span<const std::byte> value) override { values_[key].assign(value.begin(), value.end()); }

  void commit() override {}
  void fence(bool) override {}

  std::vector<std::byte> get(int rank, const std::string& key) override {
    const auto found = values_.find(key);
    if (rank != 0 || found == values_.end())
      throw std::runtime_error("rank " + std::to_string(rank) + " of this job of one process has no value '" + key +
                               "'; ask for keys that were put, of rank 0");
    return found->second;
  }

  void abort(int status, std::string_view message) override {
    if (!message.empty()) std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
    std::fflush(nullptr);
    _exit(status);
  }

  void finish() override { values_.clear(); }

 private:
  std::map<std::string, std::vector<std::byte>> values_;
};

}  // namespace

std::unique_ptr<Bootstrap> start_local_job() { return std::make_unique<LocalJob>(); }

// A job in a job inherits the outer one's variables, but not its descriptor: PMI's is known to be of this job.
std::unique_ptr<Bootstrap> Bootstrap::start() {
  if (pmi_announced()) return start_pmi_job();
  if (pmix_announced()) return start_pmix_job();
  static bool complained = false;
  if (const std::string complaint = complaint_of_singleton(); !complaint.empty() && !std::exchange(complained, true))
    std::fprintf(stderr, "portals: %s\n", complaint.c_str());
  return start_local_job();
}

}  // namespace portunus
