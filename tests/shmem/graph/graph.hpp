// graph.hpp: capturing and running graphs in tests; all PEs of the team together.
#pragma once

#include <gtest/gtest.h>
#include <shmemx.h>

#include "tests/shmem/pe.hpp"

namespace graph_test {

template <class Body>
shmemx_graph_t capture(Body&& body, shmem_team_t team = SHMEM_TEAM_WORLD) {
  shmemx_graph_t graph = SHMEMX_GRAPH_INVALID;
  EXPECT_EQ(shmemx_graph_begin(team), 0);
  body();
  EXPECT_EQ(shmemx_graph_end(team, &graph), 0) << shmemx_graph_explain();
  return graph;
}

inline shmemx_req_t start(shmemx_graph_t graph) {
  shmemx_req_t request = SHMEMX_REQ_INVALID;
  EXPECT_EQ(shmemx_graph_start(graph, &request), 0) << shmemx_graph_explain();
  return request;
}

inline void run(shmemx_graph_t graph) {
  shmemx_req_t request = start(graph);
  EXPECT_EQ(shmemx_req_wait(&request), 0) << shmemx_graph_explain();
}

inline void end(shmemx_graph_t& graph) {
  EXPECT_EQ(shmemx_graph_free(&graph), 0) << shmemx_graph_explain();
  EXPECT_EQ(graph, SHMEMX_GRAPH_INVALID);
  shmem_barrier_all();
}

}  // namespace graph_test
