// The collectives that go through the memory of a node (engine/goal/node/), on every rank of a job on one node: each kind, in lengths
// around those at which the way changes, against what it must give; and what calls that do not fit answer. Ends with status 1 and a
// sentence where one does not hold.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/goal/node/collectives.hpp"
#include "portals/portals4_ext.h"

namespace {

int rank, size;
namespace node_way = portunus::goal::node;
using Node = std::unique_ptr<node_way::Collectives>;
Node node;
Node open(const GOAL_Group& group, unsigned context) {
  return std::make_unique<node_way::Collectives>(group, context, nullptr, node_way::AbortPredicate{});
}
size_t count;  // of the elements of this round

using Element = uint32_t;
constexpr size_t kWidth = sizeof(Element);
using Vector = std::vector<Element>;

void expect(bool well, const char* what, int code = 0) {
  if (well) return;
  std::fprintf(stderr, "rank %d of %d: %s with %zu elements fails (code %d)\n", rank, size, what, count, code);
  std::_Exit(1);
}

// Element i of what `from` gives, to `to` where that matters.
Element given(size_t from, size_t i, size_t to = 0) { return static_cast<Element>(from * 1000003 + to * 10007 + i * 31 + 1); }
Vector vector_of(size_t from, size_t elements, size_t to = 0) {
  Vector values(elements);
  for (size_t i = 0; i < elements; ++i) values[i] = given(from, i, to);
  return values;
}
Vector sum_of(size_t ranks) {
  Vector sum(count, 0);
  for (size_t from = 0; from < ranks; ++from)
    for (size_t i = 0; i < count; ++i) sum[i] += given(from, i);
  return sum;
}
void append(Vector& to, const Vector& more) { to.insert(to.end(), more.begin(), more.end()); }

GOAL_Call call_of(GOAL_Call_kind kind, const Element* in, Element* out, int root = 0) {
  GOAL_Call call{};
  call.kind = kind;
  call.root = root;
  call.bytes = count * kWidth;
  call.in = in;
  call.out = out;
  call.type = GOAL_UINT32;
  call.op = GOAL_ADD;
  call.count = count;
  return call;
}
void run(const GOAL_Call& call, const char* what) {
  const int code = node->run(call);
  expect(code == GOAL_SUCCESS, what, code);
}

void move(int root) {
  const auto n = static_cast<size_t>(size), me = static_cast<size_t>(rank);
  const Vector mine = vector_of(me, count);
  Vector all, to_all, to_me;
  for (size_t i = 0; i < n; ++i) append(all, vector_of(i, count));
  for (size_t i = 0; i < n; ++i) append(to_all, vector_of(me, count, i));
  for (size_t i = 0; i < n; ++i) append(to_me, vector_of(i, count, me));

  Vector buffer = rank == root ? mine : Vector(count);
  run(call_of(GOAL_CALL_BCAST, nullptr, buffer.data(), root), "bcast");
  expect(buffer == vector_of(static_cast<size_t>(root), count), "bcast");

  Vector result(n * count);
  run(call_of(GOAL_CALL_GATHER, mine.data(), result.data(), root), "gather");
  expect(rank != root || result == all, "gather");

  Vector part(count);
  run(call_of(GOAL_CALL_SCATTER, all.data(), part.data(), root), "scatter");
  expect(part == mine, "scatter");

  result.assign(n * count, 0);
  run(call_of(GOAL_CALL_ALLGATHER, mine.data(), result.data()), "allgather");
  expect(result == all, "allgather");
  result.assign(n * count, 0);
  std::copy(mine.begin(), mine.end(), result.begin() + static_cast<ptrdiff_t>(me * count));
  run(call_of(GOAL_CALL_ALLGATHER, result.data() + me * count, result.data()), "allgather in place");
  expect(result == all, "allgather in place");

  run(call_of(GOAL_CALL_ALLTOALL, to_all.data(), result.data()), "alltoall");
  expect(result == to_me, "alltoall");
}

void combine(int root) {
  const auto n = static_cast<size_t>(size), me = static_cast<size_t>(rank);
  const Vector mine = vector_of(me, count), sum = sum_of(n);
  Vector result(count);
  run(call_of(GOAL_CALL_REDUCE, mine.data(), result.data(), root), "reduce");
  expect(rank != root || result == sum, "reduce");
  run(call_of(GOAL_CALL_ALLREDUCE, mine.data(), result.data()), "allreduce");
  expect(result == sum, "allreduce");
  result = mine;
  run(call_of(GOAL_CALL_ALLREDUCE, result.data(), result.data()), "allreduce in place");
  expect(result == sum, "allreduce in place");
  run(call_of(GOAL_CALL_SCAN, mine.data(), result.data()), "scan");
  expect(result == sum_of(me + 1), "scan");
  result = mine;
  run(call_of(GOAL_CALL_EXSCAN, result.data(), result.data()), "exscan");
  expect(rank == 0 || result == sum_of(me), "exscan");

  // Rank i keeps count / (i + 1) elements.
  std::vector<size_t> counts;
  Vector before;
  size_t first = 0, total = 0;
  for (size_t i = 0; i < n; ++i) {
    counts.push_back(count / (i + 1));
    if (i < me) first += counts.back();
    total += counts.back();
  }
  const Vector longer = vector_of(me, total);
  Vector expected(counts[me], 0);
  for (size_t from = 0; from < n; ++from)
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += given(from, first + i);
  Vector kept(counts[me]);
  GOAL_Call call = call_of(GOAL_CALL_REDUCE_SCATTER, longer.data(), kept.data());
  call.counts = counts.data();
  run(call, "reduce_scatter");
  expect(kept == expected, "reduce_scatter");
}

// Sizes and places, in bytes, of parts of so many elements each, with a gap of one between them.
struct Parts {
  std::vector<size_t> sizes;
  std::vector<ptrdiff_t> places;
  size_t elements = 0;
  template <class Count>
  explicit Parts(Count&& count_of) {
    for (size_t i = 0; i < static_cast<size_t>(size); ++i) {
      sizes.push_back(count_of(i) * kWidth);
      places.push_back(static_cast<ptrdiff_t>(elements * kWidth));
      elements += count_of(i) + 1;
    }
  }
  template <class Value>
  Vector filled(Value&& values_of) const {
    Vector all(elements, 7);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Vector part = values_of(i, sizes[i] / kWidth);
      std::copy(part.begin(), part.end(), all.begin() + places[i] / static_cast<ptrdiff_t>(kWidth));
    }
    return all;
  }
};

