// A collective whose counts and types were there before compiles no schedule, whatever its memory: blocking, started, and persistent ones
// after they were made; with one size, and with several that alternate. Source: engine/goal/goal_call.h.
#include <functional>
#include <numeric>

#include "../ranks.hpp"
#include "goal_collectives.h"

namespace schedules_test {
namespace {

// Arguments of one call: all calls work on the same numbers of elements, in other memory each.
struct Arguments {
  Arguments(MPI_Comm all, int each)
      : n(ranks()),
        count(each),
        comm(all),
        in(static_cast<size_t>(2 * n * each)),
        out(in.size()),
        counts(static_cast<size_t>(2 * n), each),
        places(counts.size()),
        types(counts.size(), MPI_INT),
        bytes(counts.size()) {
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<int>(i) * each;
      bytes[i] = places[i] * 4;
      far.push_back(bytes[i]);
    }
  }
  int n, count;
  MPI_Comm comm;
  std::vector<int> in, out, counts, places;
  std::vector<MPI_Datatype> types;
  std::vector<int> bytes;
  std::vector<MPI_Aint> far;
  MPI_Request request = MPI_REQUEST_NULL;
};

void product(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] *= static_cast<int*>(in)[i];
}
MPI_Op own_op = MPI_OP_NULL;

struct Call {
  const char* name;
  std::function<int(Arguments&)> blocking, starts, makes;
};
#define CALL(Name, name, ...)                                                                   \
  Call {                                                                                        \
#Name, [](Arguments& a) { return MPI_##Name(__VA_ARGS__, a.comm); },                          \
        [](Arguments& a) { return MPI_I##name(__VA_ARGS__, a.comm, &a.request); },                \
        [](Arguments& a) { return MPI_##Name##_init(__VA_ARGS__, a.comm, MPI_INFO_NULL, &a.request); } \
  }
#define IN a.in.data(), a.count, MPI_INT
#define OUT a.out.data(), a.count, MPI_INT
#define IN_V a.in.data(), a.counts.data(), a.places.data(), MPI_INT
#define OUT_V a.out.data(), a.counts.data(), a.places.data(), MPI_INT
#define REDUCED a.in.data(), a.out.data(), a.count, MPI_INT

std::vector<Call> all_calls() {
  return {CALL(Bcast, bcast, IN, 0),
          CALL(Gather, gather, IN, OUT, 0),
          CALL(Gatherv, gatherv, IN, OUT_V, 1),
          CALL(Scatter, scatter, IN, OUT, 0),
          CALL(Scatterv, scatterv, IN_V, OUT, 1),
          CALL(Allgather, allgather, IN, OUT),
          CALL(Allgatherv, allgatherv, IN, OUT_V),
          CALL(Alltoall, alltoall, IN, OUT),
          CALL(Alltoallv, alltoallv, IN_V, OUT_V),
          CALL(Alltoallw, alltoallw, a.in.data(), a.counts.data(), a.bytes.data(), a.types.data(), a.out.data(), a.counts.data(),
               a.bytes.data(), a.types.data()),
          CALL(Reduce, reduce, REDUCED, MPI_SUM, 0),
          CALL(Allreduce, allreduce, REDUCED, MPI_SUM),
          CALL(Allreduce, allreduce, REDUCED, own_op),
          CALL(Reduce_scatter, reduce_scatter, a.in.data(), a.out.data(), a.counts.data(), MPI_INT, MPI_SUM),
          CALL(Reduce_scatter, reduce_scatter, a.in.data(), a.out.data(), a.counts.data(), MPI_INT, own_op),
          CALL(Reduce_scatter_block, reduce_scatter_block, REDUCED, MPI_SUM),
          CALL(Scan, scan, REDUCED, MPI_SUM),
          CALL(Exscan, exscan, REDUCED, own_op),
          CALL(Neighbor_allgather, neighbor_allgather, IN, OUT),
          CALL(Neighbor_allgatherv, neighbor_allgatherv, IN, OUT_V),
          CALL(Neighbor_alltoall, neighbor_alltoall, IN, OUT),
          CALL(Neighbor_alltoallv, neighbor_alltoallv, IN_V, OUT_V),
          CALL(Neighbor_alltoallw, neighbor_alltoallw, a.in.data(), a.counts.data(), a.far.data(), a.types.data(), a.out.data(),
               a.counts.data(), a.far.data(), a.types.data())};
}

constexpr int kTurns = 70;
const std::vector<int> kSizes[] = {{3}, {5000}, {7, 20, 9}};

// In some calls the ranks meet, which have schedules of their own.
void check(const Call& call, MPI_Comm comm, const std::vector<int>& sizes, bool starts) {
  const uint64_t before = GOAL_Compilations();
  for (int turn = 0; turn < kTurns; ++turn) {
    Arguments a(comm, sizes[static_cast<size_t>(turn) % sizes.size()]);
    EXPECT_EQ((starts ? call.starts : call.blocking)(a), MPI_SUCCESS);
    MPI_Wait(&a.request, MPI_STATUS_IGNORE);
  }
  EXPECT_LE(GOAL_Compilations() - before, 2 * sizes.size()) << call.name << (starts ? " started with " : " with ") << sizes[0];
}

TEST(Schedules, OfCallsThatWereThereBeforeAreNotCompiledAgain) {
  MPI_Comm ring;
  const int n = ranks(), periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
  MPI_Op_create(product, 1, &own_op);
  for (int i = 0; i < 10; ++i) {  // the ranks agree on memory that they share, or that there is none
    Arguments a(ring, 5000);
    MPI_Bcast(a.in.data(), a.count, MPI_INT, 0, ring);
  }
  for (const Call& call : all_calls()) {
    for (const std::vector<int>& sizes : kSizes)
      for (const bool starts : {false, true}) check(call, ring, sizes, starts);
    Arguments a(ring, 11);
    EXPECT_EQ(call.makes(a), MPI_SUCCESS);
    const uint64_t before = GOAL_Compilations();
    for (int turn = 0; turn < 5; ++turn) {
      MPI_Start(&a.request);
      MPI_Wait(&a.request, MPI_STATUS_IGNORE);
    }
    EXPECT_EQ(GOAL_Compilations(), before) << call.name << " made once";
    MPI_Request_free(&a.request);
  }
  MPI_Op_free(&own_op);
  MPI_Comm_free(&ring);
}

}  // namespace
}  // namespace schedules_test
