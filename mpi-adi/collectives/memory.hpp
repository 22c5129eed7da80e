// memory.hpp: the memory that a schedule works on: the user's where it can be, or one of its own.
//
// Thread: one at a time per object. Invariants: unless all of it is its own it is bound to works on the same memory.
#pragma once

#include <memory>

#include "mpi-adi/collectives/work.hpp"

namespace portunus::mpi::collectives {

class Memory {
 public:
  enum class Whose : uint8_t { users, own };

  Memory(const Work& work, Whose whose) : own_(whose == Whose::own), ways_(ways_of(work)) {
    if (own_ || !work.out_is_direct) out_.reset(new std::byte[work.out_bytes + 1]);
    if (!work.in_is_out && (own_ || !work.input_is_direct())) in_.reset(new std::byte[work.in_bytes + 1]);
  }
  // May a work of the shape of the first one run on it?
  bool fits(const Work& work) const { return own_ || ways_ == ways_of(work); }
  // What a schedule is built on. Memory of its own are its arguments, so that copies of the schedule can have others.
  GOAL_Buffer in(const Work& work) const {
    if (work.in_is_out) return out(work);
    if (own_) return GOAL_Arg(0, 0);
    if (in_) return GOAL_User(in_.get());
    return work.in_place ? GOAL_InPlace() : GOAL_User(work.user_in);
  }
  GOAL_Buffer out(const Work& work) const { return own_ ? GOAL_Arg(1, 0) : GOAL_User(out_ ? out_.get() : work.user_out); }
  int bind(GOAL_Schedule schedule, const Work& work) const {
    if (!own_) return GOAL_SUCCESS;
    const int code = GOAL_Bind(schedule, 0, in_.get(), work.in_bytes);
    return code == GOAL_SUCCESS ? GOAL_Bind(schedule, 1, out_.get(), work.out_bytes) : code;
  }

  void fill(const Work& work) const {
    if (std::byte* packed = work.in_is_out ? out_.get() : in_.get()) work.fill(packed);
  }
  void drain(const Work& work) const { work.drain(out_ ? out_.get() : work.user_out); }

 private:
  // How data goes in and comes out: null where it is packed.
  struct Ways {
    const std::byte *in, *out;
    size_t in_bytes, out_bytes;
    bool in_place, in_is_out;
    bool operator==(const Ways&) const = default;
  };
  static Ways ways_of(const Work& work) {
    return {work.input_is_direct() ? work.user_in : nullptr,
            work.out_is_direct ? work.user_out : nullptr,
            work.in_bytes,
            work.out_bytes,
            work.in_place,
            work.in_is_out};
  }

  bool own_;
  Ways ways_;
  std::unique_ptr<std::byte[]> in_, out_;
};

}  // namespace portunus::mpi::collectives
