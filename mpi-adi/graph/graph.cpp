// graph.cpp: see graph.hpp.
#include "mpi-adi/graph/graph.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <utility>

#include "engine/client/numbers.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/access.hpp"
#include "mpi-adi/graph/build.hpp"
#include "mpi-adi/graph/capture_state.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/rma/window.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::graph {
namespace {

constinit ObjectPool<Graph, kMaxCommunicators> graphs;

constexpr char kNotMade[] = "there is no room for so large a graph, or it has messages for processes of another job";
constexpr char kNotWritten[] =
    "the graph has one-sided accesses, or types other than integers, float and double, which the text has no words for";

bool no_mistake(Communicator&) { return false; }

}  // namespace

Graph* find(const void* handle) { return graphs.find(handle); }
Graph* make_graph() { return graphs.claim(); }
void free_graph(Graph* graph) { graphs.release(graph); }

void revoke(const Communicator& origin) {
  graphs.for_each([&](Graph& graph) {
    if (graph.origin == &origin && graph.domain) GOAL_Domain_revoke(graph.domain);
  });
}

bool is_accessed(const rma::Window& window) {
  bool found = false;
  graphs.for_each([&](Graph& graph) { found = found || (graph.running() && graph.accesses(window)); });
  return found;
}

bool is_in_use(const rma::Window& window) {
  bool found = false;
  graphs.for_each([&](Graph& graph) { found = found || (graph.running() && graph.has(window)); });
  return found;
}

void forget_window(const rma::Window& window) {
  graphs.for_each([&](Graph& graph) {
    if (graph.has(window)) graph.lose(window);
  });
}

void forget_origin(const Communicator& origin) {
  graphs.for_each([&](Graph& graph) {
    if (graph.origin == &origin) graph.origin = nullptr;
  });
}

void close() {
  if (is_capturing()) end_capture();
  std::vector<Graph*> left;
  graphs.for_each([&](Graph& graph) { left.push_back(&graph); });
  for (Graph* graph : left) free_graph(graph);
}

Graph::~Graph() {
  if (Request* const left = request_.load(std::memory_order_acquire)) left->attached = nullptr;
  else if (!is_taken_) end_run();
  GOAL_Release(&started_);
  if (schedule_) GOAL_Free(&schedule_);
  GOAL_Team_close(&team_);
  // News of a failure may be under way: the context is not to be used again.
  if (domain && comm && GOAL_Domain_failed(domain)) comm->attention.fetch_or(Communicator::kRevoked, std::memory_order_relaxed);
  GOAL_Domain_close(&domain);
  if (comm) destroy_communicator(comm);
}

int Graph::raise_own(const char* function, int code, const char* sentence) const {
  return raise(function, origin ? origin : comm, code, "%s", sentence);
}

unsigned Graph::context_of_goal() const {
  static_assert(client::kFirstCommunicatorsProgramContext + kMaxCommunicators <= client::kGoalContexts);
  return client::kFirstCommunicatorsProgramContext + comm->context / kContextsPerCommunicator;
}

// `meets`: with the barrier that keeps ranks from being too many runs ahead.
int Graph::build_schedule(bool meets) {
  if (schedule_) GOAL_Free(&schedule_);
  int code = GOAL_Create(&schedule_);
  if (code == GOAL_SUCCESS) code = GOAL_Context(schedule_, context_of_goal());
  return code == GOAL_SUCCESS ? build({*comm, group_, recording_, {meets, agreement_.windows}, signals_, &gates_}, schedule_) : code;
}

// The part that does not take the other ranks: a code of GOAL.
int Graph::prepare() {
  const unsigned context = context_of_goal();
  group_ = collectives::state_of(*comm).group();
  int code = GOAL_Domain_open(&group_, context, &domain);
  if (code == GOAL_SUCCESS) code = GOAL_Team_open(&group_, context, GOAL_TEAM_NO_MEMORY, domain, nullptr, nullptr, &team_);
  for (const Node& node : recording_.nodes()) {
    if (node.what == What::signal) signals_[node.number] = 0;
    if (node.what == What::gated) gates_[node.number] = {};
  }
  return code == GOAL_SUCCESS ? build_schedule(false) : code;
}

// Through memory of the node, or by messages: a code of GOAL.
int Graph::compile() {
  int is_on_node = 0;
  int code = GOAL_Compile_on_node(schedule_, &group_, context_of_goal(), domain, &is_on_node);
  if (code == GOAL_SUCCESS && !is_on_node) {
    code = build_schedule(agreement_.meets);
    if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule_);
  }
  return code == GOAL_SUCCESS ? GOAL_Make_of(team_, schedule_, &started_) : code;
}

