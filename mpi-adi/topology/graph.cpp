// graph.cpp: topologies that name their neighbours: graphs that all ranks know, and distributed ones.
// Thread: as communicators. Source: MPI-5.0, 8.5.3 - 8.5.5.
#include <algorithm>
#include <array>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/topology/topology_create.hpp"

namespace portunus::mpi {

int check_parent(const char* function, MPI_Comm handle, Communicator*& comm, MPI_Comm* result) {
  if (int error = check(function, handle, comm, {result})) return error;
  *result = MPI_COMM_NULL;
  return comm->inter ? raise(function, comm, MPI_ERR_COMM, "this is an intercommunicator") : MPI_SUCCESS;
}

int find_topology(const char* function, MPI_Comm handle, int kind, Communicator*& comm) {
  if (int error = check(function, handle, comm, {})) return error;
  if (comm->topology && comm->topology->kind == kind) return MPI_SUCCESS;
  const char* what = kind == MPI_CART ? "a Cartesian" : kind == MPI_GRAPH ? "a graph" : "a distributed graph";
  return raise(function, comm, MPI_ERR_TOPOLOGY, "the communicator does not have %s topology", what);
}

int create_with_topology(Communicator& old, int color, int key, std::shared_ptr<const Topology> topology, MPI_Comm* result) {
  if (int error = PMPI_Comm_split(handle_of(&old), color, key, result)) return error;
  if (*result != MPI_COMM_NULL) find_communicator(*result)->topology = std::move(topology);
  return MPI_SUCCESS;
}

namespace {

// The neighbours of a rank: edges[index[rank - 1]] up to edges[index[rank]].
std::vector<int> neighbours_of(const Topology& graph, int rank) {
  const size_t place = static_cast<size_t>(rank);
  return {graph.edges.begin() + (rank > 0 ? graph.index[place - 1] : 0), graph.edges.begin() + graph.index[place]};
}

int check_graph(const char* function, const Communicator& comm, int nnodes, const int index[], const int edges[]) {
  if (nnodes < 0 || nnodes > comm.size) return raise(function, &comm, MPI_ERR_ARG, "a graph of %d nodes over %d ranks", nnodes, comm.size);
  if (nnodes > 0)
    if (int error = check_results(function, &comm, {index})) return error;
  for (int i = 0, before = 0; i < nnodes; before = index[i++])
    if (index[i] < before) return raise(function, &comm, MPI_ERR_ARG, "the index decreases at node %d", i);
  const int count = nnodes > 0 ? index[nnodes - 1] : 0;
  if (count > 0)
    if (int error = check_results(function, &comm, {edges})) return error;
  for (int i = 0; i < count; ++i)
    if (edges[i] < 0 || edges[i] >= nnodes)
      return raise(function, &comm, MPI_ERR_ARG, "edge %d leads to %d, which is no node", i, edges[i]);
  return MPI_SUCCESS;
}

int check_ranks(const char* function, const Communicator& comm, int count, const int ranks[]) {
  if (count < 0) return raise(function, &comm, MPI_ERR_ARG, "the number of edges is negative (%d)", count);
  if (count > 0)
    if (int error = check_results(function, &comm, {ranks})) return error;
  for (int i = 0; i < count; ++i)
    if ((ranks[i] < 0 || ranks[i] >= comm.size) && ranks[i] != MPI_PROC_NULL)
      return raise(function, &comm, MPI_ERR_RANK, "there is no rank %d among %d", ranks[i], comm.size);
  return MPI_SUCCESS;
}

bool has_weights(const int weights[]) { return weights != MPI_UNWEIGHTED; }
// MPI_WEIGHTS_EMPTY stands for an array of none.
std::vector<int> weights_of(const int weights[], int count) {
  return has_weights(weights) && weights != MPI_WEIGHTS_EMPTY ? std::vector<int>(weights, weights + count)
                                                              : std::vector<int>(static_cast<size_t>(count), 1);
}

using Edge = std::array<int, 3>;  // from, to, weight

// Everybody's edges, for all; the numbers of edges differ.
int gather_edges(Communicator& comm, const std::vector<Edge>& own, std::vector<Edge>& all) {
  const Exchange everybody(comm);
  std::vector<int> counts(static_cast<size_t>(comm.size));
  counts[static_cast<size_t>(comm.rank)] = static_cast<int>(own.size());
  if (int error = everybody.allgather(counts.data(), sizeof(int))) return error;
  const size_t most = static_cast<size_t>(*std::max_element(counts.begin(), counts.end()));
  std::vector<Edge> padded(most * counts.size());
  std::copy(own.begin(), own.end(), padded.begin() + static_cast<ptrdiff_t>(most) * comm.rank);
  if (int error = everybody.allgather(padded.data(), most * sizeof(Edge))) return error;
  for (size_t i = 0; i < counts.size(); ++i)
    for (size_t j = 0; j < static_cast<size_t>(counts[i]); ++j) all.push_back(padded[i * most + j]);
  return MPI_SUCCESS;
}

int check_edges(const char* function, const Communicator& comm, int n, const int sources[], const int degrees[], const int destinations[],
                MPI_Info info, int& count) {
  if (int error = check_info(function, &comm, info)) return error;
  if (int error = check_ranks(function, comm, n, sources)) return error;
  if (n > 0)
    if (int error = check_results(function, &comm, {degrees})) return error;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0) return raise(function, &comm, MPI_ERR_ARG, "the degree of edge list %d is negative", i);
    if (__builtin_add_overflow(count, degrees[i], &count)) return raise(function, &comm, MPI_ERR_ARG, "there are more than 2^31 edges");
  }
  return check_ranks(function, comm, count, destinations);
}

