// Reads ptlrun's command line. Everything from the first word that is no option belongs to the program, up to a ':'.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/options.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "engine/tools/ptlrun/places.hpp"
#include "engine/tools/ptlrun/spellings.hpp"

namespace portunus::launch {
namespace {

constexpr char kSeeHelp[] = "; run 'ptlrun --help' for the options";

constexpr char kFooter[] =
    "Several programs form one job when ':' divides them:  ptlrun -n 2 ./a : -n 1 ./b\n"
    "A file may say so, too, a program in each line, with its options:  ptlrun -configfile FILE\n"
    "Options as MPICH and Open MPI spell them are understood: -ppn -host -hosts -hostfile -wdir -path -env -genv -envlist -l -bind-to;\n"
    "others mean nothing here and are accepted: -map-by -oversubscribe --allow-run-as-root -mca.\n"
    "\n"
    "Signals INT, TERM, HUP, USR1, USR2, TSTP and CONT are passed on to all ranks. Ranks that have not ended 5 s (--grace) after an\n"
    "INT or TERM are killed; a second one, half a second later or more, ends the job at once.\n"
    "When a rank dies, exits non-zero or aborts, the others are ended and its status is returned (128+n for signal n). Ranks that have\n"
    "finalized have 10 s (--finish) to end by themselves; all have where the rank that failed had finalized.\n"
    "With --keep-going they go on, and the status of the first that failed is returned when all have ended; the job can meet at\n"
    "no PMIx fence any more.\n"
    "Other statuses: 2 bad use, 124 timeout, 126 program not executable, 127 program not found.\n"
    "\n"
    "-host A:2,B:4 starts ptlruns on other hosts by ssh, or by what --agent names, and -hostfile FILE those that the file lists;\n"
    "ranks are numbered host by host, and whoever reaches this host before the job is complete can join it.\n"
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
  std::string bind = "share";
  std::string engine_cores;
  std::string interfaces;
  std::string timeout;
  std::string grace;
  std::string finish;
  std::string universe;
  std::string hosts = "1";
  std::string host_id = "0";
  std::string per_host;
  std::vector<HostSlots> places;  // where other launchers' options want the ranks
  App for_all;                    // what holds for all programs: environment, inherited, folder
};

void declare(CLI::App& app, Words& words, Options& options) {
  app.footer(kFooter);
  app.get_formatter()->label("OPTIONS", "OPTIONS] -n N [--] PROG [ARGS...] [: -n N PROG...");  // CLI11 adds the outer brackets
  app.set_version_flag("--version", "ptlrun (Portunus) " PTL_VERSION);
  app.add_option("-n,--np", words.ranks, "ranks to start on this host (also -np N)")->type_name("N");
  app.add_option("-x", words.exports, "export VAR to the ranks, as it is here or as VAR=VALUE; repeatable")
      ->allow_extra_args(false)
      ->type_name("VAR[=VALUE]");
  app.add_option("--bind", words.bind,
                 "share: each rank on an equal share of the usable cores (default); core: rank i on the i-th; none: anywhere")
      ->type_name("WHAT");
  app.add_option("--engine-cores", words.engine_cores,
                 "cores on which the engines' threads spin: 0: none (default); 1: one for each rank; or a list of processors")
      ->type_name("CORES");
  app.add_option("--interfaces", words.interfaces,
                 "network interfaces that the ranks may use, as eth0,eth1: each takes the one nearest to its cores [PTL_FABRIC_INTERFACE]")
      ->type_name("NAMES");
  app.add_option("--timeout", words.timeout, "end the job after this many seconds, with status 124 [MPIEXEC_TIMEOUT]")
      ->type_name("SECONDS");
  app.add_option("--grace", words.grace,
                 "kill ranks that go on for this long after INT, TERM or the job's end; default 5, 0: never after a signal")
      ->type_name("SECONDS");
  app.add_option("--finish", words.finish,
                 "when a rank fails, give those that have called MPI_Finalize or the like this long to end; default 10")
      ->type_name("SECONDS");
  app.add_flag("--tag-output", options.tag_output, "put [rank] or [rank:err] before each line of output");
  app.add_flag("!--let-hang", options.find_hangs, "do not end the job when ranks wait for one another for ever");
  app.add_flag("--keep-going", options.keep_going, "let the other ranks go on when one dies or exits non-zero");
  app.add_option(
         "--record", options.record,
         "write the run of a program as a GOAL schedule, which goalrun executes: text, or the binary form as *.bin; on several hosts "
         "each is told, and host 0 writes it [PTL_RECORD]")
      ->type_name("FILE");
  app.add_option("--agent", options.agent,
                 "what starts ptlrun on the hosts of -host and -hostfile: COMMAND HOST SHELL-COMMAND; default ssh")
      ->type_name("COMMAND");
  app.add_option("--universe", words.universe, "MPI_UNIVERSE_SIZE: how many processes there shall be room for; default: processors")
      ->type_name("N");
  app.add_option("--hosts", words.hosts, "number of ptlruns that form the job together")->type_name("K");
  app.add_option("--host-id", words.host_id, "which of them this is, from 0")->type_name("I");
  app.add_option("--rendezvous", options.rendezvous, "ADDR:PORT where host 0 waits for the others")->type_name("ADDR:PORT");
}

// The option that a word of the command line means; null when there is none.
const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  if (word.starts_with("--")) return app.get_option_no_throw(word.substr(0, word.find('=')));
  return app.get_option_no_throw(word.substr(0, 2));  // a short one, maybe with its value attached: -n4
}