void move_uneven(int root) {
  const auto me = static_cast<size_t>(rank);
  const auto own = [](size_t of) { return of % 3 == 1 ? 0 : count / (of + 1); };
  const auto between = [](size_t from, size_t to) { return (from + 2 * to) % 5 == 4 ? 0 : count / (1 + (from + to) % 4); };
  const Parts parts(own);
  const Vector mine = vector_of(me, own(me)), all = parts.filled([](size_t from, size_t n) { return vector_of(from, n); });

  Vector result(parts.elements, 7);
  GOAL_Call call = call_of(GOAL_CALL_ALLGATHERV, mine.data(), result.data());
  call.bytes = own(me) * kWidth;
  call.out_sizes = parts.sizes.data();
  call.out_places = parts.places.data();
  run(call, "allgatherv");
  expect(result == all, "allgatherv");

  result.assign(parts.elements, 7);
  call.kind = GOAL_CALL_GATHERV;
  call.root = root;
  run(call, "gatherv");
  expect(rank != root || result == all, "gatherv");

  Vector part(own(me));
  call = call_of(GOAL_CALL_SCATTERV, all.data(), part.data(), root);
  call.bytes = own(me) * kWidth;
  call.in_sizes = parts.sizes.data();
  call.in_places = parts.places.data();
  run(call, "scatterv");
  expect(part == mine, "scatterv");

  const Parts out([&](size_t to) { return between(me, to); }), in([&](size_t from) { return between(from, me); });
  const Vector sent = out.filled([&](size_t to, size_t n) { return vector_of(me, n, to); });
  result.assign(in.elements, 7);
  call = call_of(GOAL_CALL_ALLTOALLV, sent.data(), result.data());
  call.in_sizes = out.sizes.data();
  call.in_places = out.places.data();
  call.out_sizes = in.sizes.data();
  call.out_places = in.places.data();
  run(call, "alltoallv");
  expect(result == in.filled([&](size_t from, size_t n) { return vector_of(from, n, me); }), "alltoallv");
}

