// inter.cpp: see inter.hpp. All data cross between the groups by one exchange; reductions are done where the result is wanted.
#include "mpi-adi/collectives/inter.hpp"

#include <vector>

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/collectives/combine.hpp"
#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/core/errors.hpp"

namespace portunus::mpi::collectives::inter {
namespace {

// The data that go to, or come from, each rank of the other group.
using Parts = std::vector<Elements>;

size_t bytes_of(const Parts& parts) {
  size_t bytes = 0;
  for (const Elements& part : parts) bytes += part.bytes();
  return bytes;
}

class Crossing : public Work {
 public:
  Crossing(const Communicator& comm, Parts out, Parts in)
      : out_(std::move(out)), in_(std::move(in)), leaving_(pieces_of(comm, out_)), coming_(pieces_of(comm, in_)) {
    key.kind = GOAL_CALL_ALLTOALLV;
    in_bytes = bytes_of(out_);
    out_bytes = bytes_of(in_);
  }
  void describe(GOAL_Call& call) override { describe_exchange(call, leaving_, coming_); }
  void fill(std::byte* in) const override {
    for (const Elements& part : out_) {
      part.pack(in);
      in += part.bytes();
    }
  }
  void drain(const std::byte* out) const override {
    for (const Elements& part : in_) {
      part.unpack(out);
      out += part.bytes();
    }
  }

 private:
  // By the ranks of both groups, of which only the other one's have any; packed.
  static Pieces pieces_of(const Communicator& comm, const Parts& parts) {
    const auto all = static_cast<size_t>(comm.size + comm.peers), base = static_cast<size_t>(remote_base(comm));
    Pieces found{std::vector<size_t>(all, 0), std::vector<ptrdiff_t>(all, 0)};
    size_t at = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      found.sizes[base + i] = parts[i].bytes();
      found.places[base + i] = static_cast<ptrdiff_t>(at);
      at += parts[i].bytes();
    }
    return found;
  }

  Parts out_, in_;
  Pieces leaving_, coming_;
};

// Incoming data are combined in the order of the other group's ranks, and elements from `first` on are the result.
class Reduction : public Crossing {
 public:
  Reduction(const Communicator& comm, Parts out, Parts in, const Elements& result, size_t first, MPI_Op op)
      : Crossing(comm, std::move(out), in),
        ranks_(result.count() > 0 ? in.size() : 0),
        each_(in.empty() ? 0 : in[0].bytes()),
        result_(result),
        first_(first),
        op_(op) {}
  void drain(const std::byte* out) const override {
    if (ranks_ == 0) return;
    const size_t element = result_.bytes() / result_.count();
    std::vector<std::byte> parts(ranks_ * result_.bytes() + 1);
    for (size_t i = 0; i < ranks_; ++i)
      Elements::copy(parts.data() + i * result_.bytes(), out + i * each_ + first_ * element, result_.bytes());
    combine(op_, parts.data(), ranks_, result_);
  }

 private:
  size_t ranks_, each_;
  Elements result_;
  size_t first_;
  OpHold op_;
};

// The elements for rank i of the other group; checked.
int part_of(const Call& call, const Side& side, int i, Elements& part) {
  const size_t k = static_cast<size_t>(i);
  const MPI_Count count = side.counts.null() ? side.count : side.counts[k];
  const MPI_Datatype type = side.types ? side.types[k] : side.type;
  if (side.buffer == MPI_IN_PLACE) return raise(call.function, call.comm, MPI_ERR_BUFFER, "MPI_IN_PLACE is not for intercommunicators");
  if (int error = check_buffer(call, count == 0 ? nullptr : side.buffer, count, type)) return error;
  if (side.types) {
    part = Elements(static_cast<const std::byte*>(side.buffer) + side.displacements[k], static_cast<size_t>(count), type);
    return MPI_SUCCESS;
  }
  const ptrdiff_t place = side.same ? 0 : side.displacements.null() ? ptrdiff_t{i} * count : side.displacements[k];
  part = Elements(side.buffer, 0, type).part(place, static_cast<size_t>(count));
  return MPI_SUCCESS;
}

int parts_of(const Call& call, const Side& side, Parts& parts) {
  parts.resize(static_cast<size_t>(call.comm->peers));
  for (int i = 0; i < call.comm->peers; ++i)
    if (int error = part_of(call, side, i, parts[static_cast<size_t>(i)])) return error;
  return MPI_SUCCESS;
}

int check_root_between(const Call& call, int root) {
  if (root == MPI_ROOT || root == MPI_PROC_NULL || (root >= 0 && root < call.comm->peers)) return MPI_SUCCESS;
  return raise(call.function, call.comm, MPI_ERR_ROOT, "the root %d is no rank of the other group, MPI_ROOT or MPI_PROC_NULL", root);
}

}  // namespace