std::string tail_after_equals(const std::string& word) { return word.substr(word.find('=') + 1); }

std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> names;
  for (size_t from = 0; from < list.size();) {
    const size_t to = std::min(list.find(',', from), list.size());
    if (to > from) names.insert(list.substr(from, to - from));
    from = to + 1;
  }
  return names;
}

// Takes what another launcher's option says.
void understand(Meaning meaning, const std::vector<std::string>& values, App& app, Words& words, Options& options) {
  switch (meaning) {
    case Meaning::nothing: break;
    case Meaning::ranks: words.ranks = values[0]; break;
    case Meaning::bind:
      words.bind = values[0].starts_with("core") || values[0].starts_with("hwthread") ? "core"
                   : values[0].starts_with("none")                                    ? "none"
                                                                                      : "share";
      break;
    case Meaning::bind_core: words.bind = "core"; break;
    case Meaning::per_host: words.per_host = values[0]; break;
    case Meaning::folder: app.folder = values[0]; break;
    case Meaning::folder_for_all: words.for_all.folder = values[0]; break;
    case Meaning::path: app.path = values[0]; break;
    case Meaning::set: app.environment.push_back(values[0] + "=" + values[1]); break;
    case Meaning::set_for_all: words.for_all.environment.push_back(values[0] + "=" + values[1]); break;
    case Meaning::list: app.inherited = names_in(values[0]); break;
    case Meaning::list_for_all: words.for_all.inherited = names_in(values[0]); break;
    case Meaning::none: app.inherited.emplace(); break;
    case Meaning::none_for_all: words.for_all.inherited.emplace(); break;
    case Meaning::tag: options.tag_output = true; break;
    case Meaning::interfaces: words.interfaces = values[0]; break;
    case Meaning::parameter:
      if (values[0] == "btl_tcp_if_include" && values[1].find('/') == std::string::npos) words.interfaces = values[1];
      break;
    case Meaning::hosts: add_hosts(values[0], words.places); break;
    case Meaning::agent: options.agent = values[0]; break;
    case Meaning::host_file: add_host_file(values[0], words.places); break;
  }
}

