// The PMIx server's callbacks and the description of the job that ranks can ask for.
//
// **Thread:** as the header says; callbacks run on libpmix's thread.
#include "engine/tools/ptlrun_server.hpp"

#include <pmix_server.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "engine/tools/ptlrun_options.hpp"

extern "C" const char* PMIx_Error_string(pmix_status_t status);  // declared by libpmix among the client's calls only

namespace portunus::launch {

// What the callbacks work with; written before the server starts, only read while it runs.
struct PmixServer::Inside {
  JobPlan plan;
  ServerHandlers handlers;
};

namespace {

PmixServer::Inside* inside = nullptr;  // libpmix's callbacks carry no pointer of ours

[[noreturn]] void refuse(const std::string& what, pmix_status_t status) {
  throw Refusal(1, what + " (" + PMIx_Error_string(status) +
                       "); check that the loopback interface is up and TMPDIR has space, and unset PMIX_MCA_* variables");
}

// Lets the main thread wait for an answer that libpmix's thread gives.
class Completion {
 public:
  static void done(pmix_status_t status, void* self) {
    auto* completion = static_cast<Completion*>(self);
    const std::lock_guard lock(completion->mutex_);
    completion->status_ = status;
    completion->known_ = true;
    completion->changed_.notify_one();
  }
  pmix_status_t wait(pmix_status_t started) {
    if (started == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (started != PMIX_SUCCESS) return started;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return known_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool known_ = false;
  pmix_status_t status_ = PMIX_SUCCESS;
};

// A growing list of PMIx facts, freed at the end of the scope.
class Facts {
 public:
  Facts() = default;
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;
  ~Facts() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }
  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void number(const char* key, std::size_t value) {
    const auto narrow = static_cast<uint32_t>(value);
    add(key, &narrow, PMIX_UINT32);
  }
  void small(const char* key, int value) {
    const auto narrow = static_cast<uint16_t>(value);
    add(key, &narrow, PMIX_UINT16);
  }
  void rank(const char* key, int value) {
    const auto narrow = static_cast<pmix_rank_t>(value);
    add(key, &narrow, PMIX_PROC_RANK);
  }
  void yes(const char* key) {
    const bool value = true;
    add(key, &value, PMIX_BOOL);
  }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, key, value, type);
    list_.push_back(info);
  }
  // One fact that holds all of `inner`, which is left empty.
  void group(const char* key, Facts& inner) {
    pmix_info_t info{};
    PMIX_INFO_CONSTRUCT(&info);
    std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
    pmix_data_array_t* array = nullptr;
    PMIX_DATA_ARRAY_CREATE(array, inner.list_.size(), PMIX_INFO);
    std::copy(inner.list_.begin(), inner.list_.end(), static_cast<pmix_info_t*>(array->array));
    inner.list_.clear();
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = array;
    list_.push_back(info);
  }
  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

