// movements.cpp: collectives that move data and combine none: barrier, broadcast, gather(v), scatter(v), allgather(v), alltoall(v, w), and
// those along the edges of a topology.
//
// Several edges between two ranks pair by order: the n-th that one lists meets the n-th that the other lists. In a grid what is sent in
// one direction comes from the opposite one, so a rank lists what it receives with the directions of each dimension turned.
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.3-6.8, 8.6.
#include <optional>
#include <type_traits>

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/forms.hpp"
#include "mpi-adi/collectives/inter.hpp"
#include "mpi-adi/collectives/movement.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/topology/topology.hpp"

namespace portunus::mpi::collectives {
namespace {

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
    if (!is_root_ && !out_is_direct) buffer_.unpack(out);
  }
  bool each_run_in(const EachRun& f) const override {
    if (is_root_) buffer_.each_run(f);
    return true;
  }
  bool each_run_out(const EachRun& f) const override {
    if (!is_root_) buffer_.each_run(f);
    return true;
  }

 private:
  Elements buffer_;
  bool is_root_;
};

int barrier(const Call& call) {
  if (call.form == Form::blocking && call.comm->size == 1 && !call.comm->inter) return MPI_SUCCESS;
  return carry_out<Barrier>(call);
}

int bcast(const Call& call, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
  if (call.comm->inter) return inter::rooted(call, root, true, Side(buffer, count, type).to_all(), {buffer, count, type});
  if (int error = check_root(call, root)) return error;
  if (int error = check_buffer(call, buffer, count, type)) return error;
  if (int error = check_memory(call, buffer, count, type)) return error;
  sign(call, count, type);
  return carry_out<Bcast>(call, Elements(buffer, static_cast<size_t>(count), type), root, call.comm->rank == root);
}

// The parts of all ranks at one end, of one size or of sizes of their own.
template <class All>
int all_of(const Call& call, const Side& side, bool reads, std::optional<All>& all) {
  if constexpr (std::is_same_v<All, Parts>) return parts_of(call, side, {call.comm->size}, all.emplace());
  if (int error = check_one(call, side, call.comm->size, reads)) return error;
  if constexpr (std::is_same_v<All, Elements>) all.emplace(side.elements(call.comm->size));
  return MPI_SUCCESS;
}
Elements own_of(const Call& call, const Elements& all) {
  const size_t count = all.count() / static_cast<size_t>(call.comm->size);
  return all.part(static_cast<ptrdiff_t>(count) * call.comm->rank, count);
}
const Elements& own_of(const Call& call, const Parts& all) { return all[call.comm->rank]; }
int check_distinct_all(const Call& call, const Elements& mine, const Elements& all) { return check_distinct(call, mine, all); }
int check_distinct_all(const Call& call, const Elements& mine, const Parts& all) { return check_distinct(call, mine, own_of(call, all)); }
int check_distinct_all(const Call& call, const Parts& from, const Parts& to) {
  for (int i = 0; i < call.comm->size; ++i)
    if (int error = check_distinct(call, from[i], to[i])) return error;
  return MPI_SUCCESS;
}

// One part of each rank comes to the root, or (kAllRanks) to all.
template <class All>
int collect(const Call& call, GOAL_Call_kind kind, const Side& from, const Side& to, int root) {
  const bool everywhere = root == kAllRanks;
  if (call.comm->inter) return everywhere ? inter::all(call, from.to_all(), to) : inter::rooted(call, root, false, to, from);
  if (int error = everywhere ? MPI_SUCCESS : check_root(call, root)) return error;
  const bool gets = everywhere || call.comm->rank == root, in_place = gets && from.buffer == MPI_IN_PLACE;
  std::optional<All> all;
  if (int error = gets ? all_of(call, to, false, all) : MPI_SUCCESS) return error;
  if (int error = in_place ? MPI_SUCCESS : check_one(call, from, 1, true)) return error;
  if constexpr (std::is_same_v<All, Elements>) sign(call, gets ? to.count : from.count, gets ? to.type : from.type);
  else sign_basic(call, gets ? all->bytes() > 0 : from.count > 0, gets ? to.type : from.type);
  if (!gets) {
    const Elements mine = from.elements(1);
    return carry_out<Movement<Elements, All>>(call, kind, root, mine.bytes(), mine, All());
  }
  const Elements own = own_of(call, *all);
  const int named = everywhere ? 0 : root;
  if (in_place) return carry_out<Movement<Elements, All>>(call, kind, named, own.bytes(), own, std::move(*all), Own::is_there);
  const Elements mine = from.elements(1);
  if (int error = check_distinct_all(call, mine, *all)) return error;
  if (int error = check_own_part(call, mine.bytes(), own.bytes(), kind != GOAL_CALL_ALLGATHERV)) return error;
  return carry_out<Movement<Elements, All>>(call, kind, named, own.bytes(), mine, std::move(*all));
}

