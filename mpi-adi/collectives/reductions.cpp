// reductions.cpp: reduce, allreduce, reduce_scatter(_block), scan, exscan.
//
// The engine combines what it can. For other operations the threads that call MPI combine, in the order of the ranks: each a
// part of long vectors (partial_reduce.hpp), else whoever needs a result, which all contributions come to.
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.9-6.11.
#include <algorithm>
#include <vector>

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/forms.hpp"
#include "mpi-adi/collectives/inter.hpp"
#include "mpi-adi/collectives/movement.hpp"
#include "mpi-adi/collectives/partial_reduce.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/op/op.hpp"

namespace portunus::mpi::collectives {
namespace {

// Shared by all kinds: the vectors of this rank, where both are in the user's memory.
struct Vectors {
  GOAL_Call_kind kind;
  int root = 0;
  Elements from, to;  // `to` is empty where nothing comes out
  bool in_place = false;
  Counts counts{};  // reduce_scatter: of each rank's part; none: to.count() each
};

// How many elements of the result are rank i's.
size_t share(const Vectors& v, int i) { return v.counts.null() ? v.to.count() : static_cast<size_t>(v.counts[i]); }

class ByEngine : public Movement<Elements, Elements> {
 public:
  ByEngine(const Call& call, const Vectors& v, const EngineOp& op)
      : Movement(v.kind, v.root, v.from.bytes(), v.from, v.to, v.in_place ? Own::is_there : Own::moves), op_(op) {
    key.type = static_cast<uint8_t>(op.type);
    key.op = static_cast<uint8_t>(op.op);
    in_is_direct = in_is_direct && !op.truth;
    makes_truth = op.truth;
    if (v.kind != GOAL_CALL_REDUCE_SCATTER) return;
    for (int i = 0; !v.counts.null() && i < call.comm->size; ++i) shares_.push_back(share(v, i) * op.parts);
    if (in_place) out_is_direct = false;  // the result is shorter than what goes in
  }
  void describe(GOAL_Call& call) override {
    Work::describe(call);
    call.type = op_.type;
    call.op = op_.op;
    call.count = (key.kind == GOAL_CALL_REDUCE_SCATTER ? to_ : from_).count() * op_.parts;
    call.counts = shares_.empty() ? nullptr : shares_.data();
  }
  void fill(std::byte* in) const override {
    from_.pack(in);
    if (op_.truth) make_truth(op_.type, in, from_.count());
  }

 private:
  EngineOp op_;
  std::vector<size_t> shares_;  // of a reduce_scatter whose parts differ
};

// All contributions come to the ranks that get a result, one after the other.
int reduce_here(const Call& call, const Vectors& v, MPI_Op op) {
  const int n = call.comm->size, rank = call.comm->rank;
  const size_t bytes = v.from.bytes();
  const auto first = [&](int ranks, size_t each) { return Contributions(op, v.to, n, 0, ranks, each); };
  if (v.kind == GOAL_CALL_REDUCE || v.kind == GOAL_CALL_ALLREDUCE) {
    const bool all = v.kind == GOAL_CALL_ALLREDUCE;
    return carry_out<Movement<Elements, Contributions>>(call, all ? GOAL_CALL_ALLGATHER : GOAL_CALL_GATHER, v.root, bytes, v.from,
                                                        first(all || rank == v.root ? n : 0, bytes));
  }
  const auto exchange = [&](Parts parts, Contributions all) {
    return carry_out<Movement<Parts, Contributions>>(call, GOAL_CALL_ALLTOALLV, 0, size_t{0}, std::move(parts), std::move(all));
  };
  if (v.kind == GOAL_CALL_REDUCE_SCATTER)  // rank i gets part i of everyone's vector
    return exchange(divided(v.from, n, [&](int i) { return share(v, i); }), first(n, v.to.bytes()));
  const int with_own = v.kind == GOAL_CALL_SCAN ? 1 : 0;
  Parts later(n);
  for (int i = rank + 1 - with_own; i < n; ++i) later.add(i, v.from);
  later.close();
  return exchange(std::move(later), first(rank + with_own, bytes));
}

int reduce_vectors(const Call& call, const Vectors& v, MPI_Op op) {
  if (const EngineOp engine = engine_op(op, v.from.type()); engine.possible) return carry_out<ByEngine>(call, call, v, engine);
  const bool all = v.kind == GOAL_CALL_ALLREDUCE;
  if ((all || v.kind == GOAL_CALL_REDUCE) && ReduceInParts::is_for(call, v.from))
    return carry_out<ReduceInParts>(call, call, v.from, v.to, op, all ? kAllRanks : v.root);
  return reduce_here(call, v, op);
}

// A reduction whose result has as many elements as what goes in. `gets`: at recvbuf is memory for it.
int reduce_alike(const Call& call, GOAL_Call_kind kind, int root, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type,
                 MPI_Op op, bool gets) {
  const bool in_place = gets && sendbuf == MPI_IN_PLACE;
  if (int error = check_elements(call, count, type)) return error;
  if (!in_place) {
    if (int error = check_address(call, sendbuf, count, type)) return error;
    if (int error = check_memory(call, sendbuf, count, type)) return error;
  }
  if (gets)
    if (int error = check_address(call, recvbuf, count, type)) return error;
  if (int error = check_op(call, op, type)) return error;
  sign(call, count, type, op);
  const bool has_result = gets && (kind != GOAL_CALL_EXSCAN || call.comm->rank > 0);
  const size_t elements = static_cast<size_t>(count);
  const Vectors v{kind, root, Elements(in_place ? recvbuf : sendbuf, elements, type),
                  Elements(has_result ? recvbuf : nullptr, has_result ? elements : 0, type), in_place && has_result};
  if (gets && !in_place)
    if (int error = check_distinct(call, v.from, v.to)) return error;
  return reduce_vectors(call, v, op);
}

int reduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) {
  if (call.comm->inter) return inter::reduce(call, sendbuf, recvbuf, count, type, op, root);
  if (int error = check_root(call, root)) return error;
  return reduce_alike(call, GOAL_CALL_REDUCE, root, sendbuf, recvbuf, count, type, op, call.comm->rank == root);
}

int allreduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) return inter::reduce_to_all(call, sendbuf, recvbuf, count, nullptr, type, op);
  return reduce_alike(call, GOAL_CALL_ALLREDUCE, 0, sendbuf, recvbuf, count, type, op, true);
}