 private:
  std::vector<pmix_info_t> list_;
};

pmix_proc_t proc_of(int rank) {
  pmix_proc_t proc{};
  PMIX_LOAD_PROCID(&proc, inside->plan.nspace.c_str(), static_cast<pmix_rank_t>(rank));
  return proc;
}

void free_bytes(void* bytes) { std::free(bytes); }

// An Answer that hands bytes to libpmix, which frees its copy when it has read it.
Answer answer_to(pmix_modex_cbfunc_t callback, void* callback_data) {
  return [=](bool good, const std::string& bytes) {
    if (!good) return callback(PMIX_ERR_NOT_FOUND, nullptr, 0, callback_data, nullptr, nullptr);
    char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
    if (copy == nullptr) return callback(PMIX_ERR_NOMEM, nullptr, 0, callback_data, nullptr, nullptr);
    std::memcpy(copy, bytes.data(), bytes.size());
    callback(PMIX_SUCCESS, copy, bytes.size(), callback_data, free_bytes, copy);
  };
}

// Which ranks meet, in a form that is the same on every host.
FenceRequest describe(const char* kind, const pmix_proc_t procs[], std::size_t count) {
  FenceRequest request;
  std::set<int> ranks;
  std::set<int> hosts;
  for (std::size_t i = 0; i < count; ++i) {
    if (procs[i].rank == PMIX_RANK_WILDCARD) {
      for (int rank = 0; rank < inside->plan.size(); ++rank) ranks.insert(rank);
    } else {
      ranks.insert(static_cast<int>(procs[i].rank));
    }
  }
  request.key = kind;
  for (const int rank : ranks) {
    if (static_cast<int>(ranks.size()) < inside->plan.size()) request.key += ":" + std::to_string(rank);
    hosts.insert(inside->plan.host_of(rank));
  }
  request.hosts.assign(hosts.begin(), hosts.end());
  return request;
}

bool only_here(const FenceRequest& request) {
  return request.hosts.size() == 1 && request.hosts[0] == inside->plan.host_id;
}

pmix_status_t on_connected(const pmix_proc_t*, void*, pmix_info_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t*, void*, pmix_op_cbfunc_t callback, void* data) {
  if (callback != nullptr) callback(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char*, pmix_proc_t[], std::size_t,
                       pmix_op_cbfunc_t callback, void* data) {
  inside->handlers.aborted(static_cast<int>(proc->rank), status);
  if (callback != nullptr) callback(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

// Owns `bytes`, as the standard gives them to the host.
pmix_status_t on_fence(const pmix_proc_t procs[], std::size_t count, const pmix_info_t[], std::size_t, char* bytes,
                       std::size_t size, pmix_modex_cbfunc_t callback, void* data) {
  FenceRequest request = describe("fence", procs, count);
  if (only_here(request)) {
    callback(PMIX_SUCCESS, bytes, size, data, free_bytes, bytes);
    return PMIX_SUCCESS;
  }
  if (bytes != nullptr) request.data.assign(bytes, size);
  std::free(bytes);
  if (request.hosts.empty() || request.hosts[0] < 0) return PMIX_ERR_NOT_FOUND;
  request.done = answer_to(callback, data);
  inside->handlers.fence(std::move(request));
  return PMIX_SUCCESS;
}

// Connecting and disconnecting are fences without data: nothing of one rank outlives the job here.
pmix_status_t meet(const char* kind, const pmix_proc_t procs[], std::size_t count, pmix_op_cbfunc_t callback, void* data) {
  FenceRequest request = describe(kind, procs, count);
  if (request.hosts.empty() || request.hosts[0] < 0) return PMIX_ERR_NOT_FOUND;
  request.done = [=](bool good, const std::string&) { callback(good ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, data); };
  if (only_here(request)) request.done(true, "");
  else inside->handlers.fence(std::move(request));
  return PMIX_SUCCESS;
}

pmix_status_t on_connect(const pmix_proc_t procs[], std::size_t count, const pmix_info_t[], std::size_t,
                         pmix_op_cbfunc_t callback, void* data) {
  return meet("connect", procs, count, callback, data);
}

pmix_status_t on_disconnect(const pmix_proc_t procs[], std::size_t count, const pmix_info_t[], std::size_t,
                            pmix_op_cbfunc_t callback, void* data) {
  return meet("disconnect", procs, count, callback, data);
}

pmix_status_t on_direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], std::size_t count,
                              pmix_modex_cbfunc_t callback, void* data) {
  const int rank = static_cast<int>(proc->rank);
  const int host = inside->plan.host_of(rank);
  if (host < 0 || host == inside->plan.host_id) return PMIX_ERR_NOT_FOUND;  // libpmix itself knows the ranks of this host
  std::string key;
  for (std::size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&info[i], PMIX_REQUIRED_KEY) && info[i].value.type == PMIX_STRING) key = info[i].value.data.string;
  inside->handlers.modex({rank, key, answer_to(callback, data)});
  return PMIX_SUCCESS;
}

// No events come from outside the job, so there is nothing to subscribe to.
pmix_status_t on_register_events(pmix_status_t*, std::size_t, const pmix_info_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) { return PMIX_OPERATION_SUCCEEDED; }

pmix_status_t on_notify(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t[], std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t callbacks() {
  pmix_server_module_t module{};
  module.client_connected2 = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.direct_modex = on_direct_modex;
  module.connect = on_connect;
  module.disconnect = on_disconnect;
  module.register_events = on_register_events;
  module.deregister_events = on_deregister_events;
  module.notify_event = on_notify;
  return module;
}

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
  const HostShare& share = plan.hosts[static_cast<std::size_t>(host)];
  Facts facts;
  facts.rank(PMIX_RANK, rank);
  facts.rank(PMIX_GLOBAL_RANK, rank);
  facts.rank(PMIX_APP_RANK, rank);
  facts.small(PMIX_LOCAL_RANK, rank - share.first_rank);
  facts.small(PMIX_NODE_RANK, rank - share.first_rank);
  facts.number(PMIX_APPNUM, 0);
  facts.number(PMIX_NODEID, static_cast<std::size_t>(host));
  facts.text(PMIX_HOSTNAME, share.name);
  job.group(PMIX_PROC_INFO_ARRAY, facts);
}

}  // namespace

