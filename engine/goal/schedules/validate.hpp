// Do the schedules of all ranks fit together? What cannot be seen from one rank alone.
//
// Thread: any; pure.
// Source: matching in program order per (source, destination, tag) as in MPI 4.1 section 3.5; the event graph
// start(v) -> done(v), done(p) or start(p) -> start(v), start(send) -> done(recv), and for messages that wait for
// their receive start(recv) -> done(send): it is free of cycles exactly if execution ends.
#pragma once

#include <cstdint>
#include <span>

#include "engine/goal/schedules/schedule.hpp"

namespace portunus::goal {

// Throws ScheduleError, whose message names the rank, if
//   - an operation's peer is not a rank, or a send's peer is "any",
//   - a send has no receive or a receive no send, counted in program order per (source, destination, tag), or the
//     sizes of a pair differ,
//   - ranks wait for each other in a circle, where sends of more than `eager_limit` bytes end only after their
//     receive began.
// Receives of any source or any tag may take what the exact ones leave over. Which message they take is decided
// when the schedule runs, so these are counted, but neither their sizes nor their part in a circle is judged; a
// schedule that can end is never refused.
// `ranks` are finished schedules, one per rank. Time is O(n log n) in operations.
void validate(std::span<const Schedule> ranks, uint64_t eager_limit = 0xffffffffffffffff);

}  // namespace portunus::goal