// As decline(), for who gathers edges.
int decline_edges(Communicator& comm, int code) {
  std::vector<int> counts(static_cast<size_t>(comm.size));
  Exchange(comm).allgather(counts.data(), sizeof(int), kFaultElsewhere);
  return code;
}

void copy_out(const std::vector<int>& from, int room, int to[]) {
  std::copy_n(from.begin(), std::min(static_cast<size_t>(std::max(room, 0)), from.size()), to);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Topo_test(MPI_Comm comm, int* status) try {
  Communicator* found;
  if (int error = check("MPI_Topo_test", comm, found, {status})) return error;
  *status = found->topology ? found->topology->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Topo_test)

extern "C" int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int, MPI_Comm* comm_graph) try {
  static constexpr char kName[] = "MPI_Graph_create";
  Communicator* old;
  if (int error = check_parent(kName, comm_old, old, comm_graph)) return error;
  if (int error = check_graph(kName, *old, nnodes, index, edges)) return decline_split(*old, error);
  auto graph = std::make_shared<Topology>();
  graph->kind = MPI_GRAPH;
  graph->index.assign(index, index + nnodes);
  graph->edges.assign(edges, edges + (nnodes > 0 ? index[nnodes - 1] : 0));
  const bool member = old->rank < nnodes;
  if (member) graph->sources = graph->destinations = neighbours_of(*graph, old->rank);
  return create_with_topology(*old, member ? 0 : MPI_UNDEFINED, old->rank, graph, comm_graph);
}
MPI_WEAK_NAME(Graph_create)

extern "C" int PMPI_Graphdims_get(MPI_Comm comm, int* nnodes, int* nedges) try {
  static constexpr char kName[] = "MPI_Graphdims_get";
  Communicator* found;
  if (int error = find_topology(kName, comm, MPI_GRAPH, found)) return error;
  if (int error = check_results(kName, found, {nnodes, nedges})) return error;
  *nnodes = static_cast<int>(found->topology->index.size());
  *nedges = static_cast<int>(found->topology->edges.size());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Graphdims_get)

extern "C" int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]) try {
  static constexpr char kName[] = "MPI_Graph_get";
  Communicator* found;
  if (int error = find_topology(kName, comm, MPI_GRAPH, found)) return error;
  copy_out(found->topology->index, maxindex, index);
  copy_out(found->topology->edges, maxedges, edges);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Graph_get)

extern "C" int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors) try {
  static constexpr char kName[] = "MPI_Graph_neighbors_count";
  Communicator* found;
  if (int error = find_topology(kName, comm, MPI_GRAPH, found)) return error;
  if (int error = check_results(kName, found, {nneighbors})) return error;
  if (rank < 0 || rank >= found->size) return raise(kName, found, MPI_ERR_RANK, "there is no rank %d among %d", rank, found->size);
  *nneighbors = static_cast<int>(neighbours_of(*found->topology, rank).size());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Graph_neighbors_count)

extern "C" int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) try {
  static constexpr char kName[] = "MPI_Graph_neighbors";
  Communicator* found;
  if (int error = find_topology(kName, comm, MPI_GRAPH, found)) return error;
  if (rank < 0 || rank >= found->size) return raise(kName, found, MPI_ERR_RANK, "there is no rank %d among %d", rank, found->size);
  copy_out(neighbours_of(*found->topology, rank), maxneighbors, neighbors);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Graph_neighbors)

