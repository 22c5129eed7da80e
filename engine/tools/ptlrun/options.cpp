// Reads ptlrun's command line. Everything from the first word that is no option belongs to the program.
//
// **Thread:** ptlrun's main thread.
#include "engine/tools/ptlrun/options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace portunus::launch {
namespace {

constexpr char kSeeHelp[] = "; run 'ptlrun --help' for the options";

constexpr char kFooter[] =
    "Signals INT, TERM, HUP, USR1, USR2, TSTP and CONT are passed on to all ranks; a second INT or TERM ends the job.\n"
    "When a rank dies, exits non-zero or aborts, the others are ended and its status is returned (128+n for signal n).\n"
    "With --keep-going they go on, and the status of the first that failed is returned when all have ended; the job can meet at\n"
    "no PMIx fence any more.\n"
    "Other statuses: 2 bad use, 124 timeout, 126 program not executable, 127 program not found.\n"
    "\n"
    "Several hosts by hand: start one ptlrun on each, with the same --hosts and --rendezvous, e.g.\n"
    "  host A:  ptlrun --hosts 2 --host-id 0 --rendezvous 10.0.0.1:7000 -n 2 ./prog\n"
    "  host B:  ptlrun --hosts 2 --host-id 1 --rendezvous 10.0.0.1:7000 -n 2 ./prog\n"
    "Ranks are numbered host by host; 10.0.0.1 must be an address of host A. Use a network where you trust everybody:\n"
    "whoever reaches that port before the job is complete can join it.";

// The options as CLI11 fills them in: text, so that each refusal can be one sentence of ours.
struct Words {
  std::string ranks;
  std::vector<std::string> exports;
  std::string bind = "none";
  std::string timeout;
  std::string hosts = "1";
  std::string host_id = "0";
};

void declare(CLI::App& app, Words& words, Options& options) {
  app.footer(kFooter);
  app.get_formatter()->label("OPTIONS", "OPTIONS] -n N [--] PROG [ARGS...");  // CLI11 adds the outer brackets
  app.set_version_flag("--version", "ptlrun (Portunus) " PTL_VERSION);
  app.add_option("-n,--np", words.ranks, "ranks to start on this host (also -np N)")->type_name("N");
  app.add_option("-x", words.exports, "export VAR to the ranks, as it is here or as VAR=VALUE; repeatable")
      ->allow_extra_args(false)
      ->type_name("VAR[=VALUE]");
  app.add_option("--bind", words.bind, "core: rank i runs on the i-th usable core; none: anywhere (default)")->type_name("WHAT");
  app.add_option("--timeout", words.timeout, "end the job after this many seconds, with status 124")->type_name("SECONDS");
  app.add_flag("--tag-output", options.tag_output, "put [rank] or [rank:err] before each line of output");
  app.add_flag("--keep-going", options.keep_going, "let the other ranks go on when one dies or exits non-zero");
  app.add_option("--hosts", words.hosts, "number of ptlruns that form the job together")->type_name("K");
  app.add_option("--host-id", words.host_id, "which of them this is, from 0")->type_name("I");
  app.add_option("--rendezvous", options.rendezvous, "ADDR:PORT where host 0 waits for the others")->type_name("ADDR:PORT");
}

// The option that a word of the command line means; null when there is none.
const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  if (word.starts_with("--")) return app.get_option_no_throw(word.substr(0, word.find('=')));
  return app.get_option_no_throw(word.substr(0, 2));  // a short one, maybe with its value attached: -n4
}

