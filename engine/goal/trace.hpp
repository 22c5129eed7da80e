// The trace that PTL_TRACE asks for: when each vertex of each execution began and ended, as a file for Perfetto or chrome://tracing.
//
// The engine takes the times itself, by its timing operation (E3): one parked before what begins a vertex, one on the counter
// that its end increments. For that each vertex needs an end of its own (with_own_ends), so a traced program has up to
// two operations and one counter more per vertex, and each step of a chain is a hop longer. Without PTL_TRACE nothing of this
// exists, and starting and ending an execution cost a null pointer's test more.
//
// In the file, a rank is a process; of its threads, 0 is the application between start and the end of its wait, and the others are
// as many lanes for each program as vertices overlap. Receives begin when they are posted. Arrows join messages of the
// files of several ranks. The clock is CLOCK_MONOTONIC, in microseconds, so ranks of one node fit together.
//
// Thread: one at a time; the stamps between start and end of an execution are the engine's.
// Source: the profiling operation of ESPGOAL (Euro-Par 2011, section 3); Chrome's trace event format.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/goal/schedules/compile.hpp"
#include "portals/portals4_ext.h"

namespace portunus::goal {

struct Binding;

// The same program with each operation of a vertex counting on a counter with K = 1, from which others are incremented.
[[nodiscard]] Program with_own_ends(Program program);

// Nanoseconds of CLOCK_MONOTONIC; 0: not in this execution.
struct Stamp {
  uint64_t begin = 0, end = 0;
};

// The facts about the vertices of one program before it runs.
struct TracedProgram {
  struct Entry {
    std::string name, label, flow;  // flow: what names the message on both sides, without the epoch; none of any source
    const char* category = "";      // nothing: no operation
    uint64_t bytes = 0;
    uint32_t peer = 0;
  };
  uint32_t rank = 0;
  uint16_t context = 0;
  std::vector<Entry> vertices;
};

// The file of one process.
class Trace {
 public:
  // That of PTL_TRACE; nullptr if it is not set.
  static Trace* of_process();
  // `path` gets the rank before its suffix: trace.json of rank 3 is trace.3.json.
  explicit Trace(std::string path) : path_(std::move(path)) {}
  ~Trace() { write(); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  struct Execution {
    std::shared_ptr<const TracedProgram> program;
    uint64_t epoch = 0, begin = 0, end = 0;
    bool failed = false;
    std::vector<Stamp> stamps;
    ptlx_engine_info_t engine{};  // what it has counted so far
  };
  // Keeps kMostStamps vertices in all; later executions are only counted.
  void add(Execution execution);
  // Everything so far; what cannot be written is said on stderr, once.
  void write();

 private:
  static constexpr size_t kMostStamps = size_t{1} << 21;

  std::string path_;
  std::vector<Execution> executions_;
  size_t stamps_ = 0;
  uint64_t left_out_ = 0;
  bool written_ = true;
};

// One loaded program, as its trace sees it.
class ProgramTrace {
 public:
  ProgramTrace(Trace& trace, const Program& program, std::span<const Binding> bindings, uint32_t rank);

  // Names for those vertices that have labels.
  void label_by(const Schedule& schedule);
  [[nodiscard]] Stamp& stamp(VertexId v) { return stamps_[v]; }
  void begin();
  void end(uint64_t epoch, bool failed);

 private:
  Trace& trace_;
  std::shared_ptr<TracedProgram> program_;
  std::vector<Stamp> stamps_;
  uint64_t begin_ = 0;
};

}  // namespace portunus::goal