// Ranks stay where they are: the launcher has placed them.
extern "C" int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank) try {
  static constexpr char kName[] = "MPI_Graph_map";
  Communicator* found;
  if (int error = check(kName, comm, found, {newrank})) return error;
  if (int error = check_graph(kName, *found, nnodes, index, edges)) return error;
  *newrank = found->rank < nnodes ? found->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Graph_map)

extern "C" int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                               int outdegree, const int destinations[], const int destweights[], MPI_Info info, int,
                                               MPI_Comm* comm_dist_graph) try {
  static constexpr char kName[] = "MPI_Dist_graph_create_adjacent";
  Communicator* old;
  if (int error = check_parent(kName, comm_old, old, comm_dist_graph)) return error;
  if (int error = check_info(kName, old, info)) return decline_split(*old, error);
  if (int error = check_ranks(kName, *old, indegree, sources)) return decline_split(*old, error);
  if (int error = check_ranks(kName, *old, outdegree, destinations)) return decline_split(*old, error);
  auto graph = std::make_shared<Topology>();
  graph->kind = MPI_DIST_GRAPH;
  graph->sources.assign(sources, sources + indegree);
  graph->destinations.assign(destinations, destinations + outdegree);
  graph->weighted = has_weights(sourceweights);
  graph->source_weights = weights_of(sourceweights, indegree);
  graph->destination_weights = weights_of(destweights, outdegree);
  return create_with_topology(*old, 0, old->rank, graph, comm_dist_graph);
}
MPI_WEAK_NAME(Dist_graph_create_adjacent)

extern "C" int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                                      const int weights[], MPI_Info info, int, MPI_Comm* comm_dist_graph) try {
  static constexpr char kName[] = "MPI_Dist_graph_create";
  Communicator* old;
  if (int error = check_parent(kName, comm_old, old, comm_dist_graph)) return error;
  int count = 0;
  if (int error = check_edges(kName, *old, n, sources, degrees, destinations, info, count)) return decline_edges(*old, error);
  const std::vector<int> all_weights = weights_of(weights, count);
  std::vector<Edge> own, all;
  for (int i = 0, edge = 0; i < n; ++i)
    for (int j = 0; j < degrees[i]; ++j, ++edge) own.push_back({sources[i], destinations[edge], all_weights[static_cast<size_t>(edge)]});
  if (int error = gather_edges(*old, own, all)) return raise_creation(kName, *old, error);
  auto graph = std::make_shared<Topology>();
  graph->kind = MPI_DIST_GRAPH;
  graph->weighted = has_weights(weights);
  for (const auto& [from, to, weight] : all) {
    if (to == old->rank) {
      graph->sources.push_back(from);
      graph->source_weights.push_back(weight);
    }
    if (from == old->rank) {
      graph->destinations.push_back(to);
      graph->destination_weights.push_back(weight);
    }
  }
  return create_with_topology(*old, 0, old->rank, graph, comm_dist_graph);
}
MPI_WEAK_NAME(Dist_graph_create)

extern "C" int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) try {
  static constexpr char kName[] = "MPI_Dist_graph_neighbors_count";
  Communicator* found;
  if (int error = find_topology(kName, comm, MPI_DIST_GRAPH, found)) return error;
  if (int error = check_results(kName, found, {indegree, outdegree, weighted})) return error;
  *indegree = static_cast<int>(found->topology->sources.size());
  *outdegree = static_cast<int>(found->topology->destinations.size());
  *weighted = found->topology->weighted;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Dist_graph_neighbors_count)

extern "C" int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                                         int destinations[], int destweights[]) try {
  static constexpr char kName[] = "MPI_Dist_graph_neighbors";
  Communicator* found;
  if (int error = find_topology(kName, comm, MPI_DIST_GRAPH, found)) return error;
  const Topology& graph = *found->topology;
  copy_out(graph.sources, maxindegree, sources);
  copy_out(graph.destinations, maxoutdegree, destinations);
  if (graph.weighted && has_weights(sourceweights)) copy_out(graph.source_weights, maxindegree, sourceweights);
  if (graph.weighted && has_weights(destweights)) copy_out(graph.destination_weights, maxoutdegree, destweights);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Dist_graph_neighbors)
