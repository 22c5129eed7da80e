// ptlinfo: what this machine offers to Portals programs, and what they would get. 'ptlinfo --help' is its manual.
//
// It opens the library as a program would, under the same environment (and launcher, if there is one), and tells what came of it.
//
// Thread: one.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/host/address.hpp"
#include "engine/host/debug.hpp"
#include "engine/host/launchers.hpp"
#include "engine/host/topology.hpp"
#include "engine/host/variables.hpp"
#include "engine/tools/command_line.hpp"
#include "engine/transport/fabric/providers.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace {

using namespace portunus;
using nlohmann::ordered_json;

constexpr char kFooter[] =
    "Environment variables are read as any Portals program reads them: set them before ptlinfo to see what they do.\n"
    "Under a launcher, each rank tells its own view: ptlrun -n 2 ptlinfo --json.\n"
    "Statuses: 0 done, 1 the library does not start here (the reason is on stderr, the rest is still printed), 2 bad use.";

ordered_json environment() {
  ordered_json all = ordered_json::array();
  for (const Variable& variable : environment_variables()) {
    const char* value = std::getenv(variable.name);
    ordered_json one = {{"name", variable.name}};
    one["value"] = value ? ordered_json(value) : ordered_json(nullptr);
    one["default"] = variable.otherwise;
    one["values"] = variable.values;
    one["meaning"] = variable.meaning;
    all.push_back(std::move(one));
  }
  return all;
}

// Variables that are set, but that only older versions read.
ordered_json replaced() {
  ordered_json all = ordered_json::array();
  for (const ReplacedVariable& one : replaced_variables())
    if (const char* value = std::getenv(one.name)) all.push_back({{"name", one.name}, {"value", value}, {"now", one.now}});
  return all;
}

ordered_json interfaces(uint32_t chosen) {
  ordered_json all = ordered_json::array();
  for (const NetworkInterface& one : network_interfaces())
    all.push_back(
        {{"name", one.name}, {"address", one.address}, {"up", one.up}, {"loopback", one.loopback}, {"used", one.up && one.nid == chosen}});
  return all;
}

ordered_json providers(const std::string& used) {
  ordered_json all = ordered_json::array();
  for (const FabricProvider& one : fabric_providers())
    all.push_back({{"name", one.name},
                   {"fabric", one.fabric},
                   {"domain", one.domain},
                   {"max_message", one.max_message},
                   {"automatic", one.automatic},
                   {"used", one.name == used}});
  return all;
}

ordered_json limits_of(const ptl_ni_limits_t& limits) {
  return {{"max_entries", limits.max_entries},
          {"max_unexpected_headers", limits.max_unexpected_headers},
          {"max_mds", limits.max_mds},
          {"max_cts", limits.max_cts},
          {"max_eqs", limits.max_eqs},
          {"max_pt_index", limits.max_pt_index},
          {"max_iovecs", limits.max_iovecs},
          {"max_list_size", limits.max_list_size},
          {"max_triggered_ops", limits.max_triggered_ops},
          {"max_msg_size", limits.max_msg_size},
          {"max_atomic_size", limits.max_atomic_size},
          {"max_fetch_atomic_size", limits.max_fetch_atomic_size},
          {"max_waw_ordered_size", limits.max_waw_ordered_size},
          {"max_war_ordered_size", limits.max_war_ordered_size},
          {"max_volatile_size", limits.max_volatile_size}};
}

ordered_json features_of(unsigned features) {
  ordered_json all = ordered_json::array();
  if (features & PTL_TARGET_BIND_INACCESSIBLE) all.push_back("PTL_TARGET_BIND_INACCESSIBLE");
  if (features & PTL_TOTAL_DATA_ORDERING) all.push_back("PTL_TOTAL_DATA_ORDERING");
  if (features & PTL_COHERENT_ATOMICS) all.push_back("PTL_COHERENT_ATOMICS");
  return all;
}

// Opens an interface and tells about it; null when the library does not start (it has said why).
ordered_json portals(const ptlx_job_t& job) {
  ptl_handle_ni_t ni;
  ptl_ni_limits_t limits;
  ptl_process_t self;
  ptlx_engine_info_t engine;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, &limits, &ni) != PTL_OK) return nullptr;
  PtlGetPhysId(ni, &self);
  PtlxEngineInfo(&engine);
  ordered_json all = {{"job", {{"launched", job.launched != 0}, {"rank", job.rank}, {"size", job.size}, {"local_size", job.local_size}}},
                      {"nid", self.phys.nid},
                      {"pid", self.phys.pid}};
  all["transports"] = engine.transports;
  all["engine"] = {{"progress", engine.progress},
                   {"core", engine.engine_core},
                   {"usable_processors", place_engine(0, 1, {}).usable},
                   {"oversubscribed", engine.oversubscribed != 0},
                   {"realtime", engine.realtime != 0}};
  all["limits"] = limits_of(limits);
  all["features"] = features_of(limits.features);
  PtlNIFini(ni);
  return all;
}

std::string dotted(uint32_t nid) {
  return std::to_string(nid >> 24) + "." + std::to_string(nid >> 16 & 255) + "." + std::to_string(nid >> 8 & 255) + "." +
         std::to_string(nid & 255);
}

// The text of a value in the table.
std::string word(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "-";
  return value.dump();
}

void print_pairs(const char* title, const ordered_json& pairs) {
  std::printf("\n%s\n", title);
  for (const auto& [name, value] : pairs.items()) std::printf("  %-24s %s\n", name.c_str(), word(value).c_str());
}

