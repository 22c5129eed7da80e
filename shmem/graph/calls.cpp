// calls.cpp: the calls shmemx_graph_*.
//
// Thread: any.
#include <memory>

#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/graph/capture_state.hpp"
#include "shmem/graph/exposure.hpp"
#include "shmem/graph/graph.hpp"
#include "shmem/graph/sentence.hpp"
#include "shmem/include/shmemx.h"

namespace portunus::shmem::graph {
namespace {

// A call that found no memory.
constexpr char kNoMemory[] = "there is not enough memory";

int begin(const char* function, shmem_team_t handle) {
  require_init(function);
  Team* const team = team_of(handle);
  if (!team) return refused(SHMEMX_ERR_ARG, function, "the team is SHMEM_TEAM_INVALID");
  if (is_capturing()) return refused(SHMEMX_ERR_STATE, function, "this thread captures already; call shmemx_graph_end first");
  if (team->is_captured.exchange(true)) return refused(SHMEMX_ERR_STATE, function, "another thread captures this team");
  begin_capture(*team);
  // All learn of it at the end of the capture.
  if (Exposure::open() != PTL_OK) current()->refuse(function, "the network has no room for it");
  return 0;
}

int end(const char* function, shmem_team_t handle, shmemx_graph_t* result) {
  require_init(function);
  if (!result) return refused(SHMEMX_ERR_ARG, function, "the place of the graph is NULL");
  *result = SHMEMX_GRAPH_INVALID;
  Team* const team = team_of(handle);
  if (!team) return refused(SHMEMX_ERR_ARG, function, "the team is SHMEM_TEAM_INVALID");
  Capture* const capturing = current();
  if (!capturing || &capturing->team != team)
    return refused(SHMEMX_ERR_STATE, function, "this thread does not capture the team; call shmemx_graph_begin first");
  const std::unique_ptr<Capture> capture = end_capture();
  auto graph = std::make_unique<Graph>();
  if (const int code = graph->make(function, *team, std::move(capture->recording), capture->refusal)) return code;
  *result = reinterpret_cast<shmemx_graph_t>(keep(std::move(graph)));
  return 0;
}

// A node with a number of its own.
int mark(const char* function, What what, std::set<int> Capture::*used, int number) {
  require_init(function);
  Capture* const capture = current();
  if (!capture) return refused(SHMEMX_ERR_STATE, function, "this thread does not capture; call shmemx_graph_begin first");
  if (number < 0 || number >= kMostGates) return refused(SHMEMX_ERR_ARG, function, "the number is not between 0 and 1023");
  if (!(capture->*used).insert(number).second) return refused(SHMEMX_ERR_ARG, function, "the number is in use in this graph");
  Node node;
  node.what = what;
  node.number = number;
  if (what == What::gated) capture->block(std::move(node));
  else capture->recording.add(std::move(node));
  return 0;
}

// Null: `code` says what to answer.
Graph* graph_of(const char* function, shmemx_graph_t handle, const void* place, int& code) {
  require_init(function);
  code = 0;
  Graph* const graph = find(handle);
  if (!graph) code = refused(SHMEMX_ERR_ARG, function, "there is no such graph");
  else if (!place) code = refused(SHMEMX_ERR_ARG, function, "the place of the answer is NULL");
  return code == 0 ? graph : nullptr;
}

}  // namespace
}  // namespace portunus::shmem::graph

using namespace portunus::shmem;

SHMEMI_DEFINE_BARE(int, shmemx_graph_begin, (shmem_team_t team)) try { return graph::begin("shmemx_graph_begin", team); }
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_end, (shmem_team_t team, shmemx_graph_t* graph)) try {
  return graph::end("shmemx_graph_end", team, graph);
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_gate, (int number)) try {
  return graph::mark("shmemx_graph_gate", graph::What::gated, &graph::Capture::gates, number);
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_signal, (int number)) try {
  return graph::mark("shmemx_graph_signal", graph::What::signal, &graph::Capture::signals, number);
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_start, (shmemx_graph_t handle, shmemx_req_t* request)) try {
  if (request) *request = SHMEMX_REQ_INVALID;
  int code;
  graph::Graph* const found = graph::graph_of("shmemx_graph_start", handle, request, code);
  return found ? found->start("shmemx_graph_start", request) : code;
} catch (const std::bad_alloc&) {
  return graph::refused(SHMEMX_ERR_MEMORY, "shmemx_graph_start", graph::kNoMemory);
}

SHMEMI_DEFINE_BARE(int, shmemx_graph_open, (shmemx_graph_t handle, int number)) try {
  int code;
  graph::Graph* const found = graph::graph_of("shmemx_graph_open", handle, handle, code);
  return found ? found->open("shmemx_graph_open", number) : code;
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_passed, (shmemx_graph_t handle, int number, int* flag)) try {
  int code;
  graph::Graph* const found = graph::graph_of("shmemx_graph_passed", handle, flag, code);
  return found ? found->passed("shmemx_graph_passed", number, flag) : code;
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_export, (shmemx_graph_t handle, const char* path)) try {
  int code;
  graph::Graph* const found = graph::graph_of("shmemx_graph_export", handle, path, code);
  return found ? found->write("shmemx_graph_export", path) : code;
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_graph_free, (shmemx_graph_t * handle)) try {
  static constexpr char kName[] = "shmemx_graph_free";
  require_init(kName);
  if (!handle) return graph::refused(SHMEMX_ERR_ARG, kName, "the place of the graph is NULL");
  int code;
  graph::Graph* const found = graph::graph_of(kName, *handle, handle, code);
  if (!found) return code;
  if (found->still_runs()) return graph::refused(SHMEMX_ERR_STATE, kName, "the graph runs; wait for its request first");
  graph::free_graph(found);
  *handle = SHMEMX_GRAPH_INVALID;
  return 0;
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(const char*, shmemx_graph_explain, (void)) try { return graph::last_sentence(); }
SHMEMI_BARRIER
