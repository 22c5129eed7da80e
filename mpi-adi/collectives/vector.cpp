// vector.cpp: collectives in which every rank has a size of its own: gatherv, scatterv, allgatherv, alltoallv, alltoallw.
//
// Sizes are known to some ranks only, so no schedules of these stay.
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.5, 6.6, 6.7, 6.8.
#include <vector>

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/collectives/forms.hpp"
#include "mpi-adi/collectives/inter.hpp"

namespace portunus::mpi::collectives {
namespace {

// One rank's parts of a buffer, by their ranks: for GOAL, sizes and places in bytes.
class OwnParts {
 public:
  OwnParts() = default;
  OwnParts(const void* buffer, Counts counts, Counts displacements, MPI_Datatype type, int ranks) {
    const Elements base(buffer, 0, type);
    for (int i = 0; i < ranks; ++i) add(base.part(displacements[i], static_cast<size_t>(counts[i])));
    locate(static_cast<std::byte*>(const_cast<void*>(buffer)));
  }
  // Displacements in bytes, types of their own.
  OwnParts(const void* buffer, Counts counts, Counts displacements, const MPI_Datatype types[], int ranks) {
    auto* base = static_cast<std::byte*>(const_cast<void*>(buffer));
    for (int i = 0; i < ranks; ++i) add(Elements(base + displacements[i], static_cast<size_t>(counts[i]), types[i]));
    locate(base);
  }

  bool contiguous() const { return contiguous_; }
  std::byte* data() const { return base_; }
  size_t bytes() const { return bytes_; }
  // Packed, one part follows the other.
  const Pieces& pieces(bool direct) const { return direct ? direct_ : packed_; }
  const Elements& part(int rank) const { return parts_[static_cast<size_t>(rank)]; }
  void pack(std::byte* to) const {
    for (size_t i = 0; i < parts_.size(); ++i) parts_[i].pack(to + packed_.places[i]);
  }
  void unpack(const std::byte* from) const {
    for (size_t i = 0; i < parts_.size(); ++i) parts_[i].unpack(from + packed_.places[i]);
  }

 private:
  void add(const Elements& part) {
    parts_.push_back(part);
    packed_.add(part.bytes(), static_cast<ptrdiff_t>(bytes_));
    bytes_ += part.bytes();
    contiguous_ = contiguous_ && part.contiguous();
  }
  // The data of the first part that has any is what direct places count from: the buffer itself may have no address.
  void locate(std::byte* buffer) {
    base_ = buffer;
    for (const Elements& part : parts_)
      if (part.bytes() > 0) {
        base_ = part.data();
        break;
      }
    for (const Elements& part : parts_) direct_.add(part.bytes(), part.bytes() > 0 ? part.data() - base_ : 0);
  }

  std::vector<Elements> parts_;
  Pieces packed_, direct_;
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  bool contiguous_ = true;
};

// The steps of each of them with its two ends, of which either may be one piece (Elements) or one for each rank (OwnParts).
template <class From, class To>
class Exchange : public Work {
 public:
  Exchange(GOAL_Call_kind kind, int root, From from, To to, bool own_is_there) : from_(std::move(from)), to_(std::move(to)) {
    key.kind = kind;
    root_ = root;
    in_bytes = from_.bytes();
    out_bytes = to_.bytes();
    user_in = from_.data();
    user_out = to_.data();
    in_is_direct = from_.contiguous();
    out_is_direct = to_.contiguous();
    in_place = own_is_there;
  }
  void fill(std::byte* in) const override { from_.pack(in); }
  void drain(const std::byte* out) const override {
    if (!out_is_direct) to_.unpack(out);
  }

 protected:
  void describe_out(GOAL_Call& call) const {
    const Pieces& pieces = to_.pieces(out_is_direct);
    call.kind = key.kind;
    call.root = root_;
    call.bytes = in_bytes;
    call.out_sizes = pieces.sizes.data();
    call.out_places = pieces.places.data();
  }

  From from_;
  To to_;
  int root_;
};

class Gatherv : public Exchange<Elements, OwnParts> {
 public:
  Gatherv(int root, const Elements& from, OwnParts to, bool own_is_there)
      : Exchange(GOAL_CALL_GATHERV, root, from, std::move(to), own_is_there) {}
  void describe(GOAL_Call& call) override { describe_out(call); }
};

class Allgatherv : public Exchange<Elements, OwnParts> {
 public:
  Allgatherv(const Elements& from, OwnParts to, bool own_is_there) : Exchange(GOAL_CALL_ALLGATHERV, 0, from, std::move(to), own_is_there) {}
  void describe(GOAL_Call& call) override { describe_out(call); }
};

class Scatterv : public Exchange<OwnParts, Elements> {
 public:
  Scatterv(int root, OwnParts from, const Elements& to, bool own_stays)
      : Exchange(GOAL_CALL_SCATTERV, root, std::move(from), to, false), own_stays_(own_stays) {}
  void describe(GOAL_Call& call) override {
    const Pieces& pieces = from_.pieces(in_is_direct);
    call.kind = GOAL_CALL_SCATTERV;
    call.root = root_;
    call.bytes = out_bytes;
    call.in_sizes = pieces.sizes.data();
    call.in_places = pieces.places.data();
    if (own_stays_) call.out = nullptr;
  }