void barrier() {
  GOAL_Call call{};
  call.kind = GOAL_CALL_BARRIER;
  run(call, "barrier");
}

// One that was started, and what must come of it.
struct Started {
  std::optional<node_way::Run> run;
  bool ended = false;
  Vector in, out, expected;
  void start(GOAL_Call call, const char* what) {
    call.in = in.data();
    call.out = out.data();
    const int code = begin(call);
    expect(code == GOAL_SUCCESS, what, code);
  }
  int finish() {
    const int code = run->code;
    run.reset();
    return code;
  }
  int begin(const GOAL_Call& call) {
    return node->start(
        call, [](void* arg) { static_cast<Started*>(arg)->ended = true; }, this, run);
  }
};

void await(const Started& one) {
  const auto ended = [](void* arg) -> int { return static_cast<const Started*>(arg)->ended; };
  PtlxWait(ended, const_cast<Started*>(&one), 0, PTL_TIME_FOREVER);
}

// More are under way than there is room for; blocking ones of all ways come between; they are waited for from the last on, or in their
// order, or are over when a blocking one is.
void start_many(size_t elements, int turn) {
  const auto n = static_cast<size_t>(size), me = static_cast<size_t>(rank);
  constexpr size_t kMany = 100;
  std::vector<Started> all(kMany);
  for (size_t i = 0; i < kMany; ++i) {
    Started& one = all[i];
    count = elements > 0 ? 1 + (elements + i) % elements : 0;
    const auto root = static_cast<int>(i % n);
    GOAL_Call call = call_of(GOAL_CALL_ALLREDUCE, nullptr, nullptr, root);
    one.in = vector_of(me + i, count);
    one.out.assign(count, 0);
    Vector sum(count, 0);
    for (size_t from = 0; from < n; ++from)
      for (size_t k = 0; k < count; ++k) sum[k] += given(from + i, k);
    switch (i % 5) {
      case 0: one.expected = sum; break;
      case 1:
        call.kind = GOAL_CALL_BCAST;
        one.expected = vector_of(static_cast<size_t>(root) + i, count);
        if (rank == root) one.out = one.expected;
        break;
      case 2:
        call.kind = GOAL_CALL_ALLGATHER;
        one.out.assign(n * count, 0);
        for (size_t from = 0; from < n; ++from) append(one.expected, vector_of(from + i, count));
        break;
      case 3:
        call.kind = GOAL_CALL_BARRIER;
        one.expected = one.out;
        break;
      default: call.kind = GOAL_CALL_REDUCE; one.expected = rank == root ? sum : one.out;
    }
    one.start(call, "start");
    if (i % 17 == 16 && turn > 0) {
      count = i % 34 == 16 ? 3 : 3000;
      combine(root);
    }
  }
  if (turn == 2) barrier();
  for (size_t i = 0; i < kMany; ++i) {
    Started& one = all[turn == 1 ? i : kMany - 1 - i];
    await(one);
    const int code = one.finish();
    expect(code == GOAL_SUCCESS, "finish", code);
    expect(one.out == one.expected, "what was started");
  }
}

