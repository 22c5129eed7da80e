// The job as a PMIx server tells it: ptlrun, Open MPI's mpirun, PRRTE, or Slurm.
//
// Thread: as bootstrap.hpp says; libpmix runs a thread of its own behind these calls.
// Invariants: PMIx_Init and PMIx_Finalize are called once each per PmixJob; libpmix itself counts nested pairs.
// Source: PMIx standard 4.1, chapters 5, 6 and 10.2.
#include <pmix.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>

#include "engine/host/bootstrap.hpp"
#include "engine/host/kept_signals.hpp"
#include "engine/host/pmix_answers.hpp"
#include "engine/host/ptlrun_facts.hpp"

namespace portunus {
namespace {

[[noreturn]] void fail(const std::string& what, pmix_status_t status, const std::string& remedy) {
  throw std::runtime_error(what + " (" + PMIx_Error_string(status) + "); " + remedy);
}

// A fence fails because a rank has died. The launcher is about to end this one, too, and knows the reason; a complaint from
// here would only hide it.
constexpr int kLastMoment_ms = 1000;

bool joined_before = false;  // this process was in the job and left it; set-up calls alone use it, one thread at a time

constexpr std::chrono::seconds kGetTime{2};  // what libpmix's server allows for a value of a rank on its own node
constexpr int kAskAgain_ms = 10;

// A value that libpmix allocated, freed at the end of the scope.
struct Value {
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (held != nullptr) PMIX_VALUE_RELEASE(held);
  }
  pmix_value_t* held = nullptr;
};

pmix_proc_t proc_of(const pmix_proc_t& self, pmix_rank_t rank) {
  pmix_proc_t proc = self;
  proc.rank = rank;
  return proc;
}

// A fact that every PMIx server must give about the job.
void ask(const pmix_proc_t& proc, const char* key, pmix_data_type_t type, Value& value) {
  const pmix_status_t rc = PMIx_Get(&proc, key, nullptr, 0, &value.held);
  if (rc != PMIX_SUCCESS)
    fail(std::string("the launcher's PMIx server does not tell '") + key + "'", rc,
         "start the program with ptlrun, mpirun of Open MPI, or srun --mpi=pmix");
  if (value.held->type != type)
    throw std::runtime_error(std::string("the launcher's PMIx server gives '") + key + "' in an unknown form (type " +
                             std::to_string(value.held->type) + "); start the program with ptlrun");
}

// Keys of ptlrun's own; other servers do not know the keys, and are not asked.
bool was_told(const pmix_proc_t& proc, const char* key, pmix_data_type_t type, Value& value) {
  pmix_info_t here{};
  const bool yes = true;
  PMIX_INFO_LOAD(&here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  return PMIx_Get(&proc, key, &here, 1, &value.held) == PMIX_SUCCESS && value.held->type == type;
}

void ask_family(const pmix_proc_t& self, JobView& view) {
  const pmix_proc_t job = proc_of(self, PMIX_RANK_WILDCARD);
  Value family, note, born, room, node_rank, node_size;
  view.family = view.id;
  if (!was_told(job, kFamilyKey, PMIX_STRING, family) || family.held->data.string == nullptr) return;
  view.family = family.held->data.string;
  if (was_told(job, kNoteKey, PMIX_STRING, note)) view.note = note.held->data.string != nullptr ? note.held->data.string : "";
  if (was_told(job, kBornKey, PMIX_UINT32, born)) view.born = static_cast<int>(born.held->data.uint32);
  if (was_told(job, PMIX_UNIV_SIZE, PMIX_UINT32, room)) view.room = static_cast<int>(room.held->data.uint32);
  if (!was_told(job, PMIX_NODE_SIZE, PMIX_UINT32, node_size) || !was_told(self, PMIX_NODE_RANK, PMIX_UINT16, node_rank)) return;
  view.node_size = static_cast<int>(node_size.held->data.uint32);
  view.node_rank = node_rank.held->data.uint16;
}

// Servers may leave the peers out for a rank that is alone on its node.
JobView ask_view(const pmix_proc_t& self) {
  const pmix_proc_t job = proc_of(self, PMIX_RANK_WILDCARD);
  Value size, peers;
  ask(job, PMIX_JOB_SIZE, PMIX_UINT32, size);
  std::optional<std::string_view> local_peers;
  if (PMIx_Get(&job, PMIX_LOCAL_PEERS, nullptr, 0, &peers.held) == PMIX_SUCCESS && peers.held->type == PMIX_STRING &&
      peers.held->data.string != nullptr)
    local_peers = peers.held->data.string;
  JobView view = view_of_answers(self.nspace, self.rank, size.held->data.uint32, local_peers);
  ask_family(self, view);
  return view;
}

// The wait for all ranks, and its result: that they have met, or that one of them has ended without joining the job. It
// stays for ever: libpmix's thread may call long after a waiting thread has given up.
class Meetings {
 public:
  static Meetings& of_process() {
    static Meetings& meetings = *new Meetings;
    return meetings;
  }

  // Launchers that tell of no ends let a meeting without one last for ever, as libpmix does. Not waited for: what was told before comes,
  // too.
  void listen(const char* job) {
    job_ = job;
    pmix_status_t absence = PMIX_ERR_PROC_TERM_WO_SYNC, end = PMIX_EVENT_JOB_END;
    PMIx_Register_event_handler(&absence, 1, nullptr, 0, heard, nullptr, nullptr);
    PMIx_Register_event_handler(&end, 1, nullptr, 0, heard, nullptr, nullptr);
  }

  // Whether a job that was spawned has ended.
  bool has_ended(const std::string& job) {
    const std::lock_guard lock(mutex_);
    return over_.contains(job);
  }

  // The status of the fence, or that somebody will never come: absent() names it then.
  pmix_status_t meet(bool collect) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    uint64_t number;
    {
      const std::lock_guard lock(mutex_);
      number = ++begun_;
    }
    const pmix_status_t rc = PMIx_Fence_nb(nullptr, 0, &info, 1, met, reinterpret_cast<void*>(number));
    if (rc != PMIX_SUCCESS) return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ == number || absent_ >= 0; });
    return ended_ == number ? status_ : PMIX_ERR_PROC_TERM_WO_SYNC;
  }

  int absent() {
    const std::lock_guard lock(mutex_);
    return absent_;
  }

 private:
  static void met(pmix_status_t status, void* number) {
    Meetings& self = of_process();
    const std::lock_guard lock(self.mutex_);
    self.status_ = status;
    self.ended_ = reinterpret_cast<uint64_t>(number);
    self.changed_.notify_all();
  }

  static void heard(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t[], size_t, pmix_info_t[], size_t,
                    pmix_event_notification_cbfunc_fn_t done, void* data) {
    Meetings& self = of_process();
    {
      const std::lock_guard lock(self.mutex_);
      if (status == PMIX_EVENT_JOB_END && source != nullptr && self.job_ != source->nspace) self.over_.insert(source->nspace);
      if (status == PMIX_ERR_PROC_TERM_WO_SYNC) self.absent_ = source == nullptr ? 0 : static_cast<int>(source->rank);
      self.changed_.notify_all();
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
  }

  std::mutex mutex_;  // guards the rest, which libpmix's thread changes
  std::condition_variable changed_;
  uint64_t begun_ = 0, ended_ = 0;       // fences
  pmix_status_t status_ = PMIX_SUCCESS;  // of the last that ended
  int absent_ = -1;                      // a rank that will never come
  std::string job_;                      // ours
  std::set<std::string> over_;           // others that have ended
};

