// Sends that must not wait for their receive.
//
// A long message leaves when its receive has been appended (rendezvous), and so the end of its send waits for whatever that
// receive waits for. If what follows the send is what the receive needs - two ranks that exchange vectors in place, each
// sending its own before it takes the other's - all of them would wait for ever. Such a send is buffered: its message is
// first copied to the scratchpad, and what waited for the send waits for the copy.
//
// Which sends can be in such a circle a rank cannot know alone, but where a circle leaves it: by another message, or by a receive
// that is not appended at the start, after the end of the send. All sends that something of the kind follows are
// buffered; the others cost nothing. What is left has no circle that was not in the program, because only receives that
// wait for something delay the ends of sends, and no send whose end delays anything is delayed any more.
//
// Thread: any; pure.
// Source: the event graph of validate.hpp; buffered mode as in MPI 4.1 section 3.4.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/goal/schedules/compile.hpp"
#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal {

// Bytes that every transport sends without waiting for the receive.
inline constexpr uint64_t kAlwaysEager = 4096;

// The sends of more than `eager` bytes that could be in a circle, ascending. `touches` as in CompileOptions.
[[nodiscard]] std::vector<VertexId> sends_to_buffer(const Schedule& schedule, std::span<const Touch> touches,
                                                    uint64_t eager = kAlwaysEager);

// The schedule with local operation number schedule.size() + i before sends[i]: it has what the send waited for, and what
// waited for the send waits for it. Messages keep their order.
[[nodiscard]] Schedule with_copies(const Schedule& schedule, std::span<const VertexId> sends);

// A plan that ends whatever the others do, as far as it did with short messages. Of sends for which `proven` is true it
// is known already. Throws ScheduleError if the scratchpad would be larger than memory.
[[nodiscard]] Plan buffered(Plan plan, const std::function<bool(VertexId)>& proven = {});

// The same for the plans of all ranks, where they are known: nothing is buffered unless there is a circle.
void buffer_circles(std::vector<Plan>& plans);

}  // namespace portunus::goal
