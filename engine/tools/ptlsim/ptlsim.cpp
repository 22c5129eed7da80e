// ptlsim: a program with many ranks in one process, on a virtual clock: README.md. 'ptlsim --help' is its manual.
//
// Thread: one.
#include <execinfo.h>
#include <signal.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/tools/command_line.hpp"
#include "engine/tools/ptlsim/copies.hpp"
#include "engine/tools/ptlsim/explore.hpp"
#include "engine/tools/ptlsim/options.hpp"
#include "engine/tools/ptlsim/rank.hpp"
#include "engine/tools/ptlsim/real.hpp"
#include "engine/tools/ptlsim/temporary_folder.hpp"
#include "engine/tools/record/format.hpp"
#include "engine/tools/record/join.hpp"

namespace portunus::ptlsim {
namespace {

constexpr char kTunables[] = "GLIBC_TUNABLES", kThreadData[] = "glibc.rtld.optional_static_tls=";

// Starts the program again such that things lie where they lay in every other run, and the variables of a thread that each rank's copies
// have fit into what the dynamic linker keeps for them.
void start_again(char** argv, uint32_t ranks) {
  const char* const before = std::getenv(kTunables);
  if (before && std::strstr(before, kThreadData)) return;
  const int now = personality(0xffffffff);
  if (now >= 0) personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);  // refused: runs may differ
  setenv(kTunables, (std::string(before ? before : "") + (before ? ":" : "") + kThreadData + std::to_string(4096 + 1024ul * ranks)).c_str(),
         1);
  execv("/proc/self/exe", argv);
}

std::string rank_library(const std::string& name) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const std::string& each : {name, PTL_LIBRARY_FOLDER "/ptlsim/" + name})
    if (std::filesystem::exists(here / each)) return here / each;
  throw std::runtime_error(name + " is not beside ptlsim, and not where it was installed");
}

// As a shell finds it.
std::string path_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  std::string folders = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    const std::string path = folders.substr(at, end - at) + '/' + program;
    if (access(path.c_str(), X_OK) == 0) return path;
    at = end + 1;
  }
  return program;
}

void tell_crash(int signal) {
  char text[120];
  const int size = Rank::current ? std::snprintf(text, sizeof text, "ptlsim: rank %u ends by signal %d (%s)\n", Rank::current->number,
                                                 signal, sigabbrev_np(signal))
                                 : std::snprintf(text, sizeof text, "ptlsim: it ends itself by signal %d\n", signal);
  if (real::write(2, text, static_cast<size_t>(size)) < 0) _Exit(1);
  void* frames[30];
  backtrace_symbols_fd(frames, backtrace(frames, 30), 2);
  if (!Rank::current) Ranks::close_trace();  // else the others go on
  _Exit(128 + signal);
}

void watch_for_crashes() {
  static char stack[1 << 16];
  const stack_t own{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&own, nullptr);
  void* first[1];
  backtrace(first, 1);  // loads what it needs
  struct sigaction action {};
  action.sa_handler = tell_crash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(each, &action, nullptr);
}

// `--record FILE`: a folder for the records of the ranks while they run, of which FILE is made at the end.
class Record {
 public:
  Record(std::string file, const std::string& library)
      : file_(std::move(file)), library_(record::find_library(PTL_LIBRARY_FOLDER, library)), goalc_(record::find_goalc()) {
    if (library_.empty()) throw std::runtime_error(library + " was not found; install it beside the other libraries");
    if (goalc_.empty()) throw std::runtime_error("goalc was not found; install it beside ptlsim");
    if (!std::ofstream(file_, std::ios::app)) throw std::runtime_error("--record " + file_ + " cannot be written; give a path that can");
    setenv(record::kVariable, folder_.path().c_str(), 1);
  }
  const std::string& library() const { return library_; }
  bool join() const { return record::join(goalc_, folder_.path(), file_); }

 private:
  const std::string file_, library_, goalc_;
  const TemporaryFolder folder_;
};

// The libraries of ranks read these.
void set_environment(const JobOptions& job) {
  setenv("PTL_PROGRESS", "caller", 1);
  setenv("PTL_STDOUT", "block", 1);  // each rank's own is told by the line
  // A rank is a single thread, and so are its parallel regions, whatever number of threads they ask for.
  for (const char* const limit : {"OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) setenv(limit, "1", 1);
  if (job.network.rendezvous) setenv("MPIADI_EAGER_LIMIT", std::to_string(job.network.rendezvous).c_str(), 1);
}

// Each rank's copies of libraries, and its pools, are mappings of their own.
void check_mappings(uint32_t ranks) {
  constexpr uint64_t kOfRank = 20, kOthers = 1000;
  uint64_t most = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> most)) return;
  const uint64_t needed = kOfRank * ranks + kOthers;
  if (needed > most)
    throw std::runtime_error(std::to_string(ranks) + " ranks need some " + std::to_string(needed) + " mappings, and a process may have " +
                             std::to_string(most) + " here; sysctl -w vm.max_map_count=" + std::to_string(needed) +
                             " (as root) allows more, or simulate fewer ranks");
}

int run(int argc, char** argv) {
  int status = 0;
  std::optional<Options> options = read_options(argc, argv, status);
  if (!options) return status;
  start_again(argv, options->job.ranks);
  check_mappings(options->job.ranks);
  set_environment(options->job);
  const std::string program = path_of(options->job.command[0]);
  std::optional<Record> record;
  if (!options->record.empty()) record.emplace(options->record, record::libraries_for(program).front());
  const bool shmem = record::interfaces_of(program).shmem;
  Copies copies(program, rank_library(shmem ? "libptlsim_rank_shmem.so" : "libptlsim_rank.so"), record ? record->library() : "");
  watch_for_crashes();
  if (options->explore) return explore(options->job, copies, *options->explore, options->same_output);
  if (!record) return run_job(options->job, copies);
  // Records are joined however the run ends.
  const int result = run_in_child(options->job, copies, [] {});
  return !record->join() && result == 0 ? 1 : result;
}

}  // namespace
}  // namespace portunus::ptlsim

int main(int argc, char** argv) {
  try {
    const int status = portunus::ptlsim::run(argc, argv);
    std::fflush(nullptr);
    _Exit(status);  // what ranks have left behind is never destroyed
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptlsim: %s\n", error.what());
    return portunus::kBadUse;
  }
}
