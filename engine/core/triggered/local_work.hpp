// local_work.hpp: one local operation of the engine on vectors (E3), worked off piece by piece.
//
// Each operand is contiguous or a list of pieces; elements that lie in two pieces are brought together. Element i is
// computed from elements i alone, in the arithmetic of the host's type, whatever the pieces and segments: integer results
// wrap around as unsigned ones do, floating-point results are those of one IEEE 754 operation each, so no order of
// evaluation shows in them.
//
// Thread: the baton holder. Pieces and memory stay the caller's until the operation is reported.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/shared/command.hpp"

namespace portunus {

class LocalWork {
 public:
  enum class Outcome { more, done, failed };  // failed: an integer was divided by zero

  explicit LocalWork(const Command& command);
  // Works on until it ends or `budget` bytes of the destination are written; takes what it used from the budget.
  Outcome run(uint64_t& budget);

  uint32_t completion() const { return completion_; }  // the counter that it reports to
  uint32_t ni() const { return ni_; }

 private:
  // The bytes of one operand that are still to come.
  struct Cursor {
    std::byte* at = nullptr;
    uint64_t here = 0;                  // contiguous bytes from `at` on
    const ptl_iovec_t* next = nullptr;  // and then these
    uint64_t pieces = 0;

    void open(void* base, uint64_t count, uint64_t bytes);
    void advance(uint64_t bytes);
    void gather(std::byte* to, uint64_t bytes) const;
    void scatter(const std::byte* from, uint64_t bytes) const;
  };
  bool one_element();

  Cursor dst_, a_, b_;
  uint64_t left_;   // elements
  uint32_t width_;  // bytes of one
  uint32_t completion_;
  ptlx_local_op_t op_;
  uint8_t datatype_;
  uint8_t ni_;
};

}  // namespace portunus
