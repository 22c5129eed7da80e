// regular.cpp: collectives in which all ranks have parts of one size: barrier, broadcast, gather, scatter, allgather,
// alltoall.
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.3-6.5, 6.6, 6.7, 6.8.
#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/collectives/forms.hpp"
#include "mpi-adi/collectives/inter.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"

namespace portunus::mpi::collectives {
namespace {

size_t ranks_of(const Call& call) { return static_cast<size_t>(call.comm->size); }
size_t rank_of(const Call& call) { return static_cast<size_t>(call.comm->rank); }

class Barrier : public Work {
 public:
  Barrier() { key.kind = GOAL_CALL_BARRIER; }
};

class Bcast : public Work {
 public:
  Bcast(const Elements& buffer, int root, bool is_root) : buffer_(buffer), is_root_(is_root) {
    key = {GOAL_CALL_BCAST, 0, 0, root, buffer.bytes()};
    in_bytes = out_bytes = buffer.bytes();
    in_is_out = true;
    user_in = user_out = buffer.data();
    in_is_direct = out_is_direct = buffer.contiguous();
  }
  void fill(std::byte* out) const override {
    if (is_root_) buffer_.pack(out);
  }
  void drain(const std::byte* out) const override {
    if (!is_root_ && out != user_out) buffer_.unpack(out);
  }

 private:
  Elements buffer_;
  bool is_root_;
};

// From parts of this rank to parts of this rank, either of which may be none.
class Movement : public Work {
 public:
  Movement(GOAL_Call_kind kind, int root, size_t part_bytes, const Elements& from, const Elements& to) : from_(from), to_(to) {
    key = {kind, 0, 0, root, part_bytes};
    in_bytes = from.bytes();
    out_bytes = to.bytes();
    user_in = from.data();
    user_out = to.data();
    in_is_direct = from.contiguous();
    out_is_direct = to.contiguous();
  }
  void fill(std::byte* in) const override { from_.pack(in); }
  void drain(const std::byte* out) const override {
    if (!out_is_direct || out != user_out) to_.unpack(out);
  }

