// reductions.cpp: reduce, allreduce, reduce_scatter(_block), scan, exscan.
//
// The engine combines what it can. For other operations the threads that call MPI combine, in the order of the ranks: each a
// part of long vectors (partial_reduce.hpp), else whoever needs a result, which all contributions come to.
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.9-6.11.
#include <algorithm>
#include <vector>

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/combine.hpp"
#include "mpi-adi/collectives/forms.hpp"
#include "mpi-adi/collectives/inter.hpp"
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
size_t share(const Vectors& v, size_t i) { return v.counts.null() ? v.to.count() : static_cast<size_t>(v.counts[i]); }

class ByEngine : public Work {
 public:
  ByEngine(const Call& call, const Vectors& v, const EngineOp& op) : from_(v.from), to_(v.to), op_(op) {
    key = {v.kind, static_cast<uint8_t>(op.type), static_cast<uint8_t>(op.op), v.root, v.from.bytes()};
    in_bytes = v.from.bytes();
    out_bytes = v.to.bytes();
    user_in = v.from.data();
    user_out = v.to.data();
    in_is_direct = v.from.contiguous() && !op.truth;
    out_is_direct = v.to.contiguous();
    in_place = v.in_place;
    if (v.kind != GOAL_CALL_REDUCE_SCATTER) return;
    for (int i = 0; !v.counts.null() && i < call.comm->size; ++i) shares_.push_back(share(v, static_cast<size_t>(i)) * op.parts);
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
  void drain(const std::byte* out) const override {
    if (!out_is_direct || out != user_out) to_.unpack(out);
  }

 private:
  Elements from_, to_;
  EngineOp op_;
  std::vector<size_t> shares_;  // of a reduce_scatter whose parts differ
};

// All contributions come to the ranks that get a result, one after the other.
class ByApplication : public Work {
 public:
  ByApplication(const Call& call, const Vectors& v, MPI_Op op) : from_(v.from), to_(v.to), op_(op) {
    const size_t n = static_cast<size_t>(call.comm->size), rank = static_cast<size_t>(call.comm->rank);
    const size_t bytes = v.from.bytes();
    in_bytes = bytes;
    in_is_direct = v.from.contiguous() && !v.in_place;
    user_in = v.from.data();
    ranks_ = n;
    switch (v.kind) {
      case GOAL_CALL_REDUCE:
        key = {GOAL_CALL_GATHER, 0, 0, v.root, bytes};
        out_bytes = call.comm->rank == v.root ? n * bytes : 0;
        break;
      case GOAL_CALL_ALLREDUCE:
        key = {GOAL_CALL_ALLGATHER, 0, 0, 0, bytes};
        out_bytes = n * bytes;
        break;
      case GOAL_CALL_SCAN:
      case GOAL_CALL_EXSCAN: {
        const bool with_own = v.kind == GOAL_CALL_SCAN;
        ranks_ = with_own ? rank + 1 : rank;
        key.kind = GOAL_CALL_ALLTOALLV;
        for (size_t i = 0; i < n; ++i) {
          leaving_.add(i > rank || (i == rank && with_own) ? bytes : 0, 0);
          coming_.add(i < ranks_ ? bytes : 0, static_cast<ptrdiff_t>(i * bytes));
        }
        out_bytes = ranks_ * bytes;
        break;
      }
      default: spread_parts(v, n, rank);
    }
  }
  void describe(GOAL_Call& call) override {
    if (key.kind == GOAL_CALL_ALLTOALLV) describe_exchange(call, leaving_, coming_);
    else Work::describe(call);
  }
  void fill(std::byte* in) const override { from_.pack(in); }
  void drain(const std::byte* out) const override { combine(op_, out, ranks_, to_); }

 private:
  // Rank i gets part i of everyone's vector.
  void spread_parts(const Vectors& v, size_t n, size_t rank) {
    const size_t element = v.from.count() > 0 ? v.from.bytes() / v.from.count() : 0;
    const size_t own = share(v, rank) * element;
    size_t place = 0;
    key.kind = GOAL_CALL_ALLTOALLV;
    for (size_t i = 0; i < n; ++i) {
      leaving_.add(share(v, i) * element, static_cast<ptrdiff_t>(place));
      coming_.add(own, static_cast<ptrdiff_t>(i * own));
      place += leaving_.sizes.back();
    }
    out_bytes = n * own;
  }