class PmixJob final : public Bootstrap {
 public:
  PmixJob(const pmix_proc_t& self, JobView view) : Bootstrap(std::move(view)), self_(self) {}

  void put(const std::string& key, std::span<const std::byte> value) override {
    check_key(key);
    pmix_value_t item{};
    item.type = PMIX_BYTE_OBJECT;
    item.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(value.data()));  // PMIx_Put copies, never writes
    item.data.bo.size = value.size();
    const pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key.c_str(), &item);
    if (rc != PMIX_SUCCESS) fail("'" + key + "' could not be stored with PMIx", rc, "check that the launcher still runs");
  }

  void commit() override {
    const pmix_status_t rc = PMIx_Commit();
    if (rc != PMIX_SUCCESS) fail("values could not be handed to the launcher", rc, "check that the launcher still runs");
  }

  void fence(bool collect) override {
    commit();
    Meetings& meetings = Meetings::of_process();
    pmix_status_t rc = meetings.meet(collect);
    // A process that joins the job again may meet here before a slower one has left it the first time. The server takes
    // that leaving for an absence, and lets those go who have come; all of them hear so and come again.
    for (int more = size(); joined_before && rc == PMIX_ERR_PARTIAL_SUCCESS && more > 0; --more) rc = meetings.meet(collect);
    if (rc == PMIX_SUCCESS) return;
    if (rc == PMIX_ERR_PROC_TERM_WO_SYNC)
      fail("rank " + std::to_string(meetings.absent()) + " has ended without joining the job", rc,
           "start a program that joins it on every rank, and look for what ended that one");
    poll(nullptr, 0, kLastMoment_ms);
    fail("the ranks of the job could not meet", rc, "check that every rank still runs and calls the same start-up");
  }

  std::vector<std::byte> get(int rank, const std::string& key) override {
    check_key(key);
    if (rank < 0 || rank >= size())
      throw std::runtime_error("rank " + std::to_string(rank) + " does not exist in this job of " + std::to_string(size()) + " ranks");
    const pmix_proc_t proc = proc_of(self_, static_cast<pmix_rank_t>(rank));
    Value value;
    const pmix_status_t rc = get_patiently(proc, key, value);
    if (rc != PMIX_SUCCESS)
      fail("rank " + std::to_string(rank) + " gave no value '" + key + "'", rc, "check that all ranks run the same program and library");
    if (value.held->type != PMIX_BYTE_OBJECT)
      throw std::runtime_error("the value '" + key + "' of rank " + std::to_string(rank) + " is not of this library; choose another key");
    const auto* bytes = reinterpret_cast<const std::byte*>(value.held->data.bo.bytes);
    return {bytes, bytes + value.held->data.bo.size};
  }

  std::string spawn(const std::vector<SpawnedProgram>& programs, const std::string& note) override {
    if (view().room == 0) return Bootstrap::spawn(programs, note);  // no ptlrun
    const size_t count = programs.size();
    pmix_app_t* apps = nullptr;
    PMIX_APP_CREATE(apps, count);
    if (apps == nullptr) throw std::bad_alloc();
    for (size_t i = 0; i < count; ++i) {
      const SpawnedProgram& program = programs[i];
      apps[i].cmd = strdup(program.command.at(0).c_str());
      for (const std::string& word : program.command) {
        pmix_status_t appended;
        PMIX_ARGV_APPEND(appended, apps[i].argv, word.c_str());
        if (appended != PMIX_SUCCESS) throw std::bad_alloc();
      }
      if (!program.folder.empty()) apps[i].cwd = strdup(program.folder.c_str());
      apps[i].maxprocs = program.ranks;
      PMIX_INFO_CREATE(apps[i].info, 2);
      apps[i].ninfo = 2;
      PMIX_INFO_LOAD(&apps[i].info[0], kPathKey, program.path.c_str(), PMIX_STRING);
      PMIX_INFO_LOAD(&apps[i].info[1], PMIX_HOST, program.hosts.c_str(), PMIX_STRING);
    }
    pmix_info_t told{};
    PMIX_INFO_LOAD(&told, kNoteKey, note.c_str(), PMIX_STRING);
    pmix_nspace_t name{};
    const pmix_status_t rc = PMIx_Spawn(&told, 1, apps, count, name);
    PMIX_INFO_DESTRUCT(&told);
    PMIX_APP_FREE(apps, count);
    if (rc == PMIX_SUCCESS) return name;
    const char* why = "the launcher refuses";
    if (rc == PMIX_ERR_JOB_EXE_NOT_FOUND) why = "a program was not found, or cannot be executed";
    if (rc == PMIX_ERR_JOB_WDIR_NOT_FOUND) why = "the folder where a program is to start does not exist";
    if (rc == PMIX_ERR_OUT_OF_RESOURCE) why = "the launcher cannot start so many processes, or none more";
    if (rc == PMIX_ERR_NOT_SUPPORTED) why = "processes are started on the launcher's own host only, and only where it is alone";
    throw std::runtime_error(std::string(why) + " (" + PMIx_Error_string(rc) + ")");
  }

  bool has_ended(const std::string& job) override { return Meetings::of_process().has_ended(job); }

  void abort(int status, std::string_view message) override {
    if (!message.empty()) std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
    std::fflush(nullptr);
    PMIx_Abort(status, "", nullptr, 0);
    _exit(status);  // with the job's own status: launchers that miss the request still see it
  }

  void finish() override {
    const pmix_status_t rc = PMIx_Finalize(nullptr, 0);
    joined_before = true;
    if (rc != PMIX_SUCCESS) fail("the job could not be left", rc, "check that the launcher still runs");
  }

 private:
  // Some servers wait until a rank commits the key, some only until it commits anything: ask again for as long as the others
  // wait.
  static pmix_status_t get_patiently(const pmix_proc_t& proc, const std::string& key, Value& value) {
    const auto until = std::chrono::steady_clock::now() + kGetTime;
    for (;;) {
      const pmix_status_t rc = PMIx_Get(&proc, key.c_str(), nullptr, 0, &value.held);
      if (rc != PMIX_ERR_NOT_FOUND || std::chrono::steady_clock::now() >= until) return rc;
      poll(nullptr, 0, kAskAgain_ms);
    }
  }

  static void check_key(const std::string& key) {
    if (key.empty() || key.size() > PMIX_MAX_KEYLEN)
      throw std::runtime_error("the key '" + key + "' must have 1 to " + std::to_string(PMIX_MAX_KEYLEN) + " characters");
  }

  pmix_proc_t self_;
};

}  // namespace

std::unique_ptr<Bootstrap> start_pmix_job() {
  pmix_proc_t self{};
  pmix_status_t rc;
  {
    const HeldSignals held;  // its thread is not to be interrupted by the application's
    rc = PMIx_Init(&self, nullptr, 0);
  }
  if (rc != PMIX_SUCCESS)
    fail("the PMIx server named by the environment (PMIX_SERVER_URI...) could not be joined", rc,
         "start the program with ptlrun, or unset PMIX_NAMESPACE to run it alone");
  Meetings::of_process().listen(self.nspace);
  try {
    return std::make_unique<PmixJob>(self, ask_view(self));
  } catch (...) {
    PMIx_Finalize(nullptr, 0);
    throw;
  }
}

}  // namespace portunus