 private:
  Elements from_, to_;
};

// In place the data is in `to` already: `from` is that part of it.
class MovementInPlace : public Movement {
 public:
  MovementInPlace(GOAL_Call_kind kind, int root, size_t part_bytes, const Elements& from, const Elements& to)
      : Movement(kind, root, part_bytes, from, to) {
    in_place = true;
  }
};

// The root keeps its part where it is: what comes out there is thrown away.
class ScatterInPlace : public Movement {
 public:
  ScatterInPlace(int root, size_t part_bytes, const Elements& all) : Movement(GOAL_CALL_SCATTER, root, part_bytes, all, Elements()) {
    out_bytes = part_bytes;
    out_is_direct = false;
  }
  void drain(const std::byte*) const override {}
};

int barrier(const Call& call) {
  if (call.form == Form::blocking && call.comm->size == 1 && !call.comm->inter) return MPI_SUCCESS;
  return carry_out<Barrier>(call);
}

int bcast(const Call& call, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  if (call.comm->inter) {
    const inter::Side all{buffer, type, count, nullptr, nullptr, nullptr, true};
    return inter::rooted(call, root, true, all, all);
  }
  if (int error = check_root(call, root)) return error;
  if (int error = check_buffer(call, buffer, count, type)) return error;
  if (int error = check_memory(call, buffer, count, type)) return error;
  sign(call, count, type);
  return carry_out<Bcast>(call, Elements(buffer, static_cast<size_t>(count), type), root, call.comm->rank == root);
}

int gather(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
           MPI_Datatype recvtype, int root) {
  if (call.comm->inter) return inter::rooted(call, root, false, {recvbuf, recvtype, recvcount}, {sendbuf, sendtype, sendcount});
  if (int error = check_root(call, root)) return error;
  const size_t n = ranks_of(call), rank = rank_of(call);
  const bool is_root = call.comm->rank == root;
  if (!is_root || sendbuf != MPI_IN_PLACE) {
    if (int error = check_buffer(call, sendbuf, sendcount, sendtype)) return error;
    if (int error = check_memory(call, sendbuf, sendcount, sendtype)) return error;
  }
  if (!is_root) {
    const Elements mine(sendbuf, static_cast<size_t>(sendcount), sendtype);
    sign(call, sendcount, sendtype);
    return carry_out<Movement>(call, GOAL_CALL_GATHER, root, mine.bytes(), mine, Elements());
  }
  if (int error = check_buffer(call, recvbuf, recvcount, recvtype)) return error;
  sign(call, recvcount, recvtype);
  const size_t count = static_cast<size_t>(recvcount);
  const Elements all(recvbuf, n * count, recvtype), own = all.part(static_cast<ptrdiff_t>(rank * count), count);
  if (sendbuf == MPI_IN_PLACE) return carry_out<MovementInPlace>(call, GOAL_CALL_GATHER, root, own.bytes(), own, all);
  const Elements mine(sendbuf, static_cast<size_t>(sendcount), sendtype);
  if (int error = check_distinct(call, mine, all)) return error;
  if (int error = check_own_part(call, mine.bytes(), own.bytes())) return error;
  return carry_out<Movement>(call, GOAL_CALL_GATHER, root, own.bytes(), mine, all);
}

int scatter(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
            MPI_Datatype recvtype, int root) {
  if (call.comm->inter) return inter::rooted(call, root, true, {sendbuf, sendtype, sendcount}, {recvbuf, recvtype, recvcount});
  if (int error = check_root(call, root)) return error;
  const size_t n = ranks_of(call);
  const bool is_root = call.comm->rank == root;
  if (!is_root || recvbuf != MPI_IN_PLACE)
    if (int error = check_buffer(call, recvbuf, recvcount, recvtype)) return error;
  if (!is_root) {
    const Elements mine(recvbuf, static_cast<size_t>(recvcount), recvtype);
    sign(call, recvcount, recvtype);
    return carry_out<Movement>(call, GOAL_CALL_SCATTER, root, mine.bytes(), Elements(), mine);
  }
  if (int error = check_buffer(call, sendbuf, sendcount, sendtype)) return error;
  if (int error = check_memory(call, sendbuf, call.comm->size * sendcount, sendtype)) return error;
  sign(call, sendcount, sendtype);
  const Elements all(sendbuf, n * static_cast<size_t>(sendcount), sendtype);
  if (recvbuf == MPI_IN_PLACE) return carry_out<ScatterInPlace>(call, root, all.bytes() / n, all);
  const Elements mine(recvbuf, static_cast<size_t>(recvcount), recvtype);
  if (int error = check_distinct(call, all, mine)) return error;
  if (int error = check_own_part(call, all.bytes() / n, mine.bytes(), false)) return error;
  return carry_out<Movement>(call, GOAL_CALL_SCATTER, root, all.bytes() / n, all, mine);
}

int allgather(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype) {
  if (call.comm->inter)
    return inter::all(call, {sendbuf, sendtype, sendcount, nullptr, nullptr, nullptr, true}, {recvbuf, recvtype, recvcount});
  if (int error = check_buffer(call, recvbuf, recvcount, recvtype)) return error;
  sign(call, recvcount, recvtype);
  const size_t n = ranks_of(call), count = static_cast<size_t>(recvcount);
  const Elements all(recvbuf, n * count, recvtype), own = all.part(static_cast<ptrdiff_t>(rank_of(call) * count), count);
  if (sendbuf == MPI_IN_PLACE) return carry_out<MovementInPlace>(call, GOAL_CALL_ALLGATHER, 0, own.bytes(), own, all);
  if (int error = check_buffer(call, sendbuf, sendcount, sendtype)) return error;
  if (int error = check_memory(call, sendbuf, sendcount, sendtype)) return error;
  const Elements mine(sendbuf, static_cast<size_t>(sendcount), sendtype);
  if (int error = check_distinct(call, mine, all)) return error;
  if (int error = check_own_part(call, mine.bytes(), own.bytes())) return error;
  return carry_out<Movement>(call, GOAL_CALL_ALLGATHER, 0, own.bytes(), mine, all);
}

int alltoall(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
             MPI_Datatype recvtype) {
  if (call.comm->inter) return inter::all(call, {sendbuf, sendtype, sendcount}, {recvbuf, recvtype, recvcount});
  if (int error = check_buffer(call, recvbuf, recvcount, recvtype)) return error;
  sign(call, recvcount, recvtype);
  const size_t n = ranks_of(call);
  const Elements all(recvbuf, n * static_cast<size_t>(recvcount), recvtype);
  if (sendbuf == MPI_IN_PLACE) return carry_out<MovementInPlace>(call, GOAL_CALL_ALLTOALL, 0, all.bytes() / n, all, all);
  if (int error = check_buffer(call, sendbuf, sendcount, sendtype)) return error;
  if (int error = check_memory(call, sendbuf, call.comm->size * sendcount, sendtype)) return error;
  const Elements mine(sendbuf, n * static_cast<size_t>(sendcount), sendtype);
  if (int error = check_distinct(call, mine, all)) return error;
  if (int error = check_own_part(call, mine.bytes() / n, all.bytes() / n)) return error;
  return carry_out<Movement>(call, GOAL_CALL_ALLTOALL, 0, all.bytes() / n, mine, all);
}

}  // namespace
}  // namespace portunus::mpi::collectives

namespace portunus::mpi::collectives {
MPI_FORMS_AS(Barrier, barrier, , (call), MPI_Comm comm)
}

MPI_FORMS(Bcast, bcast, (call, buffer, count, datatype, root), void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
MPI_FORMS(Gather, gather, (call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), const void* sendbuf, Count sendcount,
          MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
MPI_FORMS(Scatter, scatter, (call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), const void* sendbuf, Count sendcount,
          MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
MPI_FORMS(Allgather, allgather, (call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), const void* sendbuf, Count sendcount,
          MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Alltoall, alltoall, (call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), const void* sendbuf, Count sendcount,
          MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
