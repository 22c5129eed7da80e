// graph.hpp: graphs: what a capture has become, which is started as often as one likes.
//
// A graph has a communicator of its own, which no program can name: its messages have a context there, and its error handler is that of the
// communicator that was captured.
//
// Thread: one at a time per graph; open() and passed() any, while it runs; released() any, also one of the library. Invariants: `request_`
// exists exactly from begin_run() until its user has completed it, or, if it was freed, until the run has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/goal/goal_call.h"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/graph/build.hpp"
#include "mpi-adi/graph/recording.hpp"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi::graph {

class Graph final : public Attachment {
 public:
  Graph() = default;
  ~Graph() override;

  // Collective: compares what the ranks have recorded, and compiles it. `refusal`: this rank's capture is void. An error class, raised.
  int make(const char* function, Communicator& origin, Recording&& recorded, const std::string& refusal);
  int begin_run(const char* function, MPI_Request* request);
  int open(const char* function, int number);
  int passed(const char* function, int signal, int* flag);
  int write(const char* function, const char* path);
  bool running() const { return request_.load(std::memory_order_acquire) != nullptr; }
  // As running(), after a look whether a run whose request was freed has ended.
  bool still_runs() const;
  // Whether this rank, or any, accesses the window in a run.
  bool accesses(const rma::Window& window) const;
  bool has(const rma::Window& window) const;
  // The window is freed: the graph runs no more.
  void lose(const rma::Window& window);

  // The communicator that was captured, while it lives.
  Communicator* origin = nullptr;
  Communicator* comm = nullptr;
  GOAL_Domain domain = nullptr;

  // The request of a run has these.
  int query(Request& request, MPI_Status* status) override;
  const char* complaint() const override;
  int cancel(Request& request) override;
  void released() override;

 private:
  unsigned context_of_goal() const;
  int build_schedule(bool meets);
  int prepare();
  int compile();
  int agree(int code, std::string& sentence) const;
  // Ends the run that has ended: a code of GOAL.
  int end_run();
  void find_cause();  // of a failure
  int check_epochs(const char* function) const;
  std::string text();
  int raise_own(const char* function, int code, const char* sentence) const;

  Recording recording_;
  Agreement agreement_;
  GOAL_Group group_{};
  GOAL_Team team_ = nullptr;
  GOAL_Schedule schedule_ = nullptr;
  GOAL_Started started_ = nullptr;
  std::map<int, GraphGate> gates_;
  std::map<int, uint64_t> signals_;  // when each was passed in this run; 0: not yet
  std::atomic<Request*> request_{nullptr};
  int failed_ = MPI_SUCCESS;
  enum class Ended : uint8_t { well, cut } ended_ = Ended::well;
  bool is_taken_ = true;  // the end of the last run
};

// nullptr: the handle is no graph.
Graph* find(const void* handle);
Graph* make_graph();
void free_graph(Graph* graph);

// Compares the recordings of all ranks of `comm`, the graph's own, and notes in each receive which message comes. MPI_SUCCESS; an error
// class, which `sentence` explains, on every rank that finds it.
int compare(Communicator& comm, Recording& recording, const std::string& refusal, Agreement& agreement, std::string& sentence);

// Fails the runs of all graphs of a communicator that is revoked.
void revoke(const Communicator& origin);
// The communicator is freed; its graphs live on.
void forget_origin(const Communicator& origin);
// Frees all that are left.
void close();

}  // namespace portunus::mpi::graph