// The root has a part for each rank.
template <class All>
int distribute(const Call& call, GOAL_Call_kind kind, const Side& from, const Side& to, int root) {
  if (call.comm->inter) return inter::rooted(call, root, true, from, to);
  if (int error = check_root(call, root)) return error;
  const bool gives = call.comm->rank == root, stays = gives && to.buffer == MPI_IN_PLACE;
  std::optional<All> all;
  if (int error = stays ? MPI_SUCCESS : check_one(call, to, 1, false)) return error;
  if (int error = gives ? all_of(call, from, true, all) : MPI_SUCCESS) return error;
  if constexpr (std::is_same_v<All, Elements>) sign(call, gives ? from.count : to.count, gives ? from.type : to.type);
  else sign_basic(call, gives ? all->bytes() > 0 : to.count > 0, gives ? from.type : to.type);
  const Elements mine = stays ? Elements() : to.elements(1);
  if (!gives) return carry_out<Movement<All, Elements>>(call, kind, root, mine.bytes(), All(), mine);
  const size_t own = own_of(call, *all).bytes();
  if (stays) return carry_out<Movement<All, Elements>>(call, kind, root, own, std::move(*all), mine, Own::stays);
  if (int error = check_distinct_all(call, mine, *all)) return error;
  if (int error = check_own_part(call, own, mine.bytes(), false)) return error;
  return carry_out<Movement<All, Elements>>(call, kind, root, own, std::move(*all), mine);
}

template <class All>
int exchange(const Call& call, GOAL_Call_kind kind, const Side& from, const Side& to) {
  if (call.comm->inter) return inter::all(call, from, to);
  std::optional<All> in, out;
  if (int error = all_of(call, to, false, in)) return error;
  if (std::is_same_v<All, Elements>) sign(call, to.count, to.type);
  const size_t own = own_of(call, *in).bytes();
  if (from.buffer == MPI_IN_PLACE) {
    if constexpr (std::is_same_v<All, Parts>) sign_pairs(call, *in, *in);
    return carry_out<Movement<All, All>>(call, kind, 0, own, *in, *in, Own::is_there);
  }
  if (int error = all_of(call, from, true, out)) return error;
  if (int error = check_distinct_all(call, *out, *in)) return error;
  if (int error = check_own_part(call, own_of(call, *out).bytes(), own)) return error;
  if constexpr (std::is_same_v<All, Parts>) sign_pairs(call, *out, *in);
  return carry_out<Movement<All, All>>(call, kind, 0, own, std::move(*out), std::move(*in));
}

int neighbor(const Call& call, const Side& from, const Side& to) {
  const Topology* const topology = call.comm->topology.get();
  if (topology == nullptr) return raise(call.function, call.comm, MPI_ERR_TOPOLOGY, "the communicator has no topology");
  Parts out, in;
  if (int error = parts_of(call, from, {call.comm->size, 0, &topology->destinations}, out)) return error;
  if (int error = parts_of(call, to, {call.comm->size, 0, &topology->sources, topology->kind == MPI_CART}, in)) return error;
  if (int error = check_own_part(call, out.bytes_of(call.comm->rank), in.bytes_of(call.comm->rank))) return error;
  sign_pairs(call, out, in);
  return carry_out<Movement<Parts, Parts>>(call, GOAL_CALL_ALLTOALLV, 0, size_t{0}, std::move(out), std::move(in));
}

int gather(const Call& call, const Side& from, const Side& to, int root) {
  return collect<Elements>(call, GOAL_CALL_GATHER, from, to, root);
}
int gatherv(const Call& call, const Side& from, const Side& to, int root) {
  return collect<Parts>(call, GOAL_CALL_GATHERV, from, to, root);
}
int allgather(const Call& call, const Side& from, const Side& to) {
  return collect<Elements>(call, GOAL_CALL_ALLGATHER, from, to, kAllRanks);
}
int allgatherv(const Call& call, const Side& from, const Side& to) {
  return collect<Parts>(call, GOAL_CALL_ALLGATHERV, from, to, kAllRanks);
}
int scatter(const Call& call, const Side& from, const Side& to, int root) {
  return distribute<Elements>(call, GOAL_CALL_SCATTER, from, to, root);
}
int scatterv(const Call& call, const Side& from, const Side& to, int root) {
  return distribute<Parts>(call, GOAL_CALL_SCATTERV, from, to, root);
}
int alltoall(const Call& call, const Side& from, const Side& to) { return exchange<Elements>(call, GOAL_CALL_ALLTOALL, from, to); }
int alltoallv(const Call& call, const Side& from, const Side& to) { return exchange<Parts>(call, GOAL_CALL_ALLTOALLV, from, to); }
constexpr auto& alltoallw = alltoallv;
constexpr auto& neighbor_alltoall = neighbor;
constexpr auto& neighbor_alltoallv = neighbor;
constexpr auto& neighbor_alltoallw = neighbor;
int neighbor_allgather(const Call& call, const Side& from, const Side& to) { return neighbor(call, from.to_all(), to); }
constexpr auto& neighbor_allgatherv = neighbor_allgather;

}  // namespace

