// Runs a compiled schedule on a Portals interface: load once, then for each execution (epoch) arm, start and wait.
//
// Between start() and the end of wait() the calling thread need not do anything: what follows what is in the engine's
// hands. An epoch arms everything anew with thresholds that grow, so counters are never reset. Two ranks may be one
// epoch or more apart: messages for entries that are not appended yet are kept by the port and told apart by the epoch
// in their match bits. It is kept modulo 256, so no rank may run more than 255 epochs ahead of one that it sends to.
//
// **Thread:** one at a time per object.
// **Invariants:** after epoch E ended without a failure every counter is E * K, and no entry or trigger is left.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/goal/compile.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::goal {

// Where the messages of compiled schedules arrive. All ranks open theirs under the same index before any of them starts
// a program. The interface is a matching and logical one with its map set.
class Port {
 public:
  Port() = default;
  ~Port() { close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  int open(ptl_handle_ni_t ni, ptl_pt_index_t index);  // PTL_* codes
  void close();
  [[nodiscard]] ptl_handle_ni_t ni() const { return ni_; }
  [[nodiscard]] ptl_pt_index_t index() const { return index_; }

 private:
  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  ptl_pt_index_t index_ = 0;
  ptl_handle_me_t keeper_ = PTL_INVALID_HANDLE;
};

// What a vertex works on. Sends and receives use `memory` alone; local work all of it.
struct Binding {
  void* memory = nullptr;  // source of a send, else the destination
  const void* a = nullptr;
  const void* b = nullptr;
  std::uint64_t count = 0;  // elements
  ptlx_local_op_t op = PTLX_DELAY;  // of the duration that the vertex has
  ptl_datatype_t type = PTL_UINT8_T;
};

class LoadedProgram {
 public:
  // One binding per vertex. The port must outlive this object.
  LoadedProgram(const Port& port, Program program, std::vector<Binding> bindings);
  ~LoadedProgram() { unload(); }
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  // Claims counters and descriptors. Returns PTL_OK or the code of what failed.
  int load();
  // Parks the operations of the next epoch; nothing moves. start() does so if it was not called before.
  // Cost: linear in the triggered operations.
  int arm();
  // Appends the early entries and increments kStart. From here to the end of wait() the memory is the engine's.
  // Cost: linear in the early entries.
  int start();
  // PTL_OK: ended; PTL_FAIL: ended, but a message or operation failed, and the program cannot be used again.
  int wait();
  int test(bool& ended);
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }  // the current one, or the next
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  void unload();
  [[nodiscard]] std::uint64_t threshold(Point point) const;
  [[nodiscard]] std::uint64_t goal() const;
  [[nodiscard]] ptl_me_t entry(const Operation& operation) const;
  int arm(const Operation& operation);
  int append_early();
  int finish_epoch();

  const Port& port_;
  Program program_;
  std::vector<Binding> bindings_;
  std::vector<ptl_handle_ct_t> counters_;
  std::vector<ptl_handle_md_t> descriptors_;  // by counter: all memory, counting sends there
  std::vector<ptl_handle_me_t> entries_;      // of the current epoch
  std::uint64_t epoch_ = 0;
  bool armed_ = false;
  bool running_ = false;
};

}  // namespace portunus::goal
