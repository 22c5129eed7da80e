// graph.cpp: see graph.hpp.
#include "shmem/graph/graph.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/client/numbers.hpp"
#include "shmem/collectives.hpp"
#include "shmem/deaths.hpp"
#include "shmem/graph/capture_state.hpp"
#include "shmem/graph/sentence.hpp"
#include "shmem/graph/text.hpp"
#include "shmem/include/shmemx.h"

namespace portunus::shmem::graph {
namespace {

constexpr char kNotMade[] = "there is no room for so large a graph";

std::mutex guard;
// Never taken down at exit.
std::vector<std::unique_ptr<Graph>>& graphs() {
  static auto& all = *new std::vector<std::unique_ptr<Graph>>;
  return all;
}

int code_of(int goal) { return goal == GOAL_SUCCESS ? 0 : SHMEMX_ERR_MEMORY; }

}  // namespace

Graph* find(const void* handle) {
  const std::lock_guard lock(guard);
  for (const auto& each : graphs())
    if (each.get() == handle) return each.get();
  return nullptr;
}

Graph* keep(std::unique_ptr<Graph> graph) {
  const std::lock_guard lock(guard);
  graphs().push_back(std::move(graph));
  return graphs().back().get();
}

void free_graph(Graph* graph) {
  std::unique_ptr<Graph> gone;
  const std::lock_guard lock(guard);
  const auto found = std::ranges::find(graphs(), graph, &std::unique_ptr<Graph>::get);
  gone = std::move(*found);
  graphs().erase(found);
}

void forget_team(const Team& team) {
  const std::lock_guard lock(guard);
  for (const auto& each : graphs())
    if (each->team == &team) each->team = nullptr;
}

void close() {
  if (captures()) end_capture();
  const std::lock_guard lock(guard);
  graphs().clear();
}

Graph::~Graph() {
  Requests::instance().forget(*this);
  if (!is_taken_) take_end();
  if (started_) GOAL_Release(&started_);
  if (schedule_) GOAL_Free(&schedule_);
  if (goal_) GOAL_Team_close(&goal_);
  const bool is_clean = !domain_ || !GOAL_Domain_failed(domain_);
  if (domain_) GOAL_Domain_close(&domain_);
  if (agreement_.number < kMostGraphs && is_clean) give_number_back(agreement_.number);
}

unsigned Graph::context() const {
  static_assert(client::kFirstTeamsGraphContext + kMostGraphs <= client::kFirstPlanContext);
  return client::kFirstTeamsGraphContext + agreement_.number;
}

int Graph::build_schedule() {
  if (schedule_) GOAL_Free(&schedule_);
  int code = GOAL_Create(&schedule_);
  if (code == GOAL_SUCCESS) code = GOAL_Context(schedule_, context());
  const Plan plan{group_, recording_, signals_, gates_};
  return code == GOAL_SUCCESS ? ScheduleBuilder(plan, schedule_).build() : code;
}

// The part that does not take the other PEs: a code of GOAL.
int Graph::prepare() {
  for (const Node& node : recording_.nodes()) {
    if (node.what == What::signal) signals_[node.number] = 0;
    if (node.what == What::gated) gates_[node.number] = {};
  }
  int code = GOAL_Domain_open(&group_, context(), &domain_);
  if (code == GOAL_SUCCESS) code = GOAL_Team_open(&group_, context(), GOAL_TEAM_NO_MEMORY, domain_, nullptr, nullptr, &goal_);
  return code == GOAL_SUCCESS ? build_schedule() : code;
}

// Through memory of the node, where no PE accesses memory of others and all is short; else by triggered operations: a code of GOAL.
int Graph::compile() {
  int is_on_node = 0;
  int code = GOAL_SUCCESS;
  if (!agreement_.has_accesses) {
    code = GOAL_Compile_on_node(schedule_, &group_, context(), domain_, &is_on_node);
    if (code == GOAL_SUCCESS && !is_on_node) code = build_schedule();
  }
  if (code == GOAL_SUCCESS && !is_on_node) code = GOAL_Compile(schedule_);
  return code == GOAL_SUCCESS ? GOAL_Make_of(goal_, schedule_, &started_) : code;
}

int Graph::make(const char* function, Team& from, Recording&& recorded, const std::string& refusal) {
  recording_ = std::move(recorded);
  const GOAL_Group& group = from.collectives->group();
  ranks_.assign(group.ranks, group.ranks + group.size);
  nodes_.assign(group.nodes, group.nodes + group.size);
  group_ = group;
  group_.ranks = ranks_.data();
  group_.nodes = nodes_.data();
  members_ = from.members;
  std::string sentence;
  int code = agree(from, recording_, refusal, agreement_, sentence);
  for (int (Graph::*const step)() : {&Graph::prepare, &Graph::compile}) {
    if (code != 0) break;
    const int goal = (this->*step)();
    if (goal != GOAL_SUCCESS) sentence = kNotMade;
    code = agree_on_code(from, code_of(goal), sentence);
  }
  if (code != 0) return refused(code, function, sentence);
  team = &from;
  return 0;
}

bool Graph::still_runs() const {
  if (running()) PtlxProgress();
  return running();
}

int Graph::start(const char* function, shmemx_req_t* handle) {
  if (still_runs()) return refused(SHMEMX_ERR_STATE, function, "the graph runs already; wait for its request first");
  if (!is_taken_) take_end();
  if (failed_) return refused(SHMEMX_ERR_FAILED, function, cause() + "; the graph can only be freed");
  Requests& all = Requests::instance();
  all.forget(*this);
  Request& request = all.claim();
  const shmemx_req_t given = Requests::handle_of(request);
  const int code = request.launch(*this, team);
  if (code == GOAL_SUCCESS) {
    *handle = given;
    return 0;
  }
  all.give_back(request);
  if (code == GOAL_ERR_NO_SPACE) return refused(SHMEMX_ERR_MEMORY, function, "there is not enough memory; nothing was started");
  failed_ = true;
  return refused(SHMEMX_ERR_FAILED, function, cause());
}

int Graph::begin(Request& request) {
  for (auto& [number, passed] : signals_) std::atomic_ref(passed).store(0, std::memory_order_relaxed);
  request_ = &request;
  is_taken_ = false;
  running_.store(true, std::memory_order_relaxed);
  const int code = GOAL_Restart(started_, ended, this);
  if (code == GOAL_SUCCESS) return code;
  running_.store(false, std::memory_order_relaxed);
  is_taken_ = true;
  return code;
}

void Graph::ended(void* graph) {
  auto& self = *static_cast<Graph*>(graph);
  Request& request = *self.request_;
  self.running_.store(false, std::memory_order_release);
  request.run_has_ended();
}

// A code of GOAL.
int Graph::take_end() {
  is_taken_ = true;
  const int code = GOAL_Result(started_);
  for (auto& [number, entry] : gates_) entry.is_open = false;
  failed_ = failed_ || code != GOAL_SUCCESS;
  return code;
}

std::string Graph::cause() const {
  const int pe = who_failed(&members_);
  return pe >= 0 ? "the run failed: PE " + std::to_string(pe) + " has died" : "the run failed: a PE is gone, or refused an operation";
}

int Graph::finish(const char* function) {
  if (!is_taken_) take_end();
  return failed_ ? refused(SHMEMX_ERR_FAILED, function, cause()) : 0;
}

int Graph::open(const char* function, int number) {
  const auto found = gates_.find(number);
  if (found == gates_.end()) return refused(SHMEMX_ERR_ARG, function, "the graph has no such gate on this PE");
  if (!running()) return refused(SHMEMX_ERR_STATE, function, "the graph does not run; a gate is opened in a run");
  if (found->second.is_open) return refused(SHMEMX_ERR_STATE, function, "the gate is open in this run already");
  found->second.is_open = true;
  GOAL_Open(schedule_, found->second.operation);  // a failure is one of the run, too
  return 0;
}

int Graph::passed(const char* function, int number, int* flag) {
  const auto found = signals_.find(number);
  if (found == signals_.end()) return refused(SHMEMX_ERR_ARG, function, "the graph has no such signal on this PE");
  const auto is_passed = [&] { return std::atomic_ref(found->second).load(std::memory_order_acquire) != 0; };
  if (!is_passed()) progress();
  *flag = is_passed();
  return 0;
}

int Graph::write(const char* function, const char* path) {
  if (!team) return refused(SHMEMX_ERR_STATE, function, "the team of the graph was destroyed");
  return write_text(function, *team, group_, recording_, path);
}

}  // namespace portunus::shmem::graph