MPI_FORMS_AS(Barrier, barrier, , (call), MPI_Comm comm)
}  // namespace portunus::mpi::collectives

// The two sides of a call as the user gives them, by the names of their parameters.
#define MPI_SENT Side(sendbuf, sendcount, sendtype)
#define MPI_SENT_V Side(sendbuf, sendcounts, sdispls, sendtype)
#define MPI_SENT_W Side(sendbuf, sendcounts, sdispls, sendtypes)
#define MPI_RECEIVED Side(recvbuf, recvcount, recvtype)
#define MPI_RECEIVED_V Side(recvbuf, recvcounts, rdispls, recvtype)
#define MPI_RECEIVED_W Side(recvbuf, recvcounts, rdispls, recvtypes)
#define MPI_SEND const void *sendbuf, Count sendcount, MPI_Datatype sendtype
#define MPI_SEND_V const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], MPI_Datatype sendtype
#define MPI_SEND_W(Bytes) const void *sendbuf, const Count sendcounts[], const Bytes sdispls[], const MPI_Datatype sendtypes[]
#define MPI_RECEIVE void *recvbuf, Count recvcount, MPI_Datatype recvtype
#define MPI_RECEIVE_V void *recvbuf, const Count recvcounts[], const Displacement rdispls[], MPI_Datatype recvtype
#define MPI_RECEIVE_W(Bytes) void *recvbuf, const Count recvcounts[], const Bytes rdispls[], const MPI_Datatype recvtypes[]

MPI_FORMS(Bcast, bcast, (call, buffer, count, datatype, root), void* buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
MPI_FORMS(Gather, gather, (call, MPI_SENT, MPI_RECEIVED, root), MPI_SEND, MPI_RECEIVE, int root, MPI_Comm comm)
MPI_FORMS(Gatherv, gatherv, (call, MPI_SENT, MPI_RECEIVED_V, root), MPI_SEND, MPI_RECEIVE_V, int root, MPI_Comm comm)
MPI_FORMS(Scatter, scatter, (call, MPI_SENT, MPI_RECEIVED, root), MPI_SEND, MPI_RECEIVE, int root, MPI_Comm comm)
MPI_FORMS(Scatterv, scatterv, (call, MPI_SENT_V, MPI_RECEIVED, root), MPI_SEND_V, MPI_RECEIVE, int root, MPI_Comm comm)
MPI_FORMS(Allgather, allgather, (call, MPI_SENT, MPI_RECEIVED), MPI_SEND, MPI_RECEIVE, MPI_Comm comm)
MPI_FORMS(Allgatherv, allgatherv, (call, MPI_SENT, MPI_RECEIVED_V), MPI_SEND, MPI_RECEIVE_V, MPI_Comm comm)
MPI_FORMS(Alltoall, alltoall, (call, MPI_SENT, MPI_RECEIVED), MPI_SEND, MPI_RECEIVE, MPI_Comm comm)
MPI_FORMS(Alltoallv, alltoallv, (call, MPI_SENT_V, MPI_RECEIVED_V), MPI_SEND_V, MPI_RECEIVE_V, MPI_Comm comm)
MPI_FORMS(Alltoallw, alltoallw, (call, MPI_SENT_W, MPI_RECEIVED_W), MPI_SEND_W(Displacement), MPI_RECEIVE_W(Displacement), MPI_Comm comm)
MPI_FORMS(Neighbor_allgather, neighbor_allgather, (call, MPI_SENT, MPI_RECEIVED), MPI_SEND, MPI_RECEIVE, MPI_Comm comm)
MPI_FORMS(Neighbor_allgatherv, neighbor_allgatherv, (call, MPI_SENT, MPI_RECEIVED_V), MPI_SEND, MPI_RECEIVE_V, MPI_Comm comm)
MPI_FORMS(Neighbor_alltoall, neighbor_alltoall, (call, MPI_SENT, MPI_RECEIVED), MPI_SEND, MPI_RECEIVE, MPI_Comm comm)
MPI_FORMS(Neighbor_alltoallv, neighbor_alltoallv, (call, MPI_SENT_V, MPI_RECEIVED_V), MPI_SEND_V, MPI_RECEIVE_V, MPI_Comm comm)
MPI_FORMS(Neighbor_alltoallw, neighbor_alltoallw, (call, MPI_SENT_W, MPI_RECEIVED_W), MPI_SEND_W(MPI_Aint), MPI_RECEIVE_W(MPI_Aint),
          MPI_Comm comm)