 private:
  bool own_stays_;
};

class Alltoallv : public Exchange<OwnParts, OwnParts> {
 public:
  // In place both are the same parts.
  Alltoallv(OwnParts from, OwnParts to, bool own_is_there)
      : Exchange(GOAL_CALL_ALLTOALLV, 0, std::move(from), std::move(to), own_is_there) {}
  void describe(GOAL_Call& call) override { describe_exchange(call, from_.pieces(in_is_direct && !in_place), to_.pieces(out_is_direct)); }
};

int gatherv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, Counts recvcounts,
            Counts displs, MPI_Datatype recvtype, int root) {
  if (call.comm->inter) return inter::rooted(call, root, false, {recvbuf, recvtype, 0, recvcounts, displs}, {sendbuf, sendtype, sendcount});
  if (int error = check_root(call, root)) return error;
  const bool is_root = call.comm->rank == root, own_is_there = is_root && sendbuf == MPI_IN_PLACE;
  if (!own_is_there) {
    if (int error = check_buffer(call, sendbuf, sendcount, sendtype)) return error;
    if (int error = check_memory(call, sendbuf, sendcount, sendtype)) return error;
  }
  if (!is_root) return carry_out<Gatherv>(call, root, Elements(sendbuf, static_cast<size_t>(sendcount), sendtype), OwnParts(), false);
  if (int error = check_buffers(call, recvbuf, recvcounts, displs, recvtype)) return error;
  OwnParts all(recvbuf, recvcounts, displs, recvtype, call.comm->size);
  const Elements mine = own_is_there ? all.part(root) : Elements(sendbuf, static_cast<size_t>(sendcount), sendtype);
  if (!own_is_there)
    if (int error = check_distinct(call, mine, all.part(root))) return error;
  if (int error = check_own_part(call, mine.bytes(), all.part(root).bytes())) return error;
  return carry_out<Gatherv>(call, root, mine, std::move(all), own_is_there);
}

int scatterv(const Call& call, const void* sendbuf, Counts sendcounts, Counts displs, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, int root) {
  if (call.comm->inter) return inter::rooted(call, root, true, {sendbuf, sendtype, 0, sendcounts, displs}, {recvbuf, recvtype, recvcount});
  if (int error = check_root(call, root)) return error;
  const bool is_root = call.comm->rank == root, own_stays = is_root && recvbuf == MPI_IN_PLACE;
  if (!own_stays)
    if (int error = check_buffer(call, recvbuf, recvcount, recvtype)) return error;
  const Elements mine = own_stays ? Elements() : Elements(recvbuf, static_cast<size_t>(recvcount), recvtype);
  if (!is_root) return carry_out<Scatterv>(call, root, OwnParts(), mine, false);
  if (int error = check_buffers(call, sendbuf, sendcounts, displs, sendtype)) return error;
  OwnParts all(sendbuf, sendcounts, displs, sendtype, call.comm->size);
  if (!own_stays) {
    if (int error = check_distinct(call, all.part(root), mine)) return error;
    if (int error = check_own_part(call, all.part(root).bytes(), mine.bytes(), false)) return error;
  }
  return carry_out<Scatterv>(call, root, std::move(all), mine, own_stays);
}

int allgatherv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, Counts recvcounts,
               Counts displs, MPI_Datatype recvtype) {
  if (call.comm->inter)
    return inter::all(call, {sendbuf, sendtype, sendcount, nullptr, nullptr, nullptr, true}, {recvbuf, recvtype, 0, recvcounts, displs});
  if (int error = check_buffers(call, recvbuf, recvcounts, displs, recvtype)) return error;
  OwnParts all(recvbuf, recvcounts, displs, recvtype, call.comm->size);
  const Elements own = all.part(call.comm->rank);
  if (sendbuf == MPI_IN_PLACE) return carry_out<Allgatherv>(call, own, std::move(all), true);
  if (int error = check_buffer(call, sendbuf, sendcount, sendtype)) return error;
  if (int error = check_memory(call, sendbuf, sendcount, sendtype)) return error;
  const Elements mine(sendbuf, static_cast<size_t>(sendcount), sendtype);
  if (int error = check_distinct(call, mine, own)) return error;
  if (int error = check_own_part(call, mine.bytes(), own.bytes(), false)) return error;
  return carry_out<Allgatherv>(call, mine, std::move(all), false);
}