// Nobody waits for ever, and everybody who gets something learns of it.
void mislead() {
  for (const size_t right : {size_t{8}, size_t{20000}}) {
    count = rank == size - 1 ? right / 2 : right;
    Vector in(right), out(right);
    const GOAL_Call call = call_of(GOAL_CALL_ALLREDUCE, in.data(), out.data());
    const int code = node->run(call);
    expect(code == GOAL_MISMATCH, "a sum of two lengths", code);
    barrier();
  }
  for (const size_t right : {size_t{8}, size_t{1000}}) {
    count = rank == size - 1 ? right - 1 : right;
    Started one;
    one.in.resize(right);
    one.out.assign(right, 5);
    one.start(call_of(GOAL_CALL_ALLREDUCE, nullptr, nullptr), "start");
    await(one);
    const int code = one.finish();
    expect(code == GOAL_MISMATCH && one.out == Vector(right, 5), "a started sum of two lengths", code);
    barrier();
  }
}

// A rank makes another call than the others, and needs less of them than they of it: those learn of it, whatever lengths it named.
void mislead_by_kind() {
  const bool is_other = rank == size - 1;
  for (const size_t elements : {size_t{8}, size_t{3000}, size_t{10000}}) {
    count = elements;
    // The others' call is two where it is long: only the first of them is made.
    const GOAL_Call_kind theirs = elements == 10000 ? GOAL_CALL_ALLREDUCE : GOAL_CALL_ALLGATHER;
    Vector in(count), out(count * static_cast<size_t>(size));
    const std::vector<size_t> sizes(static_cast<size_t>(size), is_other ? count * kWidth / 2 : 0);
    const std::vector<ptrdiff_t> places(static_cast<size_t>(size), 0);
    for (const GOAL_Call_kind kind : {GOAL_CALL_REDUCE, GOAL_CALL_GATHER, GOAL_CALL_SCAN, GOAL_CALL_GATHERV}) {
      GOAL_Call call = call_of(is_other ? kind : theirs, in.data(), out.data(), size - 1);
      call.out_sizes = sizes.data();
      call.out_places = places.data();
      std::unique_ptr<node_way::MadeCall> made;
      int code = node->make(call, made);
      expect(code == GOAL_SUCCESS || code == node_way::kNotTaken, "making different calls", code);
      if (code == node_way::kNotTaken) continue;
      Started one;
      code = node->restart(
          *made, [](void* arg) { static_cast<Started*>(arg)->ended = true; }, &one);
      expect(code == GOAL_SUCCESS, "starting different calls", code);
      await(one);
      expect(made->code() == GOAL_MISMATCH, "different calls that were made", made->code());
    }
    barrier();
  }
}

// One element from or to each other rank, or `more` on the last one's side.
void give_to(GOAL_Call_kind kind, size_t turn, int expected, size_t more = 0) {
  const bool gathers = kind == GOAL_CALL_GATHERV, is_last = rank == size - 1;
  count = 1;
  const Parts parts([](size_t) { return count; });
  const Vector part = vector_of(static_cast<size_t>(rank), count, turn),
               all = parts.filled([&](size_t of, size_t n) { return vector_of(of, n, turn); });
  Vector in = gathers ? part : all, out(parts.elements + more, 7);
  in.resize(in.size() + more);
  GOAL_Call call = call_of(kind, in.data(), out.data());
  call.bytes = (count + (is_last ? more : 0)) * kWidth;
  (gathers ? call.out_sizes : call.in_sizes) = parts.sizes.data();
  (gathers ? call.out_places : call.in_places) = parts.places.data();
  const int code = node->run(call);
  expect(code == expected, gathers ? "a gatherv" : "a scatterv", code);
  if (more > 0) return;
  if (gathers) expect(rank != 0 || std::equal(all.begin(), all.end(), out.begin()), "what a gatherv gives");
  else expect(out[0] == part[0], "what a scatterv gives");
}

// A rank that gives needs nobody: it leaves before those who take have called.
void give_ahead(const GOAL_Group& world) {
  constexpr size_t kAhead = 10;
  const Node other = open(world, 6);
  GOAL_Call meeting{};
  meeting.kind = GOAL_CALL_BARRIER;
  while (other->run(meeting) == node_way::kNotTaken) {
  }
  for (const GOAL_Call_kind kind : {GOAL_CALL_GATHERV, GOAL_CALL_SCATTERV}) {
    const auto give_all = [&] {
      for (size_t turn = 0; turn < kAhead; ++turn) give_to(kind, turn, GOAL_SUCCESS);
    };
    const bool gives = (rank == 0) == (kind == GOAL_CALL_SCATTERV);
    if (gives) give_all();
    expect(other->run(meeting) == GOAL_SUCCESS, "meeting behind what was given");
    if (!gives) give_all();
    expect(other->run(meeting) == GOAL_SUCCESS, "meeting behind what was taken");
  }
}

