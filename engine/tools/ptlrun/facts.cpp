// The job in PMIx's words.
//
// Thread: the main thread of the process that serves PMIx.
#include "engine/tools/ptlrun/facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "engine/host/ptlrun_facts.hpp"

extern "C" const char* PMIx_Error_string(pmix_status_t status);  // declared by libpmix among the client's calls only

namespace portunus::launch {
namespace {

std::string rank_list(const HostShare& host) {
  std::string list;
  for (int i = 0; i < host.ranks; ++i) list += (i > 0 ? "," : "") + std::to_string(host.first_rank + i);
  return list;
}

// Which nodes there are, and which ranks each has, in libpmix's packed form.
void add_maps(const JobPlan& plan, Facts& job) {
  std::string nodes;
  std::string ranks;
  for (const HostShare& host : plan.hosts) {
    if (host.ranks == 0) continue;  // it only started the others
    nodes += (nodes.empty() ? "" : ",") + host.name;
    ranks += (ranks.empty() ? "" : ";") + rank_list(host);
  }
  char* packed = nullptr;
  pmix_status_t rc = PMIx_generate_regex(nodes.c_str(), &packed);
  if (rc != PMIX_SUCCESS) refuse("the list of nodes could not be described", rc);
  job.add(PMIX_NODE_MAP, packed, PMIX_REGEX);
  std::free(packed);
  rc = PMIx_generate_ppn(ranks.c_str(), &packed);
  if (rc != PMIX_SUCCESS) refuse("the places of the ranks could not be described", rc);
  job.add(PMIX_PROC_MAP, packed, PMIX_REGEX);
  std::free(packed);
}

void add_rank(const JobPlan& plan, int host, int rank, Facts& job) {
  const HostShare& share = plan.hosts[static_cast<size_t>(host)];
  Facts facts;
  facts.rank(PMIX_RANK, rank);
  facts.rank(PMIX_GLOBAL_RANK, plan.born + rank);
  const int app = plan.app_of(rank);
  facts.rank(PMIX_APP_RANK, rank - plan.first_of_app(app));
  facts.small(PMIX_LOCAL_RANK, rank - share.first_rank);
  facts.small(PMIX_NODE_RANK, plan.before + rank - share.first_rank);
  facts.number(PMIX_APPNUM, static_cast<size_t>(app));
  facts.number(PMIX_NODEID, static_cast<size_t>(plan.hosts[0].ranks == 0 ? host - 1 : host));
  facts.text(PMIX_HOSTNAME, share.name);
  job.group(PMIX_PROC_INFO_ARRAY, facts);
}

}  // namespace

void refuse(const std::string& what, pmix_status_t status) {
  throw std::runtime_error(what + " (" + PMIx_Error_string(status) +
                           "); check that the loopback interface is up and TMPDIR has space, and unset PMIX_MCA_* variables");
}

void describe_job(const JobPlan& plan, Facts& job) {
  const HostShare& here = plan.here();
  const auto size = static_cast<size_t>(plan.size());
  const auto local = static_cast<size_t>(here.ranks);
  for (const char* key : {PMIX_JOB_SIZE, PMIX_MAX_PROCS}) job.number(key, size);
  job.number(PMIX_UNIV_SIZE, std::max(size, static_cast<size_t>(plan.room)));
  if (plan.apps.size() == 1) job.number(PMIX_APP_SIZE, size);
  job.number(PMIX_LOCAL_SIZE, local);
  job.number(PMIX_NODE_SIZE, local + static_cast<size_t>(plan.before));
  job.number(PMIX_JOB_NUM_APPS, plan.apps.size());
  job.number(PMIX_NUM_NODES, plan.hosts.size() - (plan.hosts[0].ranks == 0 ? 1 : 0));
  job.text(PMIX_JOBID, plan.nspace);
  job.text(kFamilyKey, plan.family);
  if (plan.number > 0) {
    job.text(kNoteKey, plan.note);
    job.number(kBornKey, static_cast<size_t>(plan.born));
  }
  if (here.ranks > 0) {
    job.text(PMIX_LOCAL_PEERS, rank_list(here));
    job.rank(PMIX_LOCALLDR, here.first_rank);
  }
  job.rank(PMIX_APPLDR, 0);
  add_maps(plan, job);
  for (int rank = 0; rank < plan.size(); ++rank) add_rank(plan, plan.host_of(rank), rank, job);
}

}  // namespace portunus::launch
