// op_calls.cpp: the calls about operations.
// Thread: any. Source: MPI-5.0, 6.9.5-6.9.7.
#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/op/op.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {
namespace {

int create(const char* function, bool has_function, int commute, MPI_Op* op, UserOp*& made) {
  if (!has_function || op == nullptr) return raise(function, nullptr, MPI_ERR_ARG, "the function or the address for the operation is null");
  *op = make_user_op(made);
  if (made == nullptr) return raise(function, nullptr, MPI_ERR_NO_MEM, "too many operations are in use; free some first");
  made->commutes = commute != 0;
  return MPI_SUCCESS;
}

int reduce_local(const char* function, const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  if (!is_count(count))
    return raise(function, nullptr, MPI_ERR_COUNT, "the count is %s (%lld)", count < 0 ? "negative" : "too large",
                 static_cast<long long>(count));
  if (find_type(datatype) == nullptr) return raise(function, nullptr, MPI_ERR_TYPE, "%s", BadType(datatype).text);
  if (!fits_in_memory(count, *find_type(datatype))) return raise_too_many(function, nullptr, count, *find_type(datatype));
  if (const char* why = refusal(op, datatype)) return raise(function, nullptr, MPI_ERR_OP, "%s", why);
  for (const void* buffer : {inbuf, static_cast<const void*>(inoutbuf)})
    if (buffer == MPI_IN_PLACE) return raise(function, nullptr, MPI_ERR_BUFFER, "MPI_IN_PLACE cannot stand here");
  if (count == 0) return MPI_SUCCESS;
  if (inbuf == nullptr || inoutbuf == nullptr) return raise(function, nullptr, MPI_ERR_BUFFER, "a buffer is null");
  if (graph::is_capturing()) return graph::reduce_local(function, inbuf, inoutbuf, count, datatype, op);
  apply(op, inbuf, inoutbuf, static_cast<size_t>(count), datatype);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) try {
  UserOp* made;
  if (int error = create("MPI_Op_create", user_fn != nullptr, commute, op, made)) return error;
  made->function = user_fn;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_create)

extern "C" int PMPI_Op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op) try {
  UserOp* made;
  if (int error = create("MPI_Op_create_c", user_fn != nullptr, commute, op, made)) return error;
  made->wide = user_fn;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_create_c)

extern "C" int PMPI_Op_free(MPI_Op* op) try {
  static constexpr char kName[] = "MPI_Op_free";
  if (op == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address of the operation is null");
  UserOp* user = find_user_op(*op);
  if (user == nullptr)
    return raise(kName, nullptr, MPI_ERR_OP, is_predefined(*op) ? "a predefined operation cannot be freed" : "there is no such operation");
  release(user);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_free)

extern "C" int PMPI_Op_commutative(MPI_Op op, int* commute) try {
  static constexpr char kName[] = "MPI_Op_commutative";
  if (!is_predefined(op) && find_user_op(op) == nullptr) return raise(kName, nullptr, MPI_ERR_OP, "there is no such operation");
  if (commute == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the answer is null");
  *commute = commutes(op) ? 1 : 0;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_commutative)

extern "C" int PMPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) try {
  return reduce_local("MPI_Reduce_local", inbuf, inoutbuf, count, datatype, op);
}
MPI_WEAK_NAME(Reduce_local)

extern "C" int PMPI_Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) try {
  return reduce_local("MPI_Reduce_local_c", inbuf, inoutbuf, count, datatype, op);
}
MPI_WEAK_NAME(Reduce_local_c)
