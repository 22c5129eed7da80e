// init.cpp: start and end of MPI.
// Source: MPI-5.0, 11.2, 11.4 (thread levels), 9.7 (MPI_Abort).
#include "mpi-adi/core/init.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/comm/disconnect.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/leaks.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/debugger/description.hpp"
#include "mpi-adi/dynamic/rendezvous.hpp"
#include "mpi-adi/dynamic/spawn.hpp"
#include "mpi-adi/graph/graph.hpp"
#include "mpi-adi/io/file.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi {

constinit std::atomic<Phase> phase{Phase::before};

namespace {

int granted_level = MPI_THREAD_SINGLE;
std::thread::id main_thread;

// The least of the four levels that covers what was asked for.
int level_for(int required) {
  for (int level : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED})
    if (required <= level) return level;
  return MPI_THREAD_MULTIPLE;
}

// MPI_Init and MPI_Finalize, beside sessions.
std::atomic<Phase> world_phase{Phase::before};

std::mutex users_mutex;
int users = 0;
bool resting = false;  // under users_mutex: after the last session, everything is there still
// A program that has had a session may have others, after MPI_Finalize, too: what sessions need stays until the process ends.
std::atomic<bool> has_had_sessions{false};
pid_t own_process = 0;
void stop_at_exit();

// A child has this memory, but is no rank: its calls raise an error.
void note_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    for (std::atomic<Phase>* what : {&phase, &world_phase})
      if (what->load(std::memory_order_relaxed) == Phase::running) what->store(Phase::forked, std::memory_order_relaxed);
    predefined_count = 0;
  });
  (void)once;
}

int start(const char* function, bool threaded) {
  note_forks();
  debugger::find_dll();
  debugger::await_debugger();
  ptlx_job_t job;
  device::long_waits::count_threads(false);
  if (const char* cause = device::start(threaded, job)) return raise(function, nullptr, MPI_ERR_OTHER, "%s", cause);
  if (!open_communicators(job.rank, job.size))
    return raise(function, nullptr, MPI_ERR_NO_MEM, "there is no address space for the communicators");
  phase.store(Phase::running, std::memory_order_release);
  if (std::exchange(own_process, getpid()) == 0) std::atexit(stop_at_exit);
  device::long_waits::count_threads(true);
  note_room(job.room);
  return meet_parent(function);
}

// Nothing is under way here, and no handle is valid until somebody wakes it.
void rest() {
  io::close_all();
  device::wait_until([] { return device::detached_sends() == 0; });
  predefined_count = 0;
  phase.store(Phase::over, std::memory_order_release);
  resting = true;
}
void wake(bool threaded) {
  if (threaded) device::device.threaded = true, pool.serve_threads();
  predefined_count = 2;
  phase.store(Phase::running, std::memory_order_release);
  resting = false;
}

// Own sends first, then everybody's: after the barrier no rank needs anything of this one any more.
int stop(const char* function) {
  uint64_t wishes = (leaks::wanted() ? device::kTellLeaks : 0) | (debug.calls ? device::kCompareCalls : 0);
  const leaks::Counts left = leaks::wanted() ? leaks::objects() : leaks::Counts{};
  io::close_all();
  device::wait_until([] { return device::detached_sends() == 0; });
  // Also by those who know that somebody has died: others may not know yet, and would wait for them. Nobody waits for the dead.
  rendezvous::unpublish_all();
  disconnect_from_others();
  int result = device::last_barrier(wishes), unfit = MPI_SUCCESS;
  if (wishes & device::kCompareCalls) {
    unfit = collectives::compare_all(function);
    if (unfit != MPI_SUCCESS) wishes &= ~device::kTellLeaks;  // which takes a collective
    result = device::last_barrier(wishes);
  }
  if (wishes & device::kTellLeaks) {
    leaks::tell(left);
    result = device::last_barrier(wishes);
  }
  if (result != PTL_OK && result != PTL_FAIL) return raise_portals(function, nullptr, result);
  graph::close();
  close_communicators();
  release_kinds();
  phase.store(Phase::over, std::memory_order_release);
  rendezvous::close();
  device::stop();
  return unfit;
}

// Not in a child that was forked and ends.
void stop_at_exit() {
  std::lock_guard lock(users_mutex);
  if (!resting || getpid() != own_process) return;
  wake(false);
  stop("exit");
}

int raise_not_running(const char* function) { return raise_bad_communicator(function, MPI_COMM_NULL); }