int scan(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) return inter::refuse(call);
  return reduce_alike(call, GOAL_CALL_SCAN, 0, sendbuf, recvbuf, count, type, op, true);
}

// Rank 0 gets nothing, and its buffer may be anything unless it is where its data lies.
int exscan(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) return inter::refuse(call);
  return reduce_alike(call, GOAL_CALL_EXSCAN, 0, sendbuf, recvbuf, count, type, op, call.comm->rank > 0 || sendbuf == MPI_IN_PLACE);
}

int reduce_parts(const Call& call, const void* sendbuf, void* recvbuf, Counts counts, size_t own, size_t total, MPI_Datatype type,
                 MPI_Op op) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const Vectors v{GOAL_CALL_REDUCE_SCATTER,     0,        Elements(in_place ? recvbuf : sendbuf, total, type),
                  Elements(recvbuf, own, type), in_place, counts};
  if (!in_place)
    if (int error = check_distinct(call, v.from, v.to)) return error;
  return reduce_vectors(call, v, op);
}

int reduce_scatter(const Call& call, const void* sendbuf, void* recvbuf, Counts recvcounts, MPI_Datatype type, MPI_Op op) {
  if (recvcounts.null()) return raise(call.function, call.comm, MPI_ERR_ARG, "the counts are null");
  if (call.comm->inter) return inter::reduce_to_all(call, sendbuf, recvbuf, 0, recvcounts, type, op);
  size_t total = 0;
  for (int i = 0; i < call.comm->size; ++i) {
    if (int error = check_buffer(call, recvbuf, i == call.comm->rank ? recvcounts[i] : std::min<MPI_Count>(recvcounts[i], 0), type))
      return error;
    total += static_cast<size_t>(recvcounts[i]);
  }
  if (sendbuf != MPI_IN_PLACE) {
    if (int error = check_buffer(call, sendbuf, total > 0 ? 1 : 0, type)) return error;
    if (int error = check_memory(call, sendbuf, static_cast<MPI_Count>(total), type)) return error;
  }
  if (int error = check_op(call, op, type)) return error;
  sign(call, static_cast<MPI_Count>(total), type, op);
  return reduce_parts(call, sendbuf, recvbuf, recvcounts, static_cast<size_t>(recvcounts[call.comm->rank]), total, type, op);
}

int reduce_scatter_block(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) {
    const std::vector<MPI_Count> counts(static_cast<size_t>(call.comm->size), recvcount);
    return inter::reduce_to_all(call, sendbuf, recvbuf, 0, counts.data(), type, op);
  }
  if (int error = check_buffer(call, recvbuf, recvcount, type)) return error;
  if (sendbuf != MPI_IN_PLACE) {
    if (int error = check_buffer(call, sendbuf, recvcount, type)) return error;
    if (int error = check_memory(call, sendbuf, call.comm->size * recvcount, type)) return error;
  }
  if (int error = check_op(call, op, type)) return error;
  sign(call, recvcount, type, op);
  const size_t own = static_cast<size_t>(recvcount);
  return reduce_parts(call, sendbuf, recvbuf, nullptr, own, own * static_cast<size_t>(call.comm->size), type, op);
}

}  // namespace
}  // namespace portunus::mpi::collectives

MPI_FORMS(Reduce, reduce, (call, sendbuf, recvbuf, count, datatype, op, root), const void* sendbuf, void* recvbuf, Count count,
          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
MPI_FORMS(Allreduce, allreduce, (call, sendbuf, recvbuf, count, datatype, op), const void* sendbuf, void* recvbuf, Count count,
          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
MPI_FORMS(Reduce_scatter, reduce_scatter, (call, sendbuf, recvbuf, recvcounts, datatype, op), const void* sendbuf, void* recvbuf,
          const Count recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
MPI_FORMS(Reduce_scatter_block, reduce_scatter_block, (call, sendbuf, recvbuf, recvcount, datatype, op), const void* sendbuf, void* recvbuf,
          Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
MPI_FORMS(Scan, scan, (call, sendbuf, recvbuf, count, datatype, op), const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,
          MPI_Op op, MPI_Comm comm)
MPI_FORMS(Exscan, exscan, (call, sendbuf, recvbuf, count, datatype, op), const void* sendbuf, void* recvbuf, Count count,
          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
