// calls.cpp: the calls MPIX_Graph_*.
// Thread: any.
#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/build.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/graph/capture_state.hpp"
#include "mpi-adi/graph/graph.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi::graph {
namespace {

int begin(const char* function, MPI_Comm handle, MPI_Info info) {
  Communicator* comm;
  if (int error = check(function, handle, comm, {})) return error;
  if (int error = check_info(function, comm, info)) return error;
  if (comm->inter) return raise(function, comm, MPI_ERR_COMM, "graphs of intercommunicators cannot be captured; merge it first");
  if (comm->is_revoked()) return raise_revoked(function, *comm);
  if (is_capturing()) return raise(function, comm, MPI_ERR_ARG, "this thread captures already; call MPIX_Graph_end first");
  if (comm->attention.load(std::memory_order_relaxed) & Communicator::kCaptured)
    return raise(function, comm, MPI_ERR_ARG, "another thread captures this communicator");
  begin_capture(*comm);
  return MPI_SUCCESS;
}

int end(const char* function, MPI_Comm handle, MPIX_Graph* result) {
  Communicator* comm;
  if (int error = check(function, handle, comm, {result})) return error;
  *result = MPIX_GRAPH_NULL;
  if (!is_captured_here(*comm))
    return raise(function, comm, MPI_ERR_ARG, "this thread does not capture the communicator; call MPIX_Graph_begin first");
  const std::unique_ptr<Capture> capture = end_capture();
  Graph* const graph = make_graph();
  if (graph == nullptr) return decline(*comm, raise(function, comm, MPI_ERR_NO_MEM, "too many graphs are in use; free some first"));
  if (int error = graph->make(function, *comm, std::move(capture->recording), capture->refusal)) {
    free_graph(graph);
    return error;
  }
  *result = reinterpret_cast<MPIX_Graph>(graph);
  return MPI_SUCCESS;
}

int check_graph(const char* function, MPIX_Graph handle, const void* result, Graph*& graph) {
  if (int error = check_running(function)) return error;
  graph = find(handle);
  if (graph == nullptr) return raise(function, nullptr, MPI_ERR_ARG, "%p is no graph", static_cast<void*>(handle));
  return result ? MPI_SUCCESS : raise(function, graph->comm, MPI_ERR_ARG, "an address is null");
}

// A node with a number of its own.
int mark(const char* function, What what, std::set<int> Capture::*used, int number) {
  if (int error = check_running(function)) return error;
  Capture* const capture = current();
  if (capture == nullptr) return raise(function, nullptr, MPI_ERR_ARG, "this thread does not capture; call MPIX_Graph_begin first");
  if (number < 0 || number >= kMostGates)
    return raise(function, &capture->comm, MPI_ERR_ARG, "the number %d is not between 0 and %d", number, kMostGates - 1);
  if (!(capture->*used).insert(number).second)
    return raise(function, &capture->comm, MPI_ERR_ARG, "the number %d is in use in this graph", number);
  Node node{.what = what, .number = number};
  const NodeId id = capture->recording.add(std::move(node));
  if (what == What::gated) capture->recording.wait_for({&id, 1});
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi::graph

using namespace portunus::mpi;
using portunus::mpi::graph::Graph;

extern "C" int PMPIX_Graph_begin(MPI_Comm comm, MPI_Info info) try { return graph::begin("MPIX_Graph_begin", comm, info); }
MPIX_WEAK_NAME(Graph_begin)

extern "C" int PMPIX_Graph_end(MPI_Comm comm, MPIX_Graph* graph) try { return graph::end("MPIX_Graph_end", comm, graph); }
MPIX_WEAK_NAME(Graph_end)

extern "C" int PMPIX_Graph_gate(int number) try {
  return graph::mark("MPIX_Graph_gate", graph::What::gated, &graph::Capture::gates, number);
}
MPIX_WEAK_NAME(Graph_gate)

extern "C" int PMPIX_Graph_signal(int signal) try {
  return graph::mark("MPIX_Graph_signal", graph::What::signal, &graph::Capture::signals, signal);
}
MPIX_WEAK_NAME(Graph_signal)

extern "C" int PMPIX_Graph_start(MPIX_Graph graph, MPI_Request* request) try {
  static constexpr char kName[] = "MPIX_Graph_start";
  Graph* found;
  if (int error = graph::check_graph(kName, graph, request, found)) return error;
  tool::emit(tool::Event::graph_starts);
  return found->begin_run(kName, request);
}
MPIX_WEAK_NAME(Graph_start)

extern "C" int PMPIX_Graph_open(MPIX_Graph graph, int number) try {
  static constexpr char kName[] = "MPIX_Graph_open";
  Graph* found;
  if (int error = graph::check_graph(kName, graph, graph, found)) return error;
  return found->open(kName, number);
}
MPIX_WEAK_NAME(Graph_open)

extern "C" int PMPIX_Graph_passed(MPIX_Graph graph, int signal, int* flag) try {
  static constexpr char kName[] = "MPIX_Graph_passed";
  Graph* found;
  if (int error = graph::check_graph(kName, graph, flag, found)) return error;
  return found->passed(kName, signal, flag);
}
MPIX_WEAK_NAME(Graph_passed)

extern "C" int PMPIX_Graph_export(MPIX_Graph graph, const char* path) try {
  static constexpr char kName[] = "MPIX_Graph_export";
  Graph* found;
  if (int error = graph::check_graph(kName, graph, path, found)) return error;
  return found->write(kName, path);
}
MPIX_WEAK_NAME(Graph_export)

extern "C" int PMPIX_Graph_capturing(int* flag) try {
  static constexpr char kName[] = "MPIX_Graph_capturing";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {flag})) return error;
  *flag = graph::is_capturing();
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Graph_capturing)

extern "C" int PMPIX_Graph_free(MPIX_Graph* graph) try {
  static constexpr char kName[] = "MPIX_Graph_free";
  if (int error = check_results(kName, nullptr, {graph})) return error;
  Graph* found;
  if (int error = graph::check_graph(kName, *graph, graph, found)) return error;
  if (found->still_runs()) return raise(kName, found->comm, MPI_ERR_REQUEST, "the graph runs; complete its request first");
  graph::free_graph(found);
  *graph = MPIX_GRAPH_NULL;
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Graph_free)
