// graph.hpp: graphs: what a capture has become, which is started as often as one likes.
//
// A graph has a context of GOAL's and a domain of its own: its messages are told from all others, and the death of a PE of its team fails
// its run on all of them. It outlives its team, but for being written.
//
// Thread: one at a time per graph; open() and passed() any, while it runs. The end of a run is found by any thread of the process that
// waits. Invariant: once running() is false no thread of the library touches the graph.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/goal/goal_call.h"
#include "shmem/graph/agreement.hpp"
#include "shmem/graph/build.hpp"
#include "shmem/graph/recording.hpp"
#include "shmem/nonblocking/request.hpp"
#include "shmem/team.hpp"

namespace portunus::shmem::graph {

class Graph final : public Run {
 public:
  Graph() = default;
  ~Graph() override;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Collective. All functions answer 0 or a code of shmemx.h, and explain it.
  int make(const char* function, Team& from, Recording&& recorded, const std::string& refusal);
  int start(const char* function, shmemx_req_t* request);
  int open(const char* function, int number);
  int passed(const char* function, int number, int* flag);
  // Collective over the team.
  int write(const char* function, const char* path);
  bool running() const { return running_.load(std::memory_order_acquire); }
  // As running(), after a look whether the run has ended.
  bool still_runs() const;

  // Null once it is destroyed.
  Team* team = nullptr;

  // As Run has them.
  int begin(Request& request) override;
  int finish(const char* function) override;
  uint64_t progress() const override { return Access::done_by_memory.load(std::memory_order_relaxed); }

 private:
  unsigned context() const;
  int build_schedule();
  int prepare();
  int compile();
  int take_end();
  std::string cause() const;
  static void ended(void* graph);

  Recording recording_;
  Agreement agreement_;
  std::vector<int> ranks_, nodes_;
  GOAL_Group group_{};
  Members members_{0, 1, 1};
  GOAL_Domain domain_ = nullptr;
  GOAL_Team goal_ = nullptr;
  GOAL_Schedule schedule_ = nullptr;
  GOAL_Started started_ = nullptr;
  std::map<int, GraphGate> gates_;
  std::map<int, uint64_t> signals_;  // when each was passed in this run; 0: not yet
  Request* request_ = nullptr;       // of the run
  std::atomic<bool> running_{false};
  bool is_taken_ = true;  // the end of the last run
  bool failed_ = false;
};

// Null: the handle is no graph.
Graph* find(const void* handle);
// The graph is in use from now on.
Graph* keep(std::unique_ptr<Graph> graph);
void free_graph(Graph* graph);
// The team is destroyed; its graphs live on.
void forget_team(const Team& team);
// Frees all that are left, of which none runs.
void close();

}  // namespace portunus::shmem::graph
