// neighbours.cpp: collectives along the edges of a topology.
//
// Several edges between two ranks pair by order: the n-th that one lists meets the n-th that the other lists. In a grid what is sent in
// one direction comes from the opposite one, so a rank lists what it receives with the directions of each dimension turned.
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 8.6.
#include <algorithm>
#include <vector>

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/collectives/forms.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/topology/topology.hpp"

namespace portunus::mpi::collectives {
namespace {

// The data that go along the edges in one direction, by the order of the neighbours; packed, one after the other.
class Edges {
 public:
  void add(int peer, const Elements& part) {
    peers_.push_back(peer);
    parts_.push_back(part);
    places_.push_back(bytes_);
    bytes_ += part.bytes();
    contiguous_ = contiguous_ && part.contiguous();
  }
  bool contiguous() const { return contiguous_; }
  size_t bytes() const { return bytes_; }
  // Sizes of the edges between a rank and itself, in the order in which those of both directions meet.
  std::vector<size_t> sizes_to(int self, bool turned) const {
    std::vector<size_t> sizes;
    for (size_t k = 0; k < parts_.size(); ++k)
      if (const size_t i = turned ? k ^ 1 : k; peers_[i] == self) sizes.push_back(parts_[i].bytes());
    return sizes;
  }
  void pack(std::byte* to) const {
    for (size_t i = 0; i < parts_.size(); ++i)
      if (peers_[i] != MPI_PROC_NULL) parts_[i].pack(to + places_[i]);
  }
  void unpack(const std::byte* from) const {
    for (size_t i = 0; i < parts_.size(); ++i)
      if (peers_[i] != MPI_PROC_NULL) parts_[i].unpack(from + places_[i]);
  }
  // On the user's memory, or on what is packed at `base`.
  std::vector<GOAL_Edge> list(GOAL_Buffer base, bool direct, bool turned) const {
    std::vector<GOAL_Edge> edges;
    for (size_t k = 0; k < parts_.size(); ++k) {
      const size_t i = turned ? k ^ 1 : k;
      if (peers_[i] == MPI_PROC_NULL || parts_[i].bytes() == 0) continue;
      GOAL_Buffer buffer = direct ? GOAL_User(parts_[i].data()) : base;
      if (!direct) buffer.place += places_[i];
      edges.push_back({peers_[i], 0, buffer, parts_[i].bytes()});
    }
    return edges;
  }

 private:
  std::vector<int> peers_;
  std::vector<Elements> parts_;
  std::vector<size_t> places_;
  size_t bytes_ = 0;
  bool contiguous_ = true;
};

class NeighbourExchange : public Work {
 public:
  NeighbourExchange(Edges out, Edges in, bool grid) : out_(std::move(out)), in_(std::move(in)), grid_(grid) {
    key.kind = GOAL_CALL_EXCHANGE;
    in_bytes = out_.bytes();
    out_bytes = in_.bytes();
    in_is_direct = out_.contiguous();
    out_is_direct = in_.contiguous();
  }
  void describe(GOAL_Call& call) override {
    leaving_ = out_.list(GOAL_User(call.in), in_is_direct, false);
    coming_ = in_.list(GOAL_User(call.out), out_is_direct, grid_);
    call.kind = GOAL_CALL_EXCHANGE;
    call.leaving = leaving_.data();
    call.num_leaving = static_cast<int>(leaving_.size());
    call.coming = coming_.data();
    call.num_coming = static_cast<int>(coming_.size());
  }
  void fill(std::byte* in) const override { out_.pack(in); }
  void drain(const std::byte* out) const override {
    if (!out_is_direct) in_.unpack(out);
  }