  Elements from_, to_;
  OpHold op_;
  size_t ranks_ = 0;  // whose contributions make the result
  Pieces leaving_, coming_;
};

int reduce_vectors(const Call& call, const Vectors& v, MPI_Op op) {
  if (const EngineOp engine = engine_op(op, v.from.type()); engine.possible) return carry_out<ByEngine>(call, call, v, engine);
  const bool all = v.kind == GOAL_CALL_ALLREDUCE;
  if ((all || v.kind == GOAL_CALL_REDUCE) && ReduceInParts::is_for(call, v.from))
    return carry_out<ReduceInParts>(call, call, v.from, v.to, op, all ? kAllRanks : v.root);
  return carry_out<ByApplication>(call, call, v, op);
}

// Checks and makes the vectors of a reduction whose result has as many elements as what goes in.
int check_vectors(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, bool gets,
                  Vectors& v) {
  v.in_place = gets && sendbuf == MPI_IN_PLACE;
  if (!v.in_place) {
    if (int error = check_buffer(call, sendbuf, count, type)) return error;
    if (int error = check_memory(call, sendbuf, count, type)) return error;
  }
  if (gets)
    if (int error = check_buffer(call, recvbuf, count, type)) return error;
  if (int error = check_op(call, op, type)) return error;
  sign(call, count, type, op);
  v.from = Elements(v.in_place ? recvbuf : sendbuf, static_cast<size_t>(count), type);
  v.to = gets ? Elements(recvbuf, static_cast<size_t>(count), type) : Elements(nullptr, 0, type);
  return gets && !v.in_place ? check_distinct(call, v.from, v.to) : MPI_SUCCESS;
}

int reduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) {
  if (call.comm->inter) return inter::reduce(call, sendbuf, recvbuf, count, type, op, root);
  if (int error = check_root(call, root)) return error;
  Vectors v{GOAL_CALL_REDUCE, root, {}, {}};
  if (int error = check_vectors(call, sendbuf, recvbuf, count, type, op, call.comm->rank == root, v)) return error;
  return reduce_vectors(call, v, op);
}

int allreduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) return inter::reduce_to_all(call, sendbuf, recvbuf, count, nullptr, type, op);
  Vectors v{GOAL_CALL_ALLREDUCE, 0, {}, {}};
  if (int error = check_vectors(call, sendbuf, recvbuf, count, type, op, true, v)) return error;
  return reduce_vectors(call, v, op);
}

int scan(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) return inter::refuse(call);
  Vectors v{GOAL_CALL_SCAN, 0, {}, {}};
  if (int error = check_vectors(call, sendbuf, recvbuf, count, type, op, true, v)) return error;
  return reduce_vectors(call, v, op);
}

// Rank 0 gets nothing, and its buffer may be anything unless it is where its data lies.
int exscan(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  if (call.comm->inter) return inter::refuse(call);
  Vectors v{GOAL_CALL_EXSCAN, 0, {}, {}};
  const bool gets = call.comm->rank > 0 || sendbuf == MPI_IN_PLACE;
  if (int error = check_vectors(call, sendbuf, recvbuf, count, type, op, gets, v)) return error;
  if (call.comm->rank == 0) {
    v.to = Elements(nullptr, 0, type);
    v.in_place = false;
  }
  return reduce_vectors(call, v, op);
}

int reduce_parts(const Call& call, const void* sendbuf, void* recvbuf, Counts counts, size_t own, size_t total, MPI_Datatype type,
                 MPI_Op op) {
  Vectors v{GOAL_CALL_REDUCE_SCATTER, 0, {}, {}};
  v.in_place = sendbuf == MPI_IN_PLACE;
  v.counts = counts;
  v.from = Elements(v.in_place ? recvbuf : sendbuf, total, type);
  v.to = Elements(recvbuf, own, type);
  if (!v.in_place)
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