// Two lengths of one part: the rank that takes it learns of it. Two calls in which all ranks give: the ranks that took nothing learn of it
// in the next call, which gives what it should.
void mislead_givers() {
  const bool is_last = rank == size - 1;
  for (const size_t more : {size_t{1}, size_t{100000}}) {
    give_to(GOAL_CALL_GATHERV, 1, rank == 0 ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS}, more);
    give_to(GOAL_CALL_GATHERV, 2, GOAL_SUCCESS);
    give_to(GOAL_CALL_SCATTERV, 3, is_last ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS}, more);
    give_to(GOAL_CALL_SCATTERV, 4, GOAL_SUCCESS);
  }
  barrier();
  give_to(rank == 0 ? GOAL_CALL_SCATTERV : GOAL_CALL_GATHERV, 5, GOAL_SUCCESS);
  give_to(GOAL_CALL_GATHERV, 6, rank == 0 ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS});
  give_to(GOAL_CALL_SCATTERV, 7, rank == 0 ? int{GOAL_SUCCESS} : int{GOAL_MISMATCH});
  give_to(GOAL_CALL_GATHERV, 8, GOAL_SUCCESS);
  give_to(GOAL_CALL_SCATTERV, 9, GOAL_SUCCESS);
}

// Long contributions to all, through rooms and read from where they lie: whoever has got the result may change what it gave.
void change_behind() {
  count = 20000;
  const auto n = static_cast<size_t>(size), me = static_cast<size_t>(rank);
  Vector mine(count), to_all(n * count), result(n * count);
  for (size_t turn = 0; turn < 20; ++turn) {
    Vector all, to_me;
    for (size_t i = 0; i < n; ++i) append(all, vector_of(i + turn, count));
    for (size_t i = 0; i < n; ++i) append(to_me, vector_of(i + turn, count, me));
    mine = vector_of(me + turn, count);
    run(call_of(GOAL_CALL_ALLGATHER, mine.data(), result.data()), "allgather");
    std::ranges::fill(mine, 0);
    expect(result == all, "allgather again and again");
    to_all.clear();
    for (size_t i = 0; i < n; ++i) append(to_all, vector_of(me + turn, count, i));
    run(call_of(GOAL_CALL_ALLTOALL, to_all.data(), result.data()), "alltoall");
    std::ranges::fill(to_all, 0);
    expect(result == to_me, "alltoall again and again");
  }
}

// How many of ten sums are taken, which are right: none, or all after the first few.
int taken_sums() {
  const Vector mine = vector_of(static_cast<size_t>(rank), count), sum = sum_of(static_cast<size_t>(size));
  int taken = 0;
  for (int i = 0; i < 10; ++i) {
    Vector out(count);
    const GOAL_Call call = call_of(GOAL_CALL_ALLREDUCE, mine.data(), out.data());
    const int code = node->run(call);
    expect(code == GOAL_SUCCESS || (code == node_way::kNotTaken && taken == 0), "a sum in one of many groups", code);
    expect(code != GOAL_SUCCESS || out == sum, "a sum in one of many groups");
    taken += code == GOAL_SUCCESS;
  }
  return taken;
}