// Whether all ranks have done well so far: an error class.
int Graph::agree(int code, std::string& sentence) const {
  int good = code == GOAL_SUCCESS, all_good = 0;
  if (!good) sentence = kNotMade;
  int error = PMPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, handle_of(comm));
  if (error == MPI_SUCCESS && !all_good) error = code == GOAL_ERR_ARG ? MPI_ERR_ARG : MPI_ERR_NO_MEM;
  if (error != MPI_SUCCESS && sentence.empty()) sentence = "another rank could not make its part of the graph";
  return error;
}

int Graph::make(const char* function, Communicator& from, Recording&& recorded, const std::string& refusal) {
  recording_ = std::move(recorded);
  const AllAnd all_and = all_and_of(from);
  if (int error = create_in(function, from, all_and, key_of(from, Traffic::collectives, 0), retain(from.group), nullptr, comm))
    return error;
  const MPI_Errhandler handler = comm->errhandler.load(std::memory_order_relaxed);
  std::memcpy(comm->name, from.name, sizeof comm->name);
  comm->errhandler.store(MPI_ERRORS_RETURN, std::memory_order_relaxed);
  std::string sentence;
  int error = compare(*comm, recording_, refusal, agreement_, sentence);
  if (error == MPI_SUCCESS) error = agree(prepare(), sentence);
  if (error == MPI_SUCCESS) error = agree(compile(), sentence);
  comm->errhandler.store(handler, std::memory_order_relaxed);
  origin = &from;
  if (error == MPI_SUCCESS) return error;
  if (sentence.empty()) sentence = "a rank cannot be reached; it has ended, or a line above says why";
  return raise_own(function, error, sentence.c_str());
}

bool Graph::accesses(const rma::Window& window) const {
  return std::ranges::any_of(recording_.accessed(), [&](const AccessedRank& target) { return target.window == &window; });
}

bool Graph::has(const rma::Window& window) const { return std::ranges::find(agreement_.windows, &window) != agreement_.windows.end(); }

void Graph::lose(const rma::Window& window) {
  std::erase(agreement_.windows, &window);
  failed_ = MPI_ERR_WIN;
}

int Graph::check_epochs(const char* function) const {
  for (const AccessedRank& target : recording_.accessed())
    if (!rma::is_passive(*target.window, target.rank))
      return raise_own(function, MPI_ERR_RMA_SYNC, "the graph accesses a window without a passive epoch; call MPI_Win_lock_all first");
  return MPI_SUCCESS;
}

bool Graph::still_runs() const {
  return !device::poll_until([this] { return !running(); });
}

int Graph::begin_run(const char* function, MPI_Request* handle) {
  if (still_runs()) return raise_own(function, MPI_ERR_REQUEST, "the graph runs already; complete its request first");
  if (failed_ == MPI_ERR_WIN) return raise_own(function, failed_, "a window that the graph accesses was freed; free the graph, too");
  if (failed_ != MPI_SUCCESS) return raise_own(function, failed_, "the graph has failed, and can only be freed");
  if (!is_taken_) end_run();
  if (int error = check_epochs(function)) return error;
  const MPI_Errhandler handler = origin ? origin->errhandler.load(std::memory_order_acquire) : MPI_ERRHANDLER_NULL;
  if (origin && handler != comm->errhandler.load(std::memory_order_relaxed)) replace_errhandler(comm->errhandler, handler);
  Request* const request = pool.claim(comm, false);
  if (request == nullptr) return raise_own(function, MPI_ERR_NO_MEM, "all requests are in use; complete some of them first");
  request->special = true;
  request->source = MPI_ANY_SOURCE;
  request->attached = this;
  for (auto& [number, passed] : signals_) std::atomic_ref(passed).store(0, std::memory_order_relaxed);
  request_.store(request, std::memory_order_relaxed);
  ended_ = Ended::well;
  is_taken_ = false;
  const auto ended = [](void* self) { device::conclude(*static_cast<Graph*>(self)->request_.load(std::memory_order_relaxed), true); };
  if (GOAL_Restart(started_, ended, this) == GOAL_SUCCESS) {
    *handle = handle_of(request);
    return MPI_SUCCESS;
  }
  is_taken_ = true;
  pool.release(request);
  find_cause();
  return raise_own(function, failed_,
                   failed_ == MPIX_ERR_REVOKED ? "the communicator was revoked" : "a rank has ended, or cannot be reached");
}

void Graph::find_cause() {
  failed_ = ulfm::cause_of_failure(*comm, no_mistake, domain);
  if (failed_ == MPI_SUCCESS) failed_ = MPI_ERR_PROC_ABORTED;
}