PmixServer::PmixServer(const JobPlan& plan, const std::string& folder, ServerHandlers handlers) {
  // Values live in the server's memory: the other store of libpmix locks a shared file, and a killed rank may hold the lock.
  setenv("PMIX_MCA_gds", "hash", 0);
  inside = new Inside{plan, std::move(handlers)};
  Facts facts;
  facts.text(PMIX_SERVER_TMPDIR, folder);
  facts.text(PMIX_SYSTEM_TMPDIR, folder);
  facts.text(PMIX_HOSTNAME, plan.here().name);
  pmix_server_module_t module = callbacks();
  const pmix_status_t rc = PMIx_server_init(&module, facts.data(), facts.size());
  if (rc != PMIX_SUCCESS) {
    delete std::exchange(inside, nullptr);
    refuse("the PMIx server could not be started", rc);
  }
  try {
    register_job();
  } catch (...) {
    PMIx_server_finalize();
    delete std::exchange(inside, nullptr);
    throw;
  }
}

PmixServer::~PmixServer() {
  PMIx_server_finalize();
  delete std::exchange(inside, nullptr);
}

void PmixServer::register_job() {
  const JobPlan& plan = inside->plan;
  const HostShare& here = plan.here();
  const auto size = static_cast<std::size_t>(plan.size());
  const auto local = static_cast<std::size_t>(here.ranks);
  Facts job;
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_APP_SIZE, PMIX_MAX_PROCS}) job.number(key, size);
  for (const char* key : {PMIX_LOCAL_SIZE, PMIX_NODE_SIZE}) job.number(key, local);
  job.number(PMIX_JOB_NUM_APPS, 1);
  job.number(PMIX_NUM_NODES, plan.hosts.size());
  job.text(PMIX_JOBID, plan.nspace);
  job.text(PMIX_LOCAL_PEERS, rank_list(here));
  job.rank(PMIX_LOCALLDR, here.first_rank);
  job.rank(PMIX_APPLDR, 0);
  add_maps(plan, job);
  for (int rank = 0; rank < plan.size(); ++rank) add_rank(plan, plan.host_of(rank), rank, job);
  Completion registered;
  const pmix_status_t rc = registered.wait(PMIx_server_register_nspace(plan.nspace.c_str(), here.ranks, job.data(), job.size(),
                                                                       Completion::done, &registered));
  if (rc != PMIX_SUCCESS) refuse("the job could not be registered with the PMIx server", rc);
  for (int i = 0; i < here.ranks; ++i) register_rank(here.first_rank + i);
}

void PmixServer::register_rank(int rank) {
  const pmix_proc_t proc = proc_of(rank);
  Completion registered;
  const pmix_status_t rc = registered.wait(
      PMIx_server_register_client(&proc, geteuid(), getegid(), nullptr, Completion::done, &registered));
  if (rc != PMIX_SUCCESS) refuse("rank " + std::to_string(rank) + " could not be registered with the PMIx server", rc);
}

std::vector<std::string> PmixServer::environment_of(int rank) const {
  const pmix_proc_t proc = proc_of(rank);
  char** list = nullptr;
  const pmix_status_t rc = PMIx_server_setup_fork(&proc, &list);
  if (rc != PMIX_SUCCESS) refuse("the environment of rank " + std::to_string(rank) + " could not be made", rc);
  std::vector<std::string> environment;
  for (char** item = list; item != nullptr && *item != nullptr; ++item) {
    environment.emplace_back(*item);
    std::free(*item);
  }
  std::free(list);
  return environment;
}

void PmixServer::serve_modex(int rank, Answer answer) {
  const pmix_proc_t proc = proc_of(rank);
  auto* kept = new Answer(std::move(answer));
  const auto reply = [](pmix_status_t status, char* bytes, std::size_t size, void* data) {
    const std::unique_ptr<Answer> waiting(static_cast<Answer*>(data));
    const bool good = status == PMIX_SUCCESS;
    (*waiting)(good, good && bytes != nullptr ? std::string(bytes, size) : std::string());
  };
  const pmix_status_t rc = PMIx_server_dmodex_request(&proc, reply, kept);
  if (rc != PMIX_SUCCESS) reply(rc, nullptr, 0, kept);
}

}  // namespace portunus::launch