// Divides argv into the words for us (returned) and the program's (left in `command`).
std::vector<std::string> split(const CLI::App& app, int argc, char** argv, std::vector<std::string>& command) {
  std::vector<std::string> ours;
  int next = 1;
  while (next < argc) {
    std::string word = argv[next];
    if (word == "--") {
      ++next;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    ++next;
    if (word == "-np") word = "-n";
    const CLI::Option* option = option_named(app, word);
    if (option == nullptr) throw Refusal(kBadUse, "unknown option '" + word + "'" + kSeeHelp);
    ours.push_back(word);
    const bool value_follows =
        option->get_items_expected_max() > 0 && word.find('=') == std::string::npos && (word.starts_with("--") || word.size() == 2);
    if (!value_follows) continue;
    if (next == argc) throw Refusal(kBadUse, "option '" + word + "' needs a value" + kSeeHelp);
    ours.back() = word.starts_with("--") ? word + "=" + argv[next] : word + argv[next];  // bound, even if it looks like an option
    ++next;
  }
  command.assign(argv + next, argv + argc);
  return ours;
}

std::optional<long> whole_number(const std::string& word) {
  if (word.empty() || std::isspace(static_cast<unsigned char>(word[0]))) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(word.c_str(), &end, 10);
  if (*end != '\0' || errno != 0) return std::nullopt;
  return value;
}

int number_in(const std::string& option, const std::string& word, int least, int most) {
  const auto value = whole_number(word);
  if (!value || *value < least || *value > most)
    throw Refusal(kBadUse,
                  option + " was given '" + word + "'; give a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(*value);
}

double seconds(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0' || !std::isfinite(value) || value <= 0 || value > 1e8)
    throw Refusal(kBadUse, "--timeout was given '" + word + "'; give the seconds the job may take, e.g. 60");
  return value;
}

// NAME=VALUE for an -x option; a NAME that is not set here has nothing to be exported.
void add_export(const std::string& word, Options& options) {
  const auto equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (name.empty()) throw Refusal(kBadUse, "-x was given '" + word + "', which names no variable; write -x VAR or -x VAR=VALUE");
  if (equals != std::string::npos) {
    options.exports.push_back(word);
  } else if (const char* value = std::getenv(name.c_str())) {
    options.exports.push_back(name + "=" + value);
  } else {
    throw Refusal(kBadUse, "-x " + name + ": the variable is not set here; set it, or write -x " + name + "=VALUE");
  }
}

void check_hosts(const CLI::App& app, const Words& words, Options& options) {
  options.hosts = number_in("--hosts", words.hosts, 1, kMaxHosts);
  options.host_id = number_in("--host-id", words.host_id, 0, kMaxHosts - 1);
  if (options.host_id >= options.hosts)
    throw Refusal(kBadUse, "--host-id " + words.host_id + " is not below --hosts " + words.hosts + "; number the hosts from 0");
  if (options.hosts > 1 && (options.rendezvous.empty() || app.count("--host-id") == 0))
    throw Refusal(kBadUse, "--hosts needs --host-id I and --rendezvous ADDR:PORT too" + std::string(kSeeHelp));
  if (options.hosts == 1 && !options.rendezvous.empty())
    throw Refusal(kBadUse, "--rendezvous was given for a job of one host; add --hosts K, or leave it out");
}

Options check(const CLI::App& app, const Words& words, Options options) {
  if (words.ranks.empty()) throw Refusal(kBadUse, "the number of ranks is missing; give it as -n N" + std::string(kSeeHelp));
  options.ranks = number_in("-n", words.ranks, 1, kMaxRanks);
  if (words.bind != "core" && words.bind != "none") throw Refusal(kBadUse, "--bind was given '" + words.bind + "'; it takes core or none");
  options.bind_core = words.bind == "core";
  if (!words.timeout.empty() || app.count("--timeout") > 0) options.timeout_s = seconds(words.timeout);
  if (const char* limit = std::getenv("PTL_PEER_TIMEOUT"); limit && *limit)
    options.peer_timeout_s = number_in("PTL_PEER_TIMEOUT", limit, 1, 86'400);
  for (const std::string& word : words.exports) add_export(word, options);
  check_hosts(app, words, options);
  if (options.command.empty()) throw Refusal(kBadUse, "the program is missing; name it after the options: ptlrun -n N PROG");
  options.program_path = find_program(options.command[0]);
  return options;
}

bool is_folder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  CLI::App app("Starts a program as the ranks of one job and serves them PMIx.", "ptlrun");
  Words words;
  Options options;
  declare(app, words, options);
  try {
    std::vector<std::string> ours = split(app, argc, argv, options.command);
    std::reverse(ours.begin(), ours.end());  // as CLI11 wants them
    app.parse(std::move(ours));
  } catch (const CLI::CallForHelp&) {
    options.text = app.help();
    options.asked_for_text = true;
    return options;
  } catch (const CLI::CallForVersion& version) {
    options.text = std::string(version.what()) + "\n";
    options.asked_for_text = true;
    return options;
  } catch (const CLI::Error& error) {
    throw Refusal(kBadUse, std::string(error.what()) + kSeeHelp);
  }
  return check(app, words, std::move(options));
}

std::string find_program(const std::string& name) {
  std::string blocked;
  const auto fits = [&](const std::string& path) {
    if (access(path.c_str(), F_OK) != 0) return false;
    if (access(path.c_str(), X_OK) == 0 && !is_folder(path)) return true;
    blocked = path;
    return false;
  };
  const bool in_path = name.find('/') == std::string::npos;
  if (in_path && !name.empty()) {
    const char* path = std::getenv("PATH");
    std::string folders = path != nullptr ? path : "/usr/bin:/bin";
    for (std::size_t from = 0; from <= folders.size();) {
      const std::size_t to = std::min(folders.find(':', from), folders.size());
      const std::string folder = to > from ? folders.substr(from, to - from) : ".";
      if (fits(folder + "/" + name)) return folder + "/" + name;
      from = to + 1;
    }
  } else if (!name.empty() && fits(name)) {
    return name;
  }
  if (!blocked.empty())
    throw Refusal(kNotExecutable, "the program '" + blocked + "' " +
                                      (is_folder(blocked) ? "is a folder; name a program" : "is not executable; allow it with chmod +x"));
  throw Refusal(kNotFound, "the program '" + name + "' was not found" +
                               (in_path ? " in PATH; write ./" + name + " for one in the current folder" : "; check the path"));
}

}  // namespace portunus::launch