int Graph::end_run() {
  is_taken_ = true;
  const int code = GOAL_Result(started_);
  for (auto& [number, entry] : gates_) entry.open = false;
  return code;
}

int Graph::query(Request& request, MPI_Status*) {
  if (!is_taken_) {
    const int code = end_run();
    if (code == GOAL_MISMATCH) ended_ = Ended::cut;
    else if (code != GOAL_SUCCESS) find_cause();
  }
  if (ended_ == Ended::cut) return MPI_ERR_TRUNCATE;
  if (failed_ != MPI_SUCCESS) request.failure = failed_ == MPIX_ERR_REVOKED ? kRevoked : ptl_ni_fail_t{PTL_NI_UNDELIVERABLE};
  return failed_;
}

int Graph::cancel(Request& request) { return request.done() ? MPI_SUCCESS : MPI_ERR_REQUEST; }

const char* Graph::complaint() const {
  return ended_ == Ended::cut
             ? "a message of the graph has another length than its receive, which has no room for it, or than its part of a collective"
             : "the run of a graph cannot be cancelled";
}

// The end of a run whose request was freed is taken by the next call with the graph: this thread may be one that never calls MPI.
void Graph::released() { request_.store(nullptr, std::memory_order_release); }

int Graph::open(const char* function, int number) {
  const auto found = gates_.find(number);
  if (found == gates_.end()) return raise_own(function, MPI_ERR_ARG, "the graph has no such gate on this rank");
  if (!running()) return raise_own(function, MPI_ERR_REQUEST, "the graph does not run; a gate is opened in a run");
  if (found->second.open) return raise_own(function, MPI_ERR_REQUEST, "the gate is open in this run already");
  found->second.open = true;
  GOAL_Open(schedule_, found->second.operation);  // a failure is one of the run, too
  return MPI_SUCCESS;
}

int Graph::passed(const char* function, int number, int* flag) {
  const auto found = signals_.find(number);
  if (found == signals_.end()) return raise_own(function, MPI_ERR_ARG, "the graph has no such signal on this rank");
  const auto is_passed = [&] { return std::atomic_ref(found->second).load(std::memory_order_acquire) != 0; };
  *flag = device::poll_until(is_passed);
  return MPI_SUCCESS;
}

// The part of this rank; empty: the text has no words for it.
std::string Graph::text() {
  GOAL_Schedule schedule = nullptr;
  std::string written;
  size_t bytes = 0;
  int code = GOAL_Create(&schedule);
  if (code == GOAL_SUCCESS) code = build({*comm, group_, recording_, {}, signals_}, schedule);
  if (code == GOAL_SUCCESS) code = GOAL_Text(schedule, &group_, nullptr, &bytes);
  if (code == GOAL_SUCCESS) {
    written.resize(bytes);
    code = GOAL_Text(schedule, &group_, written.data(), &bytes);
  }
  if (schedule) GOAL_Free(&schedule);
  return code == GOAL_SUCCESS ? written : std::string();
}

int Graph::write(const char* function, const char* path) {
  const std::string mine = text();
  const auto ranks = static_cast<size_t>(comm->size);
  auto bytes = static_cast<MPI_Count>(mine.size()), total = MPI_Count{0};
  std::vector<MPI_Count> sizes(ranks);
  std::vector<MPI_Aint> places(ranks);
  const MPI_Comm all = handle_of(comm);
  if (int error = PMPI_Allgather(&bytes, 1, MPI_COUNT, sizes.data(), 1, MPI_COUNT, all)) return error;
  for (size_t i = 0; i < ranks; ++i) {
    if (sizes[i] > 0) continue;
    return raise_own(function, MPI_ERR_UNSUPPORTED_OPERATION,
                     mine.empty() ? kNotWritten : "another rank's part has accesses or types that the text has no words for");
  }
  for (size_t i = 0; i < ranks; ++i) places[i] = std::exchange(total, total + sizes[i]);
  std::string whole(static_cast<size_t>(total) + 1, '\0');
  if (int error = PMPI_Gatherv_c(mine.data(), bytes, MPI_BYTE, whole.data(), sizes.data(), places.data(), MPI_BYTE, 0, all)) return error;
  whole.pop_back();
  int written = 1;
  if (comm->rank == 0) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << "num_ranks " << ranks << "\n" << whole;
    file.close();
    written = file ? 1 : 0;
  }
  if (int error = PMPI_Bcast(&written, 1, MPI_INT, 0, all)) return error;
  return written ? MPI_SUCCESS : raise_own(function, MPI_ERR_IO, "rank 0 cannot write the file");
}

}  // namespace portunus::mpi::graph
