// Which way a collective of ranks on one node takes, by the call alone: every rank must come to the same answer.
//
//     way      waits  a rank's work                     for
//     slots    1      all contributions, by everybody   up to 1008 bytes of each rank; started calls
//     pipes    1      what it gets                      what two ranks alone know of each other; who gives does not wait
//     buffers  1      what it gets                      the rest that only moves data, piece by piece
//     buffers  1      all contributions, by everybody   reductions where another wait costs more than the work that it saves
//     buffers  2      1/n of the vector, then its copy  the other reductions
//
// A wait costs a round through all ranks where these outnumber the cores (a microsecond or two each), and a cache line or
// two else; bytes are copied at some 10 GB/s and combined at half of that. The limits follow from these numbers; bench/compare has the
// collectives that show whether they hold on a machine.
//
// Thread: any; pure.
#pragma once

#include <cstddef>

#include "engine/goal/goal_call.h"

namespace portunus::goal::node {

// Whether two ranks alone know how much the one gives the other.
inline bool is_by_parts(GOAL_Call_kind kind) {
  return kind == GOAL_CALL_GATHERV || kind == GOAL_CALL_SCATTERV || kind == GOAL_CALL_ALLTOALLV;
}

// Bytes of a rank's contribution where all ranks know them. `bytes`: of a rank's part or vector, of the longest part of an ALLGATHERV. What
// goes to each of the others leaves out the rank's own part.
inline size_t given(GOAL_Call_kind kind, size_t bytes, size_t size) {
  return kind == GOAL_CALL_SCATTER || kind == GOAL_CALL_ALLTOALL ? bytes * (size - 1) : bytes;
}

// Whether contributions fit slots of `room` bytes.
inline bool fits_slots(GOAL_Call_kind kind, size_t bytes, size_t size, size_t room) {
  return !is_by_parts(kind) && bytes <= room && given(kind, bytes, size) <= room;
}

// Whether a started collective is copied and combined by ranks when they look, rather than by engines beside them.
inline bool takes_when_looking(GOAL_Call_kind kind, size_t bytes, size_t size, bool has_engine, bool crowded) {
  if (has_engine) return bytes <= 4096;
  // Engines have no cores then, but a schedule divides the work of an ALLREDUCE, which all ranks do whole when they look.
  if (crowded && kind != GOAL_CALL_ALLREDUCE) return true;
  if (kind == GOAL_CALL_REDUCE_SCATTER) bytes /= size;  // a rank combines its own part
  return kind < GOAL_CALL_REDUCE || kind == GOAL_CALL_ALLGATHERV || bytes * (size - 1) <= size_t{256} * 1024;
}

// Whether each rank combines a part of a vector of so many bytes, rather than whoever gets the result all of it.
inline bool is_partial(GOAL_Call_kind kind, size_t bytes, size_t size, bool crowded) {
  if (size < 3) return false;  // nothing is saved
  // The work that is saved: that on all but one's own part, by all ranks (or the root) one after the other where cores are few.
  const size_t saved = kind == GOAL_CALL_ALLREDUCE ? bytes * (size - 2) : bytes * (size - 1) / 2;
  return saved > (crowded ? size_t{16} * 1024 : size_t{8} * 1024);
}

}  // namespace portunus::goal::node
