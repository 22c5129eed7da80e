// op.hpp: the operations of reductions and accumulations, predefined and the user's, and who carries them out.
//
// The engine combines integers, floating-point and complex numbers, and pairs of value and place. The rest is combined by the
// thread that calls MPI: the user's functions, pairs whose place is no int, products of complex long double.
// Thread: any; a user's operation lives while someone refers to it. Source: MPI-5.0, 6.9.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/goal/goal.h"
#include "mpi-adi/mpi.h"
#include "portals/portals4.h"

namespace portunus::mpi {

// A user's operation; MPI_Op is its address. One of the functions is there.
struct UserOp {
  MPI_User_function* function = nullptr;
  MPI_User_function_c* wide = nullptr;
  bool commutes = false;
  std::atomic<int> references{1};
};

inline bool is_predefined(MPI_Op op) {
  const auto value = reinterpret_cast<uintptr_t>(op);
  return value > reinterpret_cast<uintptr_t>(MPI_OP_NULL) && value <= reinterpret_cast<uintptr_t>(MPI_NO_OP);
}
// nullptr: not a user's operation.
UserOp* find_user_op(MPI_Op op);
void for_each_user_op(const std::function<void(const UserOp&)>& action);
// With one reference; MPI_OP_NULL: too many are in use. The caller sets the function.
MPI_Op make_user_op(UserOp*& made);
void release(UserOp* op);
bool commutes(MPI_Op op);

// An operation in use; keeps a user's from being freed.
class OpHold {
 public:
  explicit OpHold(MPI_Op op);
  ~OpHold();
  OpHold(const OpHold& other) : OpHold(other.op_) {}
  OpHold& operator=(const OpHold&) = delete;
  MPI_Op op() const { return op_; }

 private:
  MPI_Op op_;
};

// nullptr, or a sentence: may this operation be used with this type?
const char* refusal(MPI_Op op, MPI_Datatype type);

// inout[i] = in[i] op inout[i]. The arguments fit each other, op is not MPI_NO_OP.
void apply(MPI_Op op, const void* in, void* inout, size_t count, MPI_Datatype type);

// How the engine carries out an operation.
struct EngineOp {
  bool possible = false;
  bool truth = false;  // elements become 0 or 1 before they are combined
  GOAL_Type type = GOAL_INT8;
  GOAL_Local_op op = GOAL_ADD;
  unsigned parts = 1;  // of an element: a complex long double has two
};
EngineOp engine_op(MPI_Op op, MPI_Datatype type);

// The Portals atomic that does what an accumulation with `op` does: PTL_SWAP for MPI_REPLACE.
struct PortalsOp {
  bool possible = false;
  ptl_op_t op = PTL_SUM;
  ptl_datatype_t type = PTL_UINT8_T;
  size_t width = 1;  // bytes of an element
};
PortalsOp portals_op(MPI_Op op, MPI_Datatype type);
// nullptr, or a sentence: may this operation be used in accumulations of this type?
const char* accumulate_refusal(MPI_Op op, MPI_Datatype type);
// Makes `count` integers of `type` 0 or 1.
void make_truth(GOAL_Type type, void* values, size_t count);

}  // namespace portunus::mpi