// The first of many groups have more memory than they need, later ones what they need, the last none; as groups go others have it.
void crowd(const GOAL_Group& world) {
  constexpr unsigned kGroups = 100;
  Node before = std::move(node);
  std::vector<Node> nodes(kGroups);
  unsigned with = 0, starting = 0;
  for (unsigned i = 0; i < kGroups; ++i) {
    node = open(world, 6 + i);
    count = 300;  // too many for short slots
    with += taken_sums() > 0;
    if (i >= with) {
      nodes[i] = std::move(node);
      continue;
    }
    for (int start = 0; start < 5; ++start) {
      if (start == 4) taken_sums();  // makes memory for those that are started
      Started one;
      one.in = vector_of(static_cast<size_t>(rank), count);
      one.out.assign(count, 0);
      const GOAL_Call call = call_of(GOAL_CALL_ALLREDUCE, one.in.data(), one.out.data());
      const int code = one.begin(call);
      expect(code == node_way::kNotTaken || (code == GOAL_SUCCESS && start == 4), "a start in one of many groups", code);
      if (code != GOAL_SUCCESS) continue;
      await(one);
      expect(one.finish() == GOAL_SUCCESS && one.out == sum_of(static_cast<size_t>(size)), "what was started");
      ++starting;
    }
    nodes[i] = std::move(node);
  }
  expect(with > 0 && with < kGroups && starting > 4 && starting <= with, "a limit to the memory of all groups");
  count = 300;
  for (unsigned i = 0; i < kGroups; ++i) {
    node = std::move(nodes[i]);
    expect((taken_sums() == 10) == (i < with), "a group that has got memory");
    node.reset();
  }
  node = open(world, 6);
  expect(taken_sums() > 0, "a group after many");
  node = std::move(before);
}

}  // namespace

int main(int argc, char**) {
  GOAL_Group world;
  if (GOAL_Init(&rank, &size) != GOAL_SUCCESS || GOAL_World(&world) != GOAL_SUCCESS) return 2;
  node = open(world, 5);
  // The first calls are not taken, on any rank; in a group of one, or without memory to share, none is.
  count = 3000;
  const Vector mine = vector_of(static_cast<size_t>(rank), count);
  Vector out(count);
  const GOAL_Call sum = call_of(GOAL_CALL_ALLREDUCE, mine.data(), out.data());
  int taken = 0;
  for (int i = 0; i < 10; ++i) {
    const int code = node->run(sum);
    expect(code == GOAL_SUCCESS || (code == node_way::kNotTaken && taken == 0), "an early call", code);
    taken += code == GOAL_SUCCESS;
  }
  expect((taken > 0) == (size > 1 && argc == 1), "the tenth call");
  for (size_t elements : {0, 1, 2, 31, 63, 252, 253, 1000, 4096, 33000, 100000}) {
    if (taken == 0) break;
    count = elements;
    barrier();
    for (int turn = 0; turn < 2; ++turn) {
      const int root = static_cast<int>((elements + static_cast<size_t>(turn)) % static_cast<size_t>(size));
      move(root);
      combine(root);
      move_uneven(root);
    }
  }
  // Roots run ahead of the others, as far as there is room.
  for (int i = 0; taken > 0 && i < 300; ++i) {
    count = i % 3 == 0 ? 5000 : 10;
    Vector word = rank == 0 ? vector_of(static_cast<size_t>(i), count) : Vector(count);
    run(call_of(GOAL_CALL_BCAST, nullptr, word.data()), "bcast");
    expect(word == vector_of(static_cast<size_t>(i), count), "bcast after bcast");
  }
  for (size_t elements : {0, 1, 100, 250, 252, 900}) {
    if (taken == 0) break;
    if (elements == 900) {  // the memory for these is made by blocking calls behind the first few
      count = elements;
      Vector in(count), out_of(count);
      const GOAL_Call early = call_of(GOAL_CALL_ALLREDUCE, in.data(), out_of.data());
      std::optional<node_way::Run> none;
      for (int i = 0; i < 4; ++i) expect(node->start(early, nullptr, nullptr, none) == node_way::kNotTaken, "an early start");
      barrier();
    }
    for (int turn = 0; turn < 3; ++turn) start_many(elements, turn);
  }
  if (taken > 0) change_behind();
  if (taken > 0) {
    mislead();
    mislead_by_kind();
    give_ahead(world);
    mislead_givers();
  }
  if (taken > 0) crowd(world);
  node.reset();
  GOAL_Finalize();
  return 0;
}
