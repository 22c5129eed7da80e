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
#include <stdexcept>

#include "engine/host/bootstrap.hpp"
#include "engine/host/kept_signals.hpp"
#include "engine/host/pmix_answers.hpp"

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

// Servers may leave the peers out for a rank that is alone on its node.
JobView ask_view(const pmix_proc_t& self) {
  const pmix_proc_t job = proc_of(self, PMIX_RANK_WILDCARD);
  Value size, peers;
  ask(job, PMIX_JOB_SIZE, PMIX_UINT32, size);
  std::optional<std::string_view> local_peers;
  if (PMIx_Get(&job, PMIX_LOCAL_PEERS, nullptr, 0, &peers.held) == PMIX_SUCCESS && peers.held->type == PMIX_STRING &&
      peers.held->data.string != nullptr)
    local_peers = peers.held->data.string;
  return view_of_answers(self.nspace, self.rank, size.held->data.uint32, local_peers);
}

// Who waits for all ranks, and what it hears: that they have met, or that one of them has ended without joining the job. It
// stays for ever: libpmix's thread may call long after a waiting thread has given up.
class Meetings {
 public:
  static Meetings& of_process() {
    static Meetings& meetings = *new Meetings;
    return meetings;
  }

  // Launchers that tell of no ends let a meeting without one last for ever, as libpmix does. Not waited for: what was told before comes,
  // too.
  void listen() {
    pmix_status_t absence = PMIX_ERR_PROC_TERM_WO_SYNC;
    PMIx_Register_event_handler(&absence, 1, nullptr, 0, heard, nullptr, nullptr);
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

  static void heard(size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t[], size_t, pmix_info_t[], size_t,
                    pmix_event_notification_cbfunc_fn_t done, void* data) {
    Meetings& self = of_process();
    {
      const std::lock_guard lock(self.mutex_);
      self.absent_ = source == nullptr ? 0 : static_cast<int>(source->rank);
      self.changed_.notify_all();
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
  }

  std::mutex mutex_;  // guards the rest, which libpmix's thread changes
  std::condition_variable changed_;
  uint64_t begun_ = 0, ended_ = 0;       // fences
  pmix_status_t status_ = PMIX_SUCCESS;  // of the last that ended
  int absent_ = -1;                      // a rank that will never come
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
  Meetings::of_process().listen();
  try {
    return std::make_unique<PmixJob>(self, ask_view(self));
  } catch (...) {
    PMIx_Finalize(nullptr, 0);
    throw;
  }
}

}  // namespace portunus
