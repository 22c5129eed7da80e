// One process's view of its job: who it is, how many there are, who shares the node, and a way to exchange a few bytes.
//
// Thread: set-up and tear-down only, one thread at a time; nothing here is called while messages move.
// Invariants: rank() < size(); local_ranks() is sorted and contains rank(); local_ranks()[local_rank()] == rank().
// Source: PMIx standard 4.1, chapters 5 (initialization), 6 (put, get, fence) and 10.2 (abort).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/seam.hpp"

namespace portunus {

// The facts of the job that do not change while it runs.
struct JobView {
  std::string id;  // unique on this node while the job runs, and fit to be part of a file name
  int rank = 0;
  int size = 1;
  int local_rank = 0;            // position of this rank among those of its node
  std::vector<int> local_ranks;  // ranks of the job on this node, ascending

  // The numbers that the launcher tells; else as if this job were the only one.
  std::string family{};               // the id of the job that the launcher was asked for; other jobs of it are spawned by ranks
  std::optional<std::string> note{};  // what the rank that asked for this job has to say to it
  int born = 0;                       // processes that the launcher had started before this job
  int node_rank = 0;                  // among all jobs' processes that were on the node when this one began
  int node_size = 0;                  // these and this job's; 0: as many as local_ranks
  int room = 0;                       // for so many processes at a time; 0: the launcher does not say
};

// A program that is to be started as ranks of a new job.
struct SpawnedProgram {
  int ranks = 0;
  std::vector<std::string> command;
  std::string folder, path, hosts;  // where it starts, is sought and runs; empty: not said
};

class Bootstrap {
 public:
  // Joins the job that the environment describes: a PMI server's (MPICH's mpiexec, srun --mpi=pmi2), a PMIx server's (ptlrun, mpirun,
  // srun --mpi=pmix), or else a job of one, which says so on stderr if a launcher has started it among others. Throws std::runtime_error
  // with a sentence when a server is announced but cannot be joined.
  PORTUNUS_SEAM static std::unique_ptr<Bootstrap> start();

  virtual ~Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  int rank() const { return view_.rank; }
  int size() const { return view_.size; }
  int local_rank() const { return view_.local_rank; }
  int local_size() const { return static_cast<int>(view_.local_ranks.size()); }
  const std::vector<int>& local_ranks() const { return view_.local_ranks; }
  const std::string& job_id() const { return view_.id; }
  const JobView& view() const { return view_; }

  // Stores a value under this rank and key; others see it after a commit() or a collecting fence(). The bytes are copied.
  virtual void put(const std::string& key, std::span<const std::byte> value) = 0;

  // Hands what was put to the server, so that get() by another rank can fetch it without a fence.
  virtual void commit() = 0;

  // Commits, then waits for every rank of the job. With `collect`, every get() after it is answered without the network.
  virtual void fence(bool collect = true) = 0;

  // The value that `rank` put under `key`. At once after a collecting fence; without one it waits for that rank's commit,
  // but no longer than 2 s. Throws std::runtime_error if there is no such value or rank.
  virtual std::vector<std::byte> get(int rank, const std::string& key) = 0;

  // The values that all ranks share under `key`, in their order, one behind the other. Every rank calls it, with a value of the same
  // length. Throws std::runtime_error where one gives another length, or has ended.
  std::vector<std::byte> share(const std::string& key, std::span<const std::byte> mine);

  // Starts programs as a job of their own, which is told `note`; returns its id once all run. Throws std::runtime_error: why none does.
  virtual std::string spawn(const std::vector<SpawnedProgram>& programs, const std::string& note) {
    (void)programs, (void)note;
    throw std::runtime_error("whoever started this program starts no others for it; start it with mpiexec of Portunus (ptlrun)");
  }
  // A job that this process has spawned has ended.
  virtual bool has_ended(const std::string& job_id) {
    (void)job_id;
    return false;
  }

  // Ends the whole job with this exit status, 0 included; `message` goes to stderr unless it is empty.
  [[noreturn]] virtual void abort(int status, std::string_view message) = 0;

  // Leaves the job; call once, after which only the accessors above may be used. The caller counts nested starts.
  virtual void finish() = 0;

 protected:
  explicit Bootstrap(JobView view) : view_(std::move(view)) {}

 private:
  std::vector<std::byte> values_of_all(const std::string& key, size_t bytes);

  JobView view_;
};

// The kinds behind Bootstrap::start(); each may also be asked for by name. Under PMI-1, commit() does nothing: values are seen after
// a fence.
std::unique_ptr<Bootstrap> start_pmix_job();
std::unique_ptr<Bootstrap> start_pmi_job();
std::unique_ptr<Bootstrap> start_local_job();

}  // namespace portunus