std::string spelled(const DebugKey& key) { return std::string(key.name) + (key.value ? std::string("=") + key.value : ""); }

void print(const ordered_json& all) {
  std::printf("Portunus %s, user %s\n", word(all["version"]).c_str(), word(all["uid"]).c_str());
  std::printf("\nnetwork interfaces (* names this process)\n");
  for (const ordered_json& one : all["interfaces"])
    std::printf("%c %-16s %-16s %s%s\n", one["used"].get<bool>() ? '*' : ' ', word(one["name"]).c_str(), word(one["address"]).c_str(),
                one["up"].get<bool>() ? "up" : "down", one["loopback"].get<bool>() ? ", loopback" : "");
  std::printf("\nlibfabric providers (* is used where the fabric is)\n");
  for (const ordered_json& one : all["providers"])
    std::printf("%c %-16s domain %-16s%s\n", one["used"].get<bool>() ? '*' : ' ', word(one["name"]).c_str(), word(one["domain"]).c_str(),
                one["automatic"].get<bool>() ? "" : " only if asked for");
  if (!all["portals"].is_null()) {
    const ordered_json& portals = all["portals"];
    print_pairs("job", portals["job"]);
    std::printf("\nprocess\n  nid %s, pid %s, by %s\n", dotted(portals["nid"].get<uint32_t>()).c_str(), word(portals["pid"]).c_str(),
                word(portals["transports"]).c_str());
    print_pairs("engine", portals["engine"]);
    print_pairs("limits of a network interface, unless less is asked for", portals["limits"]);
    std::printf("\nfeatures\n ");
    for (const ordered_json& one : portals["features"]) std::printf(" %s", word(one).c_str());
    std::printf("\n");
  }
  std::printf("\nenvironment\n");
  for (const ordered_json& one : all["environment"])
    std::printf("  %-24s %-20s %s (%s; default: %s)\n", word(one["name"]).c_str(),
                one["value"].is_null() ? "not set" : word(one["value"]).c_str(), word(one["meaning"]).c_str(), word(one["values"]).c_str(),
                word(one["default"]).c_str());
  std::printf("\nkeys of PTL_DEBUG\n");
  for (const DebugKey& one : debug_keys()) std::printf("  %-24s %s\n", spelled(one).c_str(), one.meaning);
  if (!all["replaced"].empty()) std::printf("\nset, but not read any more\n");
  for (const ordered_json& one : all["replaced"]) std::printf("  %-24s use %s\n", word(one["name"]).c_str(), word(one["now"]).c_str());
}

void print_table(std::span<const Variable> variables) {
  std::printf("| variable | values | default | meaning |\n| --- | --- | --- | --- |\n");
  for (const Variable& one : variables) std::printf("| `%s` | %s | %s | %s |\n", one.name, one.values, one.otherwise, one.meaning);
}

// The tables of variables.md, in Markdown.
void print_variables() {
  std::printf("# Environment variables\n\nWritten by `ptlinfo --variables`; `ptlinfo` alone shows what holds here.\n\n");
  print_table(environment_variables());
  std::printf("\n## Keys of PTL_DEBUG\n\n| key | meaning |\n| --- | --- |\n");
  for (const DebugKey& one : debug_keys()) std::printf("| `%s` | %s |\n", spelled(one).c_str(), one.meaning);
  std::printf("\n## Of the compiler wrappers\n\n");
  print_table(compiler_variables());
  std::printf(
      "\n## What older versions read\n\n`PTL_INFO=1` and `ptlinfo` name those that are set.\n\n| variable | now |\n| --- | --- |\n");
  for (const ReplacedVariable& one : replaced_variables()) std::printf("| `%s` | %s |\n", one.name, one.now);
}

int run(int argc, char** argv) {
  CommandLine line("ptlinfo", "Shows what this machine offers to Portals programs: interfaces, providers, limits, engine, environment.",
                   kFooter);
  bool json = false, variables = false;
  CLI::Option* const as_json = line.flag("--json", json, "print JSON");
  line.flag("--variables", variables, "print only the table of environment variables, in Markdown", {as_json});
  if (const auto status = line.read_or_tell(argc, argv)) return *status;
  if (variables) {
    print_variables();
    return 0;
  }
  fabric_providers();  // all of them: an engine that starts first would leave those alone that it does not need
  ptlx_job_t job{};
  job.size = job.local_size = 1;
  const bool joined = launcher_announced() && PtlxJobInit(&job) == PTL_OK;  // alone: as a program that finds its peers by itself
  const bool ready = joined == launcher_announced() && PtlInit() == PTL_OK;
  ordered_json all = {{"version", PTL_VERSION}, {"uid", geteuid()}};
  ordered_json mine = ready ? portals(job) : ordered_json(nullptr);
  const uint32_t nid = mine.is_null() ? 0 : mine["nid"].get<uint32_t>();
  const char* asked = std::getenv("PTL_FABRIC_PROVIDER");
  all["interfaces"] = interfaces(nid);
  all["providers"] = providers(fabric_provider_for(asked ? asked : "", nid));
  all["portals"] = std::move(mine);
  all["environment"] = environment();
  all["replaced"] = replaced();
  if (ready) PtlFini();
  if (joined) PtlxJobFini();
  if (json) std::printf("%s\n", all.dump(2).c_str());
  else print(all);
  return all["portals"].is_null() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return told("ptlinfo", run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptlinfo: %s\n", error.what());
    return 1;
  }
}