// Divides the words from `next` on into those for CLI11 (returned), what other launchers' options say, and the program's, which go
// up to a ':' unless a '--' stands before them. Leaves `next` behind that ':'.
std::vector<std::string> split(const CLI::App& line, const std::vector<std::string>& all, size_t& next, App& app, Words& words,
                               Options& options) {
  std::vector<std::string> ours;
  bool closed = false;
  while (next < all.size()) {
    std::string word = all[next];
    if (word == "--") {
      ++next;
      closed = true;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    ++next;
    if (const Spelling* spelling = spelling_of(word)) {
      std::vector<std::string> values;
      if (word.find('=') != std::string::npos) values.push_back(tail_after_equals(word));
      while (static_cast<int>(values.size()) < spelling->values && next < all.size()) values.push_back(all[next++]);
      if (static_cast<int>(values.size()) != spelling->values)
        throw Refusal(kBadUse, "option '" + word + "' needs " + (spelling->values == 2 ? "two values" : "a value") + kSeeHelp);
      understand(spelling->meaning, values, app, words, options);
      continue;
    }
    const CLI::Option* option = option_named(line, word);
    if (option == nullptr) throw Refusal(kBadUse, "unknown option '" + word + "'" + kSeeHelp);
    ours.push_back(word);
    const bool value_follows =
        option->get_items_expected_max() > 0 && word.find('=') == std::string::npos && (word.starts_with("--") || word.size() == 2);
    if (!value_follows) continue;
    if (next == all.size()) throw Refusal(kBadUse, "option '" + word + "' needs a value" + kSeeHelp);
    ours.back() = word.starts_with("--") ? word + "=" + all[next] : word + all[next];  // bound, even if it looks like an option
    ++next;
  }
  while (next < all.size() && (closed || all[next] != ":")) app.command.push_back(all[next++]);
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

double seconds(const std::string& word, bool may_be_none, const std::string& sentence) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0' || !std::isfinite(value) || value < 0 || (value == 0 && !may_be_none) || value > 1e8)
    throw Refusal(kBadUse, sentence);
  return value;
}

// NAME=VALUE for an -x option; a NAME that is not set here has nothing to be exported.
void add_export(const std::string& word, App& app) {
  const auto equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (name.empty()) throw Refusal(kBadUse, "-x was given '" + word + "', which names no variable; write -x VAR or -x VAR=VALUE");
  if (equals != std::string::npos) {
    app.environment.push_back(word);
  } else if (const char* value = std::getenv(name.c_str())) {
    app.environment.push_back(name + "=" + value);
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

// How many of `ranks` each place takes: its slots, and again from the first place on while some are left.
void share_out(int ranks, std::vector<HostSlots>& places) {
  std::vector<int> taken(places.size(), 0);
  for (int left = ranks; left > 0;) {
    for (size_t i = 0; i < places.size() && left > 0; ++i) {
      const int share = std::min(left, places[i].slots);
      taken[i] += share;
      left -= share;
    }
  }
  for (size_t i = 0; i < places.size(); ++i) places[i].slots = taken[i];
  std::erase_if(places, [](const HostSlots& place) { return place.slots == 0; });
}

// Checks the places where the ranks shall run. With places but without -n there are as many ranks as slots.
void check_places(Words& words) {
  int slots = 0;
  for (HostSlots& place : words.places) {
    if (place.slots == 0 || !words.per_host.empty())
      place.slots = words.per_host.empty() ? 1 : number_in("-ppn", words.per_host, 1, kMaxRanks);
    slots += place.slots;
  }
  if (words.ranks.empty() && slots > 0) words.ranks = std::to_string(slots);
}

// Divides the ranks among this host and the others. This host comes first, or takes none: ranks are numbered host by host.
void place_ranks(std::vector<HostSlots> places, Options& options) {
  if (std::all_of(places.begin(), places.end(), [](const HostSlots& place) { return is_this_host(place.name); })) return;
  if (options.hosts > 1) throw Refusal(kBadUse, "--hosts and -host do not go together; give one of them");
  if (options.apps.size() > 1)
    throw Refusal(kBadUse, "several programs, divided by ':', run on this host only; leave -host out, or start one program");
  share_out(options.ranks, places);
  const bool first_here = is_this_host(places[0].name);
  options.ranks = options.apps[0].ranks = first_here ? places[0].slots : 0;
  options.remote.assign(places.begin() + (first_here ? 1 : 0), places.end());
  options.hosts = static_cast<int>(options.remote.size()) + 1;
  if (options.hosts > kMaxHosts) throw Refusal(kBadUse, "the job would have more than " + std::to_string(kMaxHosts) + " hosts; name fewer");
}

// Checks the options of one program: its ranks, its environment, its folder, its file.
void check_app(const Words& words, const Words& first, App& app) {
  if (words.ranks.empty()) throw Refusal(kBadUse, "the number of ranks is missing; give it as -n N" + std::string(kSeeHelp));
  app.ranks = number_in("-n", words.ranks, 1, kMaxRanks);
  for (const std::string& word : words.exports) add_export(word, app);
  app.environment.insert(app.environment.begin(), first.for_all.environment.begin(), first.for_all.environment.end());
  if (!app.inherited) app.inherited = first.for_all.inherited;
  if (app.folder.empty()) app.folder = first.for_all.folder;
  if (app.command.empty()) throw Refusal(kBadUse, "the program is missing; name it after the options: ptlrun -n N PROG");
  if (!app.folder.empty() && access((app.folder + "/.").c_str(), X_OK) != 0)
    throw Refusal(kBadUse, "-wdir was given '" + app.folder + "', which is no folder that can be entered; check the path");
  app.program_path = find_program(app.command[0], app.folder, app.path);
}

// Checks the options of the whole job, which stand before the first program.
void check_job(const CLI::App& line, const Words& words, Options& options) {
  if (words.bind != "core" && words.bind != "none" && words.bind != "share")
    throw Refusal(kBadUse, "--bind was given '" + words.bind + "'; it takes share, core or none");
  options.binding = words.bind == "core" ? Binding::core : words.bind == "none" ? Binding::none : Binding::share;
  if (!words.engine_cores.empty()) setenv("PTL_ENGINE_CORES", words.engine_cores.c_str(), 1);  // the ranks inherit both, and check them
  if (!words.interfaces.empty()) setenv("PTL_FABRIC_INTERFACE", words.interfaces.c_str(), 1);
  if (!words.timeout.empty() || line.count("--timeout") > 0)
    options.timeout_s =
        seconds(words.timeout, false, "--timeout was given '" + words.timeout + "'; give the seconds the job may take, e.g. 60");
  else if (const char* limit = std::getenv("MPIEXEC_TIMEOUT"); limit && *limit)  // as MPICH's and Open MPI's launchers have it
    options.timeout_s =
        seconds(limit, false, std::string("MPIEXEC_TIMEOUT is '") + limit + "'; give the seconds the job may take, e.g. 60");
  if (const char* file = std::getenv("PTL_RECORD"); file && *file && options.record.empty()) options.record = file;
  if (line.count("--grace") > 0)
    options.grace_s = seconds(words.grace, true, "--grace was given '" + words.grace + "'; give seconds, e.g. 5, or 0");
  if (line.count("--finish") > 0)
    options.finish_s = seconds(words.finish, true, "--finish was given '" + words.finish + "'; give seconds, e.g. 10, or 0");
  if (line.count("--universe") > 0) options.universe = number_in("--universe", words.universe, 1, kMaxRanks * kMaxHosts);
  if (const char* limit = std::getenv("PTL_PEER_TIMEOUT"); limit && *limit)
    options.peer_timeout_s = number_in("PTL_PEER_TIMEOUT", limit, 1, 86'400);
  check_hosts(line, words, options);
}

// The words of a line of a file of programs; quotes keep them together.
std::vector<std::string> words_in(const std::string& line, const std::string& path) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = '\0';
  for (const char each : line) {
    if (quote == '\0' && (each == '\'' || each == '"')) {
      quote = each;
    } else if (each == quote) {
      quote = '\0';
      continue;
    } else if (quote == '\0' && std::isspace(static_cast<unsigned char>(each))) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote != each) words.back() += each;
  }
  if (quote != '\0') throw Refusal(kBadUse, "the file of programs '" + path + "' has a quote that is not closed; close it");
  return words;
}

// The command line with the programs of a file, divided by ':', instead of -configfile and its name, which end it. A line that ends with a
// backslash goes on in the next one; one that begins with '#' is a remark.
std::vector<std::string> with_file(std::vector<std::string> words) {
  const auto found = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.empty() || word[0] != '-' || word == "--" || word == "-configfile" || word == "--configfile";
  });
  if (found == words.end() || !found->ends_with("-configfile")) return words;
  if (found + 2 != words.end())
    throw Refusal(kBadUse, "-configfile takes the name of a file, and nothing may follow it" + std::string(kSeeHelp));
  const std::string path = found[1];
  std::ifstream file(path);
  if (!file) throw Refusal(kBadUse, "the file of programs '" + path + "' cannot be read; check the path and its permissions");
  words.erase(found, words.end());
  const size_t before = words.size();
  std::string whole;
  for (std::string line; std::getline(file, line);) {
    if (whole.empty() && line.starts_with('#')) continue;
    whole += line;
    if (whole.ends_with('\\')) {
      whole.back() = ' ';
      continue;
    }
    const std::vector<std::string> now = words_in(std::exchange(whole, ""), path);
    if (now.empty()) continue;
    if (words.size() > before) words.emplace_back(":");
    words.insert(words.end(), now.begin(), now.end());
  }
  if (words.size() == before) throw Refusal(kBadUse, "the file of programs '" + path + "' names none; write one in each line");
  return words;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  const std::vector<std::string> all = with_file({argv + std::min(argc, 1), argv + argc});
  Options options;
  Words first;
  size_t next = 0;
  do {
    CLI::App line("Starts a program as the ranks of one job and serves them PMIx.", "ptlrun");
    Words later;
    Words& words = options.apps.empty() ? first : later;
    App app;
    declare(line, words, options);
    try {
      std::vector<std::string> ours = split(line, all, next, app, words, options);
      std::reverse(ours.begin(), ours.end());  // as CLI11 wants them
      line.parse(std::move(ours));
    } catch (const CLI::CallForHelp&) {
      options.text = line.help();
      options.asked_for_text = true;
      return options;
    } catch (const CLI::CallForVersion& version) {
      options.text = std::string(version.what()) + "\n";
      options.asked_for_text = true;
      return options;
    } catch (const CLI::Error& error) {
      throw Refusal(kBadUse, std::string(error.what()) + kSeeHelp);
    }
    if (&words == &first) check_places(first);
    else if (line.count_all() > line.count("-n") + line.count("-x") + 1)
      throw Refusal(kBadUse, "only -n, -x, -env and -wdir may differ between programs; give the other options before the first one");
    check_app(words, first, app);
    if (&words == &first) check_job(line, words, options);
    options.ranks += app.ranks;
    options.apps.push_back(std::move(app));
  } while (next++ < all.size());  // over the ':'
  if (options.ranks > kMaxRanks)
    throw Refusal(kBadUse, "the programs have more than " + std::to_string(kMaxRanks) + " ranks together; start fewer");
  if (options.apps.size() > 1 && options.hosts > 1)
    throw Refusal(kBadUse, "several programs, divided by ':', run on one host only; leave --hosts out, or start one program");
  if (!first.places.empty()) place_ranks(first.places, options);
  return options;
}

}  // namespace portunus::launch
