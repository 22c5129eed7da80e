// The PMIx server: its callbacks, and the description of the job that ranks can ask for.
//
// Thread: on_...() run on libpmix's thread, the rest on the main thread.
#include "engine/tools/ptlrun/pmix.hpp"

#include <pmix.h>
#include <pmix_server.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/host/ptlrun_facts.hpp"
#include "engine/tools/ptlrun/channel.hpp"
#include "engine/tools/ptlrun/facts.hpp"
#include "engine/tools/ptlrun/server.hpp"

namespace portunus::launch {
namespace {

// The state that the callbacks work with: libpmix gives them no pointer of ours.
struct Inside {
  JobPlan plan;
  int socket = -1;
  std::mutex mutex;  // guards the socket's writing end and what follows
  std::map<uint32_t, Answer> waiting;
  uint32_t next_id = 0;
  std::set<int> joined;  // ranks of this host that have
};
Inside inside;

// Call with the mutex held.
void tell(Word word, std::string body) {
  const std::string bytes = framed({word, 0, 0, std::move(body)});
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = send(inside.socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (put < 0 && errno != EINTR) _exit(0);  // ptlrun has gone, and with it the job
    if (put > 0) done += static_cast<size_t>(put);
  }
}

// Asks ptlrun; `answer` runs on the main thread.
void ask(Word word, const std::string& question, Answer answer) {
  const std::lock_guard lock(inside.mutex);
  const uint32_t id = inside.next_id++;
  inside.waiting[id] = std::move(answer);
  std::string body;
  put_number(body, id);
  tell(word, body + question);
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

pmix_proc_t proc_of(int rank) {
  pmix_proc_t proc{};
  PMIX_LOAD_PROCID(&proc, inside.plan.nspace.c_str(), static_cast<pmix_rank_t>(rank));
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
struct Meeting {
  std::string key;
  std::set<int> hosts;  // -1 among them: somebody names a rank that does not exist

  bool possible() const { return !hosts.empty() && !hosts.contains(-1); }
  bool only_here() const { return hosts.size() == 1 && hosts.contains(inside.plan.host_id); }
};

Meeting describe(const char* kind, const pmix_proc_t procs[], size_t count) {
  std::set<int> ranks;
  for (size_t i = 0; i < count; ++i) {
    if (procs[i].rank != PMIX_RANK_WILDCARD) ranks.insert(static_cast<int>(procs[i].rank));
    for (int rank = 0; procs[i].rank == PMIX_RANK_WILDCARD && rank < inside.plan.size(); ++rank) ranks.insert(rank);
  }
  Meeting meeting{kind, {}};
  for (const int rank : ranks) {
    if (static_cast<int>(ranks.size()) < inside.plan.size()) meeting.key += ":" + std::to_string(rank);
    meeting.hosts.insert(inside.plan.host_of(rank));
  }
  return meeting;
}

void gather(const Meeting& meeting, std::string_view data, Answer answer) {
  std::string question;
  put_text(question, meeting.key);
  put_number(question, static_cast<uint32_t>(meeting.hosts.size()));
  for (const int host : meeting.hosts) put_number(question, static_cast<uint32_t>(host));
  put_text(question, data);
  ask(Word::gather, question, std::move(answer));
}

// Call with the mutex held.
void tell_left(pmix_rank_t rank, bool left) {
  std::string body;
  put_number(body, rank);
  put_number(body, left ? 1 : 0);
  tell(Word::left, std::move(body));
}

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_info_t[], size_t, pmix_op_cbfunc_t, void*) {
  const std::lock_guard lock(inside.mutex);
  if (!inside.joined.insert(static_cast<int>(proc->rank)).second) tell_left(proc->rank, false);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t callback, void* data) {
  {
    const std::lock_guard lock(inside.mutex);
    tell_left(proc->rank, true);
  }
  if (callback != nullptr) callback(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char*, pmix_proc_t[], size_t, pmix_op_cbfunc_t callback,
                       void* data) {
  {
    const std::lock_guard lock(inside.mutex);
    std::string body;
    put_number(body, proc->rank);
    put_number(body, static_cast<uint32_t>(status));
    tell(Word::aborted, std::move(body));
  }
  if (callback != nullptr) callback(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

// Owns `bytes`, as the standard gives them to the host.
pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t, char* bytes, size_t size,
                       pmix_modex_cbfunc_t callback, void* data) {
  const Meeting meeting = describe("fence", procs, count);
  if (meeting.only_here()) {
    callback(PMIX_SUCCESS, bytes, size, data, free_bytes, bytes);
    return PMIX_SUCCESS;
  }
  if (meeting.possible()) gather(meeting, std::string_view(bytes, bytes == nullptr ? 0 : size), answer_to(callback, data));
  std::free(bytes);
  return meeting.possible() ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

// Connecting and disconnecting are fences without data: nothing of one rank outlives the job here.
pmix_status_t meet(const char* kind, const pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t callback, void* data) {
  const Meeting meeting = describe(kind, procs, count);
  if (meeting.only_here()) callback(PMIX_SUCCESS, data);
  else if (meeting.possible())
    gather(meeting, "", [=](bool good, const std::string&) { callback(good ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, data); });
  return meeting.possible() ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t on_connect(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t, pmix_op_cbfunc_t callback, void* data) {
  return meet("connect", procs, count, callback, data);
}

pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t, pmix_op_cbfunc_t callback, void* data) {
  return meet("disconnect", procs, count, callback, data);
}

pmix_status_t on_direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t count, pmix_modex_cbfunc_t callback, void* data) {
  const int rank = static_cast<int>(proc->rank);
  const int host = inside.plan.host_of(rank);
  if (host < 0 || host == inside.plan.host_id) return PMIX_ERR_NOT_FOUND;  // libpmix itself knows the ranks of this host
  std::string key;
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&info[i], PMIX_REQUIRED_KEY) && info[i].value.type == PMIX_STRING) key = info[i].value.data.string;
  std::string question;
  put_number(question, proc->rank);
  put_text(question, key);
  ask(Word::seek, question, answer_to(callback, data));
  return PMIX_SUCCESS;
}

// No events come from outside the job, so there is nothing to subscribe to.
pmix_status_t on_register_events(pmix_status_t*, size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) { return PMIX_OPERATION_SUCCEEDED; }

pmix_status_t on_notify(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t[], size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

std::string text_in(const pmix_info_t info[], size_t count, const char* key) {
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&info[i], key) && info[i].value.type == PMIX_STRING && info[i].value.data.string != nullptr)
      return info[i].value.data.string;
  return "";
}

pmix_status_t status_for(const std::string& word) {
  if (word == kNoProgram) return PMIX_ERR_JOB_EXE_NOT_FOUND;
  if (word == kNoFolder) return PMIX_ERR_JOB_WDIR_NOT_FOUND;
  if (word == kNoRoom) return PMIX_ERR_OUT_OF_RESOURCE;
  return PMIX_ERR_NOT_SUPPORTED;
}

// The new job has a server of its own.
pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t job[], size_t facts, const pmix_app_t apps[], size_t count,
                       pmix_spawn_cbfunc_t callback, void* data) {
  std::string question;
  put_number(question, proc->rank);
  put_text(question, text_in(job, facts, kNoteKey));
  put_number(question, static_cast<uint32_t>(count));
  for (const pmix_app_t* app = apps; app != apps + count; ++app) {
    put_number(question, static_cast<uint32_t>(app->maxprocs));
    put_text(question, app->cwd != nullptr ? app->cwd : "");
    put_text(question, text_in(app->info, app->ninfo, kPathKey));
    put_text(question, text_in(app->info, app->ninfo, PMIX_HOST));
    std::vector<std::string> words{app->cmd != nullptr ? app->cmd : ""};
    for (char** word = app->argv != nullptr && *app->argv != nullptr ? app->argv + 1 : nullptr; word != nullptr && *word != nullptr; ++word)
      words.emplace_back(*word);
    put_number(question, static_cast<uint32_t>(words.size()));
    for (const std::string& word : words) put_text(question, word);
  }
  ask(Word::spawn, question, [=](bool good, const std::string& bytes) {
    std::string name = good ? bytes : "";
    callback(good ? PMIX_SUCCESS : status_for(bytes), name.data(), data);
  });
  return PMIX_SUCCESS;
}

pmix_server_module_t callbacks() {
  pmix_server_module_t module{};
  module.spawn = on_spawn;
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

// libpmix goes on without a thread that it could not make, and then nobody is answered. So we make as many first; they leave their stacks
// to those of libpmix.
void try_threads() {
  constexpr int kOfPmix = 3;
  std::latch together(kOfPmix + 1);
  std::vector<std::thread> threads;
  try {
    while (threads.size() < kOfPmix) threads.emplace_back([&together] { together.arrive_and_wait(); });
  } catch (const std::exception&) {
    together.count_down(static_cast<std::ptrdiff_t>(kOfPmix + 1 - threads.size()));
    for (std::thread& thread : threads) thread.join();
    throw std::runtime_error(
        "the PMIx server could not be started: there is no room for its threads; raise ulimit -v or ulimit -u, or lower ulimit -s");
  }
  together.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
}

void start_server(const std::string& folder) {
  try_threads();
  // Values live in the server's memory: the other store of libpmix locks a shared file, and a killed rank may hold the lock.
  setenv("PMIX_MCA_gds", "hash", 0);
  Facts facts;
  facts.text(PMIX_SERVER_TMPDIR, folder);
  facts.text(PMIX_SYSTEM_TMPDIR, folder);
  facts.text(PMIX_HOSTNAME, inside.plan.here().name);
  pmix_server_module_t module = callbacks();
  const pmix_status_t rc = PMIx_server_init(&module, facts.data(), facts.size());
  if (rc != PMIX_SUCCESS) refuse("the PMIx server could not be started", rc);
}

void register_job() {
  const JobPlan& plan = inside.plan;
  Facts job;
  describe_job(plan, job);
  Completion registered;
  const pmix_status_t rc = registered.wait(
      PMIx_server_register_nspace(plan.nspace.c_str(), plan.here().ranks, job.data(), job.size(), Completion::done, &registered));
  if (rc != PMIX_SUCCESS) refuse("the job could not be registered with the PMIx server", rc);
}

// Returns what the rank needs in its environment, as a part of `ready`.
std::string register_rank(int rank) {
  const pmix_proc_t proc = proc_of(rank);
  Completion registered;
  pmix_status_t rc = registered.wait(PMIx_server_register_client(&proc, geteuid(), getegid(), nullptr, Completion::done, &registered));
  if (rc != PMIX_SUCCESS) refuse("rank " + std::to_string(rank) + " could not be registered with the PMIx server", rc);
  char** list = nullptr;
  rc = PMIx_server_setup_fork(&proc, &list);
  if (rc != PMIX_SUCCESS) refuse("the environment of rank " + std::to_string(rank) + " could not be made", rc);
  uint32_t count = 0;
  std::string items;
  for (char** item = list; item != nullptr && *item != nullptr; ++item, ++count) {
    put_text(items, *item);
    std::free(*item);
  }
  std::free(list);
  std::string body;
  put_number(body, count);
  return body + items;
}

// libpmix answers on its own thread.
void fetch(uint32_t id, int rank) {
  const pmix_proc_t proc = proc_of(rank);
  const auto reply = [](pmix_status_t status, char* bytes, size_t size, void* data) {
    const std::unique_ptr<uint32_t> kept(static_cast<uint32_t*>(data));
    const bool good = status == PMIX_SUCCESS;
    std::string body;
    put_number(body, *kept);
    put_number(body, good ? 1 : 0);
    put_text(body, std::string_view(bytes, good && bytes != nullptr ? size : 0));
    const std::lock_guard lock(inside.mutex);
    tell(Word::fetched, std::move(body));
  };
  auto* kept = new uint32_t(id);
  const pmix_status_t rc = PMIx_server_dmodex_request(&proc, reply, kept);
  if (rc != PMIX_SUCCESS) reply(rc, nullptr, 0, kept);
}

// libpmix knows the ends of ranks that have joined. Of others it would wait for ever: their ends are told to the rest as an event,
// which it keeps for those who are yet to come.
void tell_absence(int rank) {
  const pmix_proc_t proc = proc_of(rank);
  PMIx_Notify_event(PMIX_ERR_PROC_TERM_WO_SYNC, &proc, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr);
}

void tell_over(const std::string& job) {
  pmix_proc_t proc{};
  PMIX_LOAD_PROCID(&proc, job.c_str(), PMIX_RANK_WILDCARD);
  PMIx_Notify_event(PMIX_EVENT_JOB_END, &proc, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr);
}

void take_end(int rank) {
  {
    const std::lock_guard lock(inside.mutex);
    if (inside.joined.contains(rank)) return;
    std::string body;
    put_number(body, static_cast<uint32_t>(rank));
    tell(Word::absent, std::move(body));
  }
  tell_absence(rank);
}

void take(const Message& message) {
  Reader reader(message.body);
  if (message.word == Word::over) return tell_over(reader.text());
  const uint32_t id = reader.number();
  if (message.word == Word::ended) return take_end(static_cast<int>(id));
  if (message.word == Word::absent) return tell_absence(static_cast<int>(id));
  if (message.word == Word::fetch) return fetch(id, static_cast<int>(reader.number()));
  Answer answer;
  {
    const std::lock_guard lock(inside.mutex);
    const auto waiting = inside.waiting.find(id);
    if (message.word != Word::answer || waiting == inside.waiting.end()) return;
    answer = std::move(waiting->second);
    inside.waiting.erase(waiting);
  }
  const bool good = reader.number() != 0;
  answer(good, reader.text());
}

}  // namespace

void serve_pmix(int socket, const JobPlan& plan, const std::string& folder) {
  inside.plan = plan;
  inside.socket = socket;
  std::string body;
  try {
    start_server(folder);
    register_job();
    for (int i = 0; i < plan.here().ranks; ++i) body += register_rank(plan.here().first_rank + i);
  } catch (const std::exception& error) {
    put_text(body = "", error.what());
    tell(Word::broken, std::move(body));
    _exit(0);
  }
  {
    const std::lock_guard lock(inside.mutex);
    tell(Word::ready, std::move(body));
  }
  Channel channel(socket);
  for (Message message{}; channel.receive();) {
    while (channel.next(message)) take(message);
    pollfd ready{socket, POLLIN, 0};
    poll(&ready, 1, -1);
  }
  _exit(0);
}

}  // namespace portunus::launch