int all(const Call& call, const Side& out, const Side& in) {
  Parts sent, received;
  if (int error = parts_of(call, out, sent)) return error;
  if (int error = parts_of(call, in, received)) return error;
  return carry_out<Crossing>(call, *call.comm, std::move(sent), std::move(received));
}

int rooted(const Call& call, int root, bool from_root, const Side& at_root, const Side& elsewhere) {
  if (int error = check_root_between(call, root)) return error;
  Parts sent, received;
  Parts& parts = from_root == (root == MPI_ROOT) ? sent : received;
  if (root == MPI_ROOT)
    if (int error = parts_of(call, at_root, parts)) return error;
  if (root >= 0) {
    Side mine = elsewhere;
    mine.same = true;
    parts.resize(static_cast<size_t>(call.comm->peers));
    if (int error = part_of(call, mine, root, parts[static_cast<size_t>(root)])) return error;
  }
  return carry_out<Crossing>(call, *call.comm, std::move(sent), std::move(received));
}

int reduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) {
  if (int error = check_root_between(call, root)) return error;
  if (root == MPI_PROC_NULL) return carry_out<Crossing>(call, *call.comm, Parts(), Parts());
  if (int error = check_buffer(call, root == MPI_ROOT ? recvbuf : sendbuf, count, type)) return error;
  if (int error = check_op(call, op, type)) return error;
  const Elements vector(root == MPI_ROOT ? recvbuf : sendbuf, static_cast<size_t>(count), type);
  Parts parts(static_cast<size_t>(call.comm->peers));
  if (root == MPI_ROOT) {
    parts.assign(parts.size(), vector);
    return carry_out<Reduction>(call, *call.comm, Parts(), std::move(parts), vector, size_t{0}, op);
  }
  parts[static_cast<size_t>(root)] = vector;
  return carry_out<Crossing>(call, *call.comm, std::move(parts), Parts());
}

int reduce_to_all(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Counts counts, MPI_Datatype type, MPI_Op op) {
  size_t first = 0, own = static_cast<size_t>(count), total = own;
  for (int i = 0; !counts.null() && i < call.comm->size; ++i) {
    if (int error = check_buffer(call, recvbuf, counts[i], type)) return error;
    if (i == 0) total = 0;
    if (i == call.comm->rank) {
      first = total;
      own = static_cast<size_t>(counts[i]);
    }
    total += static_cast<size_t>(counts[i]);
  }
  if (int error = check_buffer(call, recvbuf, static_cast<MPI_Count>(own), type)) return error;
  if (int error = check_buffer(call, sendbuf, total > 0 ? 1 : 0, type)) return error;
  if (int error = check_op(call, op, type)) return error;
  const Elements vector(sendbuf, total, type);
  const size_t peers = static_cast<size_t>(call.comm->peers);
  return carry_out<Reduction>(call, *call.comm, Parts(peers, vector), Parts(peers, vector), Elements(recvbuf, own, type), first, op);
}

int refuse(const Call& call) { return raise(call.function, call.comm, MPI_ERR_COMM, "intercommunicators have no such collective"); }

}  // namespace portunus::mpi::collectives::inter
