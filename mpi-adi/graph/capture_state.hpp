// capture_state.hpp: what a thread that captures has recorded so far.
//
// Thread: the one that captures.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/graph/recording.hpp"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi::graph {

using Ends = std::vector<NodeId>;

// Requests of captures are these objects' addresses, which later captures use again: languages that number handles have no more of them
// than there were at once.
struct GiveBack {
  void operator()(Ends* ends) const;
};
using KeptEnds = std::unique_ptr<Ends, GiveBack>;
KeptEnds keep(Ends ends);

// An access that no flush has waited for, or an accumulate that others may have to wait for.
struct PendingAccess {
  AccessedRank target;
  NodeId end;
  int64_t begin = 0, bound = 0;  // bytes of the target
  bool accumulates = false;
};

struct Capture {
  explicit Capture(Communicator& captured);
  // A thread that ends gives its capture up, so that others can capture the communicator.
  ~Capture() { end(); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  // Calls are executed from now on, and requests that it has started are inactive.
  void end();

  // The end of a call that has recorded: a request, or an edge. An error class.
  int finish(int error, Ends ends, MPI_Request* handle);

  Communicator& comm;
  Recording recording;
  std::map<MPI_Request, KeptEnds> handles;  // a handle is the address of its ends
  std::vector<PendingAccess> accesses;
  std::set<Request*> started;  // persistent requests that were not waited for
  std::set<int> gates, signals;
  std::string refusal;  // what makes it void

 private:
  bool has_ended_ = false;
};

// This thread's; nullptr: none.
Capture* current();
// Begins one, and ends it: requests of it are no more.
void begin_capture(Communicator& comm);
std::unique_ptr<Capture> end_capture();

}  // namespace portunus::mpi::graph
