// collectives.cpp: a rank's collectives: see rank.hpp.
#include "tests/simulation/mpi/rank.hpp"

namespace portunus::simulation {

template <class Blocking, class Nonblocking>
void Rank::either(const Action& action, const char* what, Blocking&& blocking, Nonblocking&& nonblocking, std::function<void()> look) {
  machine_.acts(what, action.number);
  if (!action.nonblocking) {
    if (check(blocking(), what)) look();
    return;
  }
  Open open{.number = action.number, .look = std::move(look)};
  check(nonblocking(&open.request), what);
  open_.push_back(std::move(open));
}

void Rank::collective(const Action& action) {
  const Comm& comm = comm_of(action);
  const MPI_Comm c = comm.handle;
  const int count = static_cast<int>(action.length), root = action.peer, n = comm.size, me = comm.rank;
  const size_t k = action.length, all = k * static_cast<size_t>(n);
  const uint64_t number = action.number;
  auto in = std::make_shared<std::vector<int64_t>>(all + 1), out = std::make_shared<std::vector<int64_t>>(all + 1, -1);
  for (size_t i = 0; i < all; ++i) (*in)[i] = value(number, me, i);
  // Whether `out` begins with `size` values as `wanted` says, and nothing is written beyond.
  const auto look = [this, in, out](size_t size, auto wanted) {
    return [this, in, out, size, wanted] {
      for (size_t i = 0; i < out->size(); ++i)
        if ((*out)[i] != (i < size ? wanted(i) : -1))
          return machine_.violated(("a collective gives a wrong value at " + std::to_string(i)).c_str());
    };
  };
  const auto sum = [number, n](size_t i) {
    int64_t result = 0;
    for (int r = 0; r < n; ++r) result += value(number, r, i);
    return result;
  };
  void *const send = in->data(), *const get = out->data();
  const MPI_Datatype type = MPI_INT64_T;
  switch (action.collective) {
    case Collective::barrier:
      return either(
          action, "MPI_Barrier", [&] { return MPI_Barrier(c); }, [&](MPI_Request* r) { return MPI_Ibarrier(c, r); }, [] {});
    case Collective::bcast:
      if (me == root) *out = *in;
      return either(
          action, "MPI_Bcast", [&] { return MPI_Bcast(get, count, type, root, c); },
          [&](MPI_Request* r) { return MPI_Ibcast(get, count, type, root, c, r); },
          me == root ? std::function<void()>([out] {}) : look(k, [number, root](size_t i) { return value(number, root, i); }));
    case Collective::reduce:
      return either(
          action, "MPI_Reduce", [&] { return MPI_Reduce(send, get, count, type, MPI_SUM, root, c); },
          [&](MPI_Request* r) { return MPI_Ireduce(send, get, count, type, MPI_SUM, root, c, r); }, look(me == root ? k : 0, sum));
    case Collective::allreduce:
      return either(
          action, "MPI_Allreduce", [&] { return MPI_Allreduce(send, get, count, type, MPI_SUM, c); },
          [&](MPI_Request* r) { return MPI_Iallreduce(send, get, count, type, MPI_SUM, c, r); }, look(k, sum));
    case Collective::gather:
      return either(
          action, "MPI_Gather", [&] { return MPI_Gather(send, count, type, get, count, type, root, c); },
          [&](MPI_Request* r) { return MPI_Igather(send, count, type, get, count, type, root, c, r); },
          look(me == root ? all : 0, [number, k](size_t i) { return value(number, static_cast<int>(i / k), i % k); }));
    case Collective::scatter:
      return either(
          action, "MPI_Scatter", [&] { return MPI_Scatter(send, count, type, get, count, type, root, c); },
          [&](MPI_Request* r) { return MPI_Iscatter(send, count, type, get, count, type, root, c, r); },
          look(k, [number, k, root, me](size_t i) { return value(number, root, k * static_cast<size_t>(me) + i); }));
    case Collective::allgather:
      return either(
          action, "MPI_Allgather", [&] { return MPI_Allgather(send, count, type, get, count, type, c); },
          [&](MPI_Request* r) { return MPI_Iallgather(send, count, type, get, count, type, c, r); },
          look(all, [number, k](size_t i) { return value(number, static_cast<int>(i / k), i % k); }));
    case Collective::alltoall:
      return either(
          action, "MPI_Alltoall", [&] { return MPI_Alltoall(send, count, type, get, count, type, c); },
          [&](MPI_Request* r) { return MPI_Ialltoall(send, count, type, get, count, type, c, r); },
          look(all, [number, k, me](size_t i) { return value(number, static_cast<int>(i / k), k * static_cast<size_t>(me) + i % k); }));
    case Collective::scan:
      return either(
          action, "MPI_Scan", [&] { return MPI_Scan(send, get, count, type, MPI_SUM, c); },
          [&](MPI_Request* r) { return MPI_Iscan(send, get, count, type, MPI_SUM, c, r); }, look(k, [number, me](size_t i) {
            int64_t result = 0;
            for (int r = 0; r <= me; ++r) result += value(number, r, i);
            return result;
          }));
    case Collective::reduce_scatter:
      return either(
          action, "MPI_Reduce_scatter_block", [&] { return MPI_Reduce_scatter_block(send, get, count, type, MPI_SUM, c); },
          [&](MPI_Request* r) { return MPI_Ireduce_scatter_block(send, get, count, type, MPI_SUM, c, r); },
          look(k, [sum, k, me](size_t i) { return sum(k * static_cast<size_t>(me) + i); }));
    case Collective::dup: {
      auto made = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
      return either(
          action, "MPI_Comm_dup", [&] { return MPI_Comm_dup(c, made.get()); },
          [&](MPI_Request* r) { return MPI_Comm_idup(c, made.get(), r); }, [this, made, number] { made_[number] = *made; });
    }
    case Collective::count: break;
  }
}

}  // namespace portunus::simulation