int init(const char* function, int required) {
  switch (world_phase.load(std::memory_order_acquire)) {
    case Phase::before: break;
    case Phase::running: return raise(function, nullptr, MPI_ERR_OTHER, "MPI is initialized already");
    case Phase::over: return raise(function, nullptr, MPI_ERR_OTHER, "MPI cannot be initialized again after MPI_Finalize");
    case Phase::forked: return raise_not_running(function);
  }
  granted_level = level_for(required);
  main_thread = std::this_thread::get_id();
  if (int error = begin_use(function, granted_level)) return error;
  if (!device::device.threaded) granted_level = std::min(granted_level, MPI_THREAD_SERIALIZED);
  if (!collectives::share_memory(world()))
    return raise(function, nullptr, MPI_ERR_NO_MEM, "there is no memory for collectives, or for reaching the other ranks");
  world_phase.store(Phase::running, std::memory_order_release);
  return MPI_SUCCESS;
}

bool running() { return world_phase.load(std::memory_order_acquire) == Phase::running; }

int add_user(const char* function, int level) {
  std::lock_guard lock(users_mutex);
  if (users == 0 && resting) {
    wake(level == MPI_THREAD_MULTIPLE);
  } else if (users == 0) {
    if (phase.load(std::memory_order_relaxed) == Phase::over)
      return raise(function, nullptr, MPI_ERR_OTHER, "MPI has ended; open a session before MPI_Finalize for others to follow");
    if (int error = start(function, level == MPI_THREAD_MULTIPLE)) return error;
  }
  ++users;
  return MPI_SUCCESS;
}

int remove_user(const char* function, bool may_rest) {
  std::lock_guard lock(users_mutex);
  if (users > 1) {
    --users;
    return MPI_SUCCESS;
  }
  if (may_rest) {
    rest();
    users = 0;
    return MPI_SUCCESS;
  }
  if (int error = stop(function)) return error;
  users = 0;
  return MPI_SUCCESS;
}

}  // namespace

int begin_use(const char* function, int level) {
  RaisedLater later;
  return later.result(add_user(function, level));
}
int end_use(const char* function, bool may_rest) {
  RaisedLater later;
  return later.result(remove_user(function, may_rest));
}

void note_session() { has_had_sessions.store(true, std::memory_order_relaxed); }

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Init(int*, char***) try { return init("MPI_Init", MPI_THREAD_SINGLE); }
MPI_WEAK_NAME(Init)

extern "C" int PMPI_Init_thread(int*, char***, int required, int* provided) try {
  if (int error = init("MPI_Init_thread", required)) return error;
  if (provided != nullptr) *provided = granted_level;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Init_thread)

extern "C" int PMPI_Initialized(int* flag) try {
  if (flag == nullptr) return raise("MPI_Initialized", nullptr, MPI_ERR_ARG, "the address for the flag is null");
  *flag = world_phase.load(std::memory_order_acquire) != Phase::before;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Initialized)

extern "C" int PMPI_Finalized(int* flag) try {
  if (flag == nullptr) return raise("MPI_Finalized", nullptr, MPI_ERR_ARG, "the address for the flag is null");
  *flag = world_phase.load(std::memory_order_acquire) == Phase::over;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Finalized)

extern "C" int PMPI_Query_thread(int* provided) try {
  static constexpr char kName[] = "MPI_Query_thread";
  if (!running()) return raise_not_running(kName);
  if (provided == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the level is null");
  *provided = granted_level;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Query_thread)

extern "C" int PMPI_Is_thread_main(int* flag) try {
  static constexpr char kName[] = "MPI_Is_thread_main";
  if (!running()) return raise_not_running(kName);
  if (flag == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the flag is null");
  *flag = std::this_thread::get_id() == main_thread;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Is_thread_main)

extern "C" int PMPI_Finalize() try {
  static constexpr char kName[] = "MPI_Finalize";
  if (!running()) return raise_not_running(kName);
  // Before anything else ends, and with nothing locked: delete functions may call MPI still. MPI_COMM_SELF's are called first, as that is
  // how libraries learn of the end (MPI-5.0, 11.2.4).
  self().attributes.clear(MPI_COMM_SELF);
  world().attributes.clear(MPI_COMM_WORLD);
  if (int error = end_use(kName, has_had_sessions.load(std::memory_order_relaxed))) return error;
  world_phase.store(Phase::over, std::memory_order_release);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Finalize)

extern "C" int PMPI_Abort(MPI_Comm comm, int errorcode) try {
  static constexpr char kName[] = "MPI_Abort";
  if (find_communicator(comm) == nullptr) return raise_bad_communicator(kName, comm);
  char sentence[128];
  std::snprintf(sentence, sizeof sentence, "MPI_Abort: rank %d ends the job with error code %d", world().rank, errorcode);
  int status = errorcode & 0xff;  // all that an exit status can hold
  if (status == 0 && errorcode != 0) status = 1;
  device::abort(status, sentence);
}
MPI_WEAK_NAME(Abort)