 private:
  Edges out_, in_;
  bool grid_;
  std::vector<GOAL_Edge> leaving_, coming_;
};

int check_topology(const Call& call) {
  if (call.comm->topology != nullptr) return MPI_SUCCESS;
  return raise(call.function, call.comm, MPI_ERR_TOPOLOGY, "the communicator has no topology");
}

int exchange(const Call& call, Edges out, Edges in) {
  const bool grid = call.comm->topology->kind == MPI_CART;
  const std::vector<size_t> sent = out.sizes_to(call.comm->rank, false), places = in.sizes_to(call.comm->rank, grid);
  for (size_t i = 0; i < std::min(sent.size(), places.size()); ++i)
    if (int error = check_own_part(call, sent[i], places[i])) return error;
  return carry_out<NeighbourExchange>(call, std::move(out), std::move(in), grid);
}

// Parts of one type, `count` elements each, one after the other.
int equal_edges(const Call& call, const std::vector<int>& peers, const void* buffer, MPI_Count count, MPI_Datatype type, Edges& edges) {
  if (int error = check_buffer(call, buffer, count, type)) return error;
  if (int error = check_memory(call, buffer, count * static_cast<MPI_Count>(peers.size()), type)) return error;
  const size_t each = static_cast<size_t>(count);
  const Elements all(buffer, each * peers.size(), type);
  for (size_t i = 0; i < peers.size(); ++i) edges.add(peers[i], all.part(static_cast<ptrdiff_t>(i * each), each));
  return MPI_SUCCESS;
}

// The same to all.
int same_edges(const Call& call, const std::vector<int>& peers, const void* buffer, MPI_Count count, MPI_Datatype type, Edges& edges) {
  if (int error = check_buffer(call, buffer, count, type)) return error;
  if (int error = check_memory(call, buffer, count, type)) return error;
  const Elements mine(buffer, static_cast<size_t>(count), type);
  for (const int peer : peers) edges.add(peer, mine);
  return MPI_SUCCESS;
}

int check_arrays(const Call& call, size_t degree, std::initializer_list<Counts> arrays, bool has_types) {
  bool missing = !has_types;
  for (const Counts& array : arrays) missing = missing || array.null();
  if (missing && degree > 0) return raise(call.function, call.comm, MPI_ERR_ARG, "an array of counts, displacements or types is null");
  return MPI_SUCCESS;
}

int uneven_edges(const Call& call, const std::vector<int>& peers, const void* buffer, Counts counts, Counts displacements,
                 MPI_Datatype type, Edges& edges) {
  if (int error = check_arrays(call, peers.size(), {counts, displacements}, true)) return error;
  for (size_t i = 0; i < peers.size(); ++i) {
    if (int error = check_buffer(call, buffer, counts[i], type)) return error;
    const Elements part = Elements(buffer, 0, type).part(displacements[i], static_cast<size_t>(counts[i]));
    if (int error = check_memory(call, part.data(), counts[i], type)) return error;
    edges.add(peers[i], part);
  }
  return MPI_SUCCESS;
}

int typed_edges(const Call& call, const std::vector<int>& peers, const void* buffer, Counts counts, Counts displacements,
                const MPI_Datatype types[], Edges& edges) {
  if (int error = check_arrays(call, peers.size(), {counts, displacements}, types != nullptr)) return error;
  for (size_t i = 0; i < peers.size(); ++i) {
    const void* at = reinterpret_cast<const void*>(reinterpret_cast<intptr_t>(buffer) + displacements[i]);
    if (int error = check_buffer(call, at, counts[i], types[i])) return error;
    if (int error = check_memory(call, at, counts[i], types[i])) return error;
    edges.add(peers[i], Elements(at, static_cast<size_t>(counts[i]), types[i]));
  }
  return MPI_SUCCESS;
}

int neighbor_allgather(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype) {
  if (int error = check_topology(call)) return error;
  Edges out, in;
  if (int error = same_edges(call, call.comm->topology->destinations, sendbuf, sendcount, sendtype, out)) return error;
  if (int error = equal_edges(call, call.comm->topology->sources, recvbuf, recvcount, recvtype, in)) return error;
  return exchange(call, std::move(out), std::move(in));
}

int neighbor_allgatherv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, Counts recvcounts,
                        Counts displs, MPI_Datatype recvtype) {
  if (int error = check_topology(call)) return error;
  Edges out, in;
  if (int error = same_edges(call, call.comm->topology->destinations, sendbuf, sendcount, sendtype, out)) return error;
  if (int error = uneven_edges(call, call.comm->topology->sources, recvbuf, recvcounts, displs, recvtype, in)) return error;
  return exchange(call, std::move(out), std::move(in));
}

int neighbor_alltoall(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                      MPI_Datatype recvtype) {
  if (int error = check_topology(call)) return error;
  Edges out, in;
  if (int error = equal_edges(call, call.comm->topology->destinations, sendbuf, sendcount, sendtype, out)) return error;
  if (int error = equal_edges(call, call.comm->topology->sources, recvbuf, recvcount, recvtype, in)) return error;
  return exchange(call, std::move(out), std::move(in));
}

int neighbor_alltoallv(const Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, MPI_Datatype sendtype, void* recvbuf,
                       Counts recvcounts, Counts rdispls, MPI_Datatype recvtype) {
  if (int error = check_topology(call)) return error;
  Edges out, in;
  if (int error = uneven_edges(call, call.comm->topology->destinations, sendbuf, sendcounts, sdispls, sendtype, out)) return error;
  if (int error = uneven_edges(call, call.comm->topology->sources, recvbuf, recvcounts, rdispls, recvtype, in)) return error;
  return exchange(call, std::move(out), std::move(in));
}

int neighbor_alltoallw(const Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, const MPI_Datatype sendtypes[],
                       void* recvbuf, Counts recvcounts, Counts rdispls, const MPI_Datatype recvtypes[]) {
  if (int error = check_topology(call)) return error;
  Edges out, in;
  if (int error = typed_edges(call, call.comm->topology->destinations, sendbuf, sendcounts, sdispls, sendtypes, out)) return error;
  if (int error = typed_edges(call, call.comm->topology->sources, recvbuf, recvcounts, rdispls, recvtypes, in)) return error;
  return exchange(call, std::move(out), std::move(in));
}

}  // namespace
}  // namespace portunus::mpi::collectives

MPI_FORMS(Neighbor_allgather, neighbor_allgather, (call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), const void* sendbuf,
          Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Neighbor_allgatherv, neighbor_allgatherv, (call, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
          const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[], const Displacement displs[],
          MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Neighbor_alltoall, neighbor_alltoall, (call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), const void* sendbuf,
          Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Neighbor_alltoallv, neighbor_alltoallv, (call, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
          const void* sendbuf, const Count sendcounts[], const Displacement sdispls[], MPI_Datatype sendtype, void* recvbuf,
          const Count recvcounts[], const Displacement rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Neighbor_alltoallw, neighbor_alltoallw, (call, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
          const void* sendbuf, const Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
          const Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
