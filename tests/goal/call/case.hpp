// case.hpp: one call of goal_call.h with its memory and what must come of it, and the ends of a test of such calls.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/goal/goal_call.h"
#include "portals/portals4_ext.h"

namespace portunus::test::goal_call {

using Element = uint32_t;
using Vector = std::vector<Element>;

inline int rank, size;
inline GOAL_Team team;

inline void expect(bool well, const char* what, GOAL_Call_kind kind = GOAL_CALL_BARRIER, size_t count = 0, int code = 0) {
  if (well) return;
  std::fprintf(stderr, "rank %d of %d: %s fails: kind %d, %zu elements, code %d: %s\n", rank, size, what, static_cast<int>(kind), count,
               code, GOAL_Explain());
  std::_Exit(1);
}

// Element i of what `from` gives to `to`, in the call with that number.
inline Element given(size_t call, size_t from, size_t i, size_t to = 0) {
  return static_cast<Element>(call * 7919 + from * 1000003 + to * 10007 + i * 31 + 1);
}

// One call, its memory, and what must come of it.
struct Case {
  GOAL_Call call{};
  Vector in, out, expected;
  std::vector<size_t> in_sizes, out_sizes, counts;
  std::vector<ptrdiff_t> in_places, out_places;
  GOAL_Started started = nullptr;
  bool ended = false;

