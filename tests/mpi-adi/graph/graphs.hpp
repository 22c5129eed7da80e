// graphs.hpp: what the tests of graphs share.
#pragma once

#include <mpi-ext.h>

#include <functional>

#include "../ranks.hpp"

// Captures what `calls` does on MPI_COMM_WORLD.
inline MPIX_Graph capture(const std::function<void()>& calls) {
  MPIX_Graph graph = MPIX_GRAPH_NULL;
  EXPECT_EQ(MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL), MPI_SUCCESS);
  calls();
  EXPECT_EQ(MPIX_Graph_end(MPI_COMM_WORLD, &graph), MPI_SUCCESS);
  return graph;
}
inline MPI_Request start(MPIX_Graph graph) {
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPIX_Graph_start(graph, &request), MPI_SUCCESS);
  return request;
}
inline void run(MPIX_Graph graph) {
  MPI_Request request = start(graph);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}
inline void wait(MPI_Request request) { EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS); }

// Errors come back while it lives.
class Returning {
 public:
  Returning() { set(MPI_ERRORS_RETURN); }
  ~Returning() { set(MPI_ERRORS_ARE_FATAL); }
  Returning(const Returning&) = delete;
  Returning& operator=(const Returning&) = delete;

 private:
  static void set(MPI_Errhandler handler) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  }
};