int exchange_parts(const Call& call, OwnParts from, OwnParts to) {
  for (int i = 0; i < call.comm->size; ++i)
    if (int error = check_distinct(call, from.part(i), to.part(i))) return error;
  if (int error = check_own_part(call, from.part(call.comm->rank).bytes(), to.part(call.comm->rank).bytes())) return error;
  return carry_out<Alltoallv>(call, std::move(from), std::move(to), false);
}

int alltoallv(const Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, MPI_Datatype sendtype, void* recvbuf,
              Counts recvcounts, Counts rdispls, MPI_Datatype recvtype) {
  if (call.comm->inter) return inter::all(call, {sendbuf, sendtype, 0, sendcounts, sdispls}, {recvbuf, recvtype, 0, recvcounts, rdispls});
  if (int error = check_buffers(call, recvbuf, recvcounts, rdispls, recvtype)) return error;
  OwnParts in(recvbuf, recvcounts, rdispls, recvtype, call.comm->size);
  if (sendbuf == MPI_IN_PLACE) return carry_out<Alltoallv>(call, in, in, true);
  if (int error = check_buffers(call, sendbuf, sendcounts, sdispls, sendtype)) return error;
  return exchange_parts(call, OwnParts(sendbuf, sendcounts, sdispls, sendtype, call.comm->size), std::move(in));
}

int check_buffers_of_types(const Call& call, const void* buffer, Counts counts, Counts displacements, const MPI_Datatype types[]) {
  if (types == nullptr) return raise(call.function, call.comm, MPI_ERR_TYPE, "the datatypes are null");
  for (int i = 0; !counts.null() && !displacements.null() && i < call.comm->size; ++i)
    if (int error = check_buffer(call, counts[i] == 0 ? nullptr : buffer, counts[i], types[i])) return error;
  for (int i = 0; debug.buffers && !counts.null() && !displacements.null() && i < call.comm->size; ++i)
    if (int error = check_memory(call, static_cast<const std::byte*>(buffer) + displacements[i], counts[i], types[i])) return error;
  return !counts.null() && !displacements.null() ? MPI_SUCCESS : check_buffers(call, buffer, counts, displacements, types[0]);
}

int alltoallw(const Call& call, const void* sendbuf, Counts sendcounts, Counts sdispls, const MPI_Datatype sendtypes[], void* recvbuf,
              Counts recvcounts, Counts rdispls, const MPI_Datatype recvtypes[]) {
  if (call.comm->inter)
    return inter::all(call, {sendbuf, MPI_BYTE, 0, sendcounts, sdispls, sendtypes}, {recvbuf, MPI_BYTE, 0, recvcounts, rdispls, recvtypes});
  if (int error = check_buffers_of_types(call, recvbuf, recvcounts, rdispls, recvtypes)) return error;
  OwnParts in(recvbuf, recvcounts, rdispls, recvtypes, call.comm->size);
  if (sendbuf == MPI_IN_PLACE) return carry_out<Alltoallv>(call, in, in, true);
  if (int error = check_buffers_of_types(call, sendbuf, sendcounts, sdispls, sendtypes)) return error;
  return exchange_parts(call, OwnParts(sendbuf, sendcounts, sdispls, sendtypes, call.comm->size), std::move(in));
}

}  // namespace
}  // namespace portunus::mpi::collectives

MPI_FORMS(Gatherv, gatherv, (call, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root), const void* sendbuf,
          Count sendcount, MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[], const Displacement displs[],
          MPI_Datatype recvtype, int root, MPI_Comm comm)
MPI_FORMS(Scatterv, scatterv, (call, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root), const void* sendbuf,
          const Count sendcounts[], const Displacement displs[], MPI_Datatype sendtype, void* recvbuf, Count recvcount,
          MPI_Datatype recvtype, int root, MPI_Comm comm)
MPI_FORMS(Allgatherv, allgatherv, (call, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype), const void* sendbuf,
          Count sendcount, MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[], const Displacement displs[],
          MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Alltoallv, alltoallv, (call, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype), const void* sendbuf,
          const Count sendcounts[], const Displacement sdispls[], MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[],
          const Displacement rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
MPI_FORMS(Alltoallw, alltoallw, (call, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
          const void* sendbuf, const Count sendcounts[], const Displacement sdispls[], const MPI_Datatype sendtypes[], void* recvbuf,
          const Count recvcounts[], const Displacement rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