  // Rank i's part has `count` elements, or, of kinds whose parts differ, count + i. `seed` tells calls apart. `in_place` where the kind
  // allows it.
  Case(GOAL_Call_kind kind, size_t count, int root, size_t seed, bool in_place) {
    const auto n = static_cast<size_t>(size), me = static_cast<size_t>(rank);
    const bool is_root = rank == root;
    const auto part = [&](size_t from, size_t elements, size_t to = 0) {
      Vector values;
      for (size_t i = 0; i < elements; ++i) values.push_back(given(seed, from, i, to));
      return values;
    };
    const auto append = [](Vector& to, const Vector& more) { to.insert(to.end(), more.begin(), more.end()); };
    const auto sum = [&](size_t begin, size_t end, size_t ranks) {
      Vector values(end - begin);
      for (size_t from = 0; from < ranks; ++from)
        for (size_t i = begin; i < end; ++i) values[i - begin] += given(seed, from, i);
      return values;
    };
    const auto own = [&](size_t i) { return count + i; };
    call.kind = kind;
    call.root = root;
    call.bytes = count * sizeof(Element);
    call.type = GOAL_UINT32;
    call.op = GOAL_ADD;
    call.count = count;
    in = part(me, count);
    size_t in_at = 0;  // where the own part is in `out`
    switch (kind) {
      case GOAL_CALL_BARRIER: break;
      case GOAL_CALL_BCAST:
        expected = part(static_cast<size_t>(root), count);
        out = is_root ? expected : Vector(count);
        in.clear();
        break;
      case GOAL_CALL_GATHER:
      case GOAL_CALL_ALLGATHER:
        in_at = me * count;
        if (kind == GOAL_CALL_GATHER && !is_root) break;
        for (size_t i = 0; i < n; ++i) append(expected, part(i, count));
        break;
      case GOAL_CALL_SCATTER:
        in.clear();
        for (size_t i = 0; is_root && i < n; ++i) append(in, part(static_cast<size_t>(root), count, i));
        expected = part(static_cast<size_t>(root), count, me);
        break;
      case GOAL_CALL_ALLTOALL:
        in.clear();
        for (size_t i = 0; i < n; ++i) append(in, part(me, count, i));
        for (size_t i = 0; i < n; ++i) append(expected, part(i, count, me));
        break;
      case GOAL_CALL_REDUCE:
        if (is_root) expected = sum(0, count, n);
        break;
      case GOAL_CALL_ALLREDUCE: expected = sum(0, count, n); break;
      case GOAL_CALL_SCAN: expected = sum(0, count, me + 1); break;
      case GOAL_CALL_EXSCAN:
        if (rank > 0) expected = sum(0, count, me);
        break;
      case GOAL_CALL_REDUCE_SCATTER: {
        size_t begin = count * me, all = count * n;
        if (seed % 2 == 1) {  // parts that differ
          for (size_t i = 0; i < n; ++i) counts.push_back(own(i));
          begin = 0;
          for (size_t i = 0; i < me; ++i) begin += counts[i];
          all = 0;
          for (const size_t each : counts) all += each;
          call.counts = counts.data();
        }
        in = part(me, all);
        expected = sum(begin, begin + (counts.empty() ? count : counts[me]), n);
        break;
      }
      case GOAL_CALL_GATHERV:
      case GOAL_CALL_ALLGATHERV:
        in = part(me, own(me));
        call.bytes = in.size() * sizeof(Element);
        if (kind == GOAL_CALL_GATHERV && !is_root) break;
        for (size_t i = 0; i < n; ++i) {
          if (i == me) in_at = expected.size();
          out_sizes.push_back(own(i) * sizeof(Element));
          out_places.push_back(static_cast<ptrdiff_t>(expected.size() * sizeof(Element)));
          append(expected, part(i, own(i)));
        }
        break;
      case GOAL_CALL_SCATTERV:
        in.clear();
        for (size_t i = 0; is_root && i < n; ++i) {
          in_sizes.push_back(own(i) * sizeof(Element));
          in_places.push_back(static_cast<ptrdiff_t>(in.size() * sizeof(Element)));
          append(in, part(static_cast<size_t>(root), own(i), i));
        }
        expected = part(static_cast<size_t>(root), own(me), me);
        call.bytes = expected.size() * sizeof(Element);
        break;
      case GOAL_CALL_ALLTOALLV:
        in.clear();
        for (size_t i = 0; i < n; ++i) {  // i sends own(i + k) to k
          in_sizes.push_back(own(me + i) * sizeof(Element));
          in_places.push_back(static_cast<ptrdiff_t>(in.size() * sizeof(Element)));
          append(in, part(me, own(me + i), i));
          out_sizes.push_back(own(i + me) * sizeof(Element));
          out_places.push_back(static_cast<ptrdiff_t>(expected.size() * sizeof(Element)));
          append(expected, part(i, own(i + me), me));
        }
        break;
    }
    if (kind != GOAL_CALL_BCAST) out.assign(expected.size(), 77);
    const bool has_own_part =
        kind == GOAL_CALL_GATHER || kind == GOAL_CALL_ALLGATHER || kind == GOAL_CALL_GATHERV || kind == GOAL_CALL_ALLGATHERV;
    const bool has_both = kind == GOAL_CALL_REDUCE || kind == GOAL_CALL_ALLREDUCE || kind == GOAL_CALL_SCAN || kind == GOAL_CALL_EXSCAN;
    call.in = in.data();
    call.out = out.data();
    if (in_place && !expected.empty() && (has_own_part || has_both)) {
      std::ranges::copy(in, out.begin() + static_cast<ptrdiff_t>(in_at));
      call.in = out.data() + in_at;
    }
    call.in_sizes = in_sizes.data();
    call.in_places = in_places.data();
    call.out_sizes = out_sizes.data();
    call.out_places = out_places.data();
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  void check(const char* what, int code) const { expect(code == GOAL_SUCCESS && out == expected, what, call.kind, call.count, code); }
  void run(const char* what) { check(what, GOAL_Call_run(team, &call)); }
  static void has_ended(void* arg) { static_cast<Case*>(arg)->ended = true; }
  void start() {
    const int code = GOAL_Start(team, &call, has_ended, this, &started);
    expect(code == GOAL_SUCCESS, "a start", call.kind, call.count, code);
  }
  void await() {
    const auto done = [](void* arg) -> int { return static_cast<const Case*>(arg)->ended; };
    PtlxWait(done, this, 0, PTL_TIME_FOREVER);
    ended = false;
  }
  void finish(const char* what) {
    await();
    check(what, GOAL_Result(started));
    GOAL_Release(&started);
    expect(started == nullptr, what);
  }
};

constexpr int kKinds = GOAL_CALL_ALLTOALLV + 1;
inline size_t calls = 0;

// Collectives in a schedule of the program's own, which a team starts again and again; and its text.
void a_schedule_of_the_programs(const GOAL_Group& world);
// Parts of a team lie at places in its memory (places_test.cpp).
void parts_have_places(const GOAL_Group& world);
// Short messages between ranks of a node go through memory that these share, in runs that send no message.
void through_memory_of_the_node(const GOAL_Group& world);

}  // namespace portunus::test::goal_call
