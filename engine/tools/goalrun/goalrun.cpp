// goalrun: executes a GOAL file on as many processes as it has ranks. 'goalrun --help' is its manual.
//
// Every rank reads the file, compiles its own part into triggered operations and lets the engine run them; what each
// message carries is checked. Started alone it starts itself again under ptlrun, with the number of ranks of the file.
//
// Thread: one.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/goal/schedules/buffered.hpp"
#include "engine/goal/schedules/validate.hpp"
#include "engine/tools/command_line.hpp"
#include "engine/tools/goalrun/report.hpp"
#include "engine/tools/input_file.hpp"

namespace {

using namespace portunus;
using goalrun::Failure;

constexpr char kFooter[] =
    "Started alone, goalrun starts one process per rank of FILE on this host, by the ptlrun beside it or in PATH.\n"
    "Under a launcher it takes part in the launcher's job, which must have as many ranks: ptlrun -n 8 goalrun FILE.\n"
    "Each rank measures from its own start of the schedule to its own end; 'in wait' is the part that the application\n"
    "spent waiting. Sends carry a pattern; a receive that does not hold its message is an error. 'calc N' takes N ns of the\n"
    "engine's time but of no processor. In a FILE with annotations (//@) operations work on the memory that these name, and nothing is\n"
    "checked; arguments (user, user1 ..) are zero, or as --input says: --input in.%r.%k of rank 0 and argument 1 is in.0.1. The row 'all' "
    "has the least, the median of the medians and the most.\n"
    "Statuses: 0 done, 1 the file or its execution is wrong, 2 bad use; else that of ptlrun.";

std::optional<Said> parse_options(int argc, char** argv, goalrun::Options& options) {
  CommandLine line("goalrun", "Executes a GOAL schedule with offloaded messages and prints how long it took on each rank.", kFooter);
  bool no_check = false;
  line.text("FILE", options.file, "the schedule, in the GOAL text language");
  line.number("--repeat", options.repeat, "epochs to measure (default 1), after one that is not measured", 1, 100'000'000);
  line.number("--compute", options.compute_us, "microseconds that the application computes between start and wait", 0, 3'600'000'000);
  line.flag("--no-check", no_check,
            "do not check what the messages carry; those of a peer, tag and size use the same memory, as in programs");
  line.text("--input", options.input,
            "what the arguments of an annotated FILE hold before each execution: a file, %r its rank, %k the argument");
  line.text("--output", options.output, "where they are written after the last one");
  line.flag("--busy", options.busy, "do not sleep while the schedule runs: a calc then begins and ends as in a program that computes");
  line.flag("--plain", options.plain, "run it by Portals 4.3 alone, without the extensions of this library, to compare");
  line.flag("--csv", options.csv, "print comma-separated values; the last line goes to stderr");
  if (auto said = line.read(argc, argv)) return said;
  if (options.file.empty()) return Said{kBadUse, "no FILE was given; run 'goalrun --help' for the options"};
  options.check = !no_check;
  return std::nullopt;
}

std::string read_file(const std::string& path) {
  std::string text;
  if (const int cause = read_input(path, text))
    throw Failure(path + ": the file cannot be read (" + std::strerror(cause) + "); give the path of a GOAL file");
  return text;
}

// True of an annotation that says how long a message is, not where it lies.
bool is_size(const goal::Annotation& annotation) { return annotation.text.find(" bytes ") != std::string::npos; }

// `plans` gets one per rank if the file has annotations that say what operations work on.
goal::GoalFile read_schedule(const std::string& path, std::vector<goal::Plan>& plans) {
  const std::string text = read_file(path);
  try {
    goal::GoalFile file = goal::parse_goal(text);
    if (!file.annotations.empty()) plans = goal::plans_of(file);
    for (size_t r = 0; r < plans.size(); ++r) file.ranks[r] = plans[r].graph;
    if (std::ranges::all_of(file.annotations, is_size)) plans.clear();
    // No eager limit: sends that would wait for ever are buffered.
    goal::validate(file.ranks);
    goal::buffer_circles(plans);
    for (size_t r = 0; r < plans.size(); ++r) file.ranks[r] = plans[r].graph;
    return file;
  } catch (const goal::ScheduleError& error) {
    throw Failure(path + (error.line != 0 ? ":" : ": ") + error.what());
  }
}

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

// Becomes ptlrun with `ranks` copies of this command.
[[noreturn]] void become_ptlrun(uint32_t ranks, int argc, char** argv) {
  const std::string self = own_path();
  std::vector<std::string> words{"ptlrun", "-n", std::to_string(ranks), "--", self};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string beside = self.substr(0, self.rfind('/') + 1) + "ptlrun";
  execv(beside.c_str(), arguments.data());
  if (errno == ENOENT) execvp("ptlrun", arguments.data());
  throw Failure(std::string("ptlrun cannot be started (") + std::strerror(errno) +
                "); put it beside goalrun or into PATH, or use another launcher");
}

void must_fit(const goal::GoalFile& file, const std::string& path, const ptlx_job_t& job) {
  if (static_cast<int>(file.num_ranks) == job.size) return;
  const std::string ranks = std::to_string(file.num_ranks);
  throw Failure(path + ": the schedule is for " + ranks + " ranks, but the job has " + std::to_string(job.size) +
                "; start it as 'ptlrun -n " + ranks + " goalrun " + path + "', or as 'goalrun " + path + "' alone");
}

// Collective over the job: false if any rank has found something wrong. Of these the lowest is to say so: *speaker.
bool all_well(const ptlx_job_t& job, bool well, int& speaker) {
  std::vector<uint8_t> all(static_cast<size_t>(job.size));
  const uint8_t mine = well ? 1 : 0;
  if (PtlxJobShare("goalrun.well", &mine, sizeof mine, all.data()) != PTL_OK) std::_Exit(1);
  speaker = static_cast<int>(std::ranges::find(all, uint8_t{0}) - all.begin());
  return speaker == job.size;
}

// Ends the job. What all ranks find wrong, such as an error in the file, is said by one of them.
[[noreturn]] void refuse(const ptlx_job_t& job, int status, const std::string& sentence) {
  int speaker = 0;
  all_well(job, false, speaker);
  if (speaker != job.rank) PtlxJobFence();  // until the speaker has ended the job
  PtlxJobAbort(status, speaker == job.rank ? sentence.c_str() : nullptr);
  std::_Exit(status);
}

int run(int argc, char** argv, const ptlx_job_t& job, bool& agreed) {
  goalrun::Options options;
  if (const std::optional<Said> said = parse_options(argc, argv, options)) {
    if (said->status != 0) refuse(job, said->status, "goalrun: " + said->text);
    if (job.rank == 0) std::fputs(said->text.c_str(), stdout);
    return 0;
  }
  std::vector<goal::Plan> plans;
  const goal::GoalFile file = read_schedule(options.file, plans);
  if (!plans.empty()) options.check = false;
  if (options.busy && options.plain) throw Failure("--busy and --plain do not go together; leave one out");
  if (!plans.empty() && options.plain) throw Failure(options.file + ": --plain runs files without annotations only; remove it, or them");
  if (!job.launched && file.num_ranks > 1) become_ptlrun(file.num_ranks, argc, argv);
  must_fit(file, options.file, job);
  agreed = true;
  int speaker = 0;
  if (!all_well(job, true, speaker)) PtlxJobFence();  // until the speaker has ended the job
  goalrun::execute(file, std::move(plans), options, job);
  if (job.rank == 0) goalrun::print_report(file, options, job);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ptlx_job_t job{};
  if (PtlxJobInit(&job) != PTL_OK) return 1;
  bool agreed = false;  // from then on each rank speaks for itself
  const auto end_job = [&](const std::string& sentence) {
    if (!agreed) refuse(job, 1, sentence);
    std::fflush(stdout);
    PtlxJobAbort(1, ("goalrun: rank " + std::to_string(job.rank) + ": " + sentence).c_str());
  };
  try {
    const int status = run(argc, argv, job, agreed);
    PtlxJobFini();
    return status;
  } catch (const std::bad_alloc&) {
    end_job("there is not enough memory for the messages of the schedule; use smaller ones or fewer ranks");
  } catch (const std::exception& error) {
    end_job(error.what());
  }
  return 1;
}
