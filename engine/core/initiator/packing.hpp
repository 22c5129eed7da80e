// packing.hpp: the initiator's half of Way::staged: copying data into memory that both ends map, as
// there is room, while the target takes them out.
//
// Thread: the baton holder. Callers: Initiator alone.
// Invariants: the header has gone before the first byte is copied; the source is free when all of it is there. advance()
// reports nothing: it returns the operations whose data are all there.
#pragma once

#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/initiator/operation.hpp"

namespace portunus {

class Packing {
 public:
  explicit Packing(Core& core) : core_(core) {}

  // The facts of a command for the table of ways: whether staging may be had for it.
  static uint16_t facts(const Command& command);
  // Opens staging for the data; operation.exposed.region then tells the target of it. False: there is none now.
  static bool open(Operation& operation);
  // The target knows of it: the first part is copied. True: all of it already.
  bool begin(Operation& operation);
  // As much as there is room for, a bounded amount per step. Appends what is complete to `packed`; returns how many made
  // progress.
  int advance(std::vector<Operation*>& packed);
  // The operation ends, complete or not.
  void end(Operation& operation);
  // The operations of this interface that are not complete.
  std::vector<Operation*> unfinished(uint32_t ni) const;

  bool empty() const { return operations_.empty(); }
  // Whether there is room to go on, now. Asked before sleeping: the target notifies whoever waits for room.
  bool has_room() const;

 private:
  bool pack(Operation& operation, uint64_t& budget);

  Core& core_;
  std::vector<Operation*> operations_;
};

}  // namespace portunus
