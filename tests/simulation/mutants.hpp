// mutants.hpp: faults that are planted into the simulated parts, so that it is known what the simulation would find.
//
// Each breaks one promise of transport.hpp, or takes one word out of what passes between transport, program and engine. Thread: one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace portunus::simulation {

// The kind of a run.
enum class Work : uint8_t { portals, goal, flow, mpi };
inline constexpr std::array kWorkNames{"portals", "goal", "flow", "mpi"};
inline constexpr size_t kWorks = kWorkNames.size();

#define PORTUNUS_MUTANTS(X)                                                                      \
  X(portals, none, "nothing")                                                                    \
  X(portals, message_lost, "a message is lost on the way")                                       \
  X(portals, message_repeated, "a message is delivered twice")                                   \
  X(portals, message_overtaken, "a message overtakes the one before it")                         \
  X(portals, message_changed, "a bit of a payload changes on the way")                           \
  X(portals, message_short, "the end of a payload does not arrive")                              \
  X(portals, message_misled, "a message arrives from somebody else")                             \
  X(portals, refusal_taken, "a message that found no room is said to be on its way")             \
  X(portals, room_untold, "whoever waits for room is not told of it")                            \
  X(portals, flush_forgotten, "messages that were kept back stay there")                         \
  X(portals, commit_forgotten, "a message written in place does not leave")                      \
  X(portals, arrival_slept_through, "an arrival wakes nobody")                                   \
  X(portals, loss_untold, "the end of a peer is not told")                                       \
  X(portals, loss_late, "the end of a peer is told long after the limit")                        \
  X(portals, loss_invented, "a peer that lives is said to be lost")                              \
  X(portals, send_failed, "a send to a peer that lives fails")                                   \
  X(portals, move_empty, "a remote access ends without its data")                                \
  X(portals, move_forgotten, "a remote access does not end")                                     \
  X(portals, move_short, "a remote access ends before all its data have come")                   \
  X(portals, area_mistaken, "data are taken from memory of another message")                     \
  X(portals, area_kept, "memory through which data went is not free again")                      \
  X(portals, withdrawal_forgotten, "memory stays open to a peer")                                \
  X(portals, answer_swallowed, "an acknowledgement or reply does not reach the engine")          \
  X(portals, count_lost, "a count does not reach its counter")                                   \
  X(portals, trigger_early, "a trigger fires one count too early")                               \
  X(portals, append_swapped, "two entries are appended in the wrong order")                      \
  X(goal, threshold_early, "an operation of a schedule waits for one count too few")             \
  X(goal, threshold_late, "an operation of a schedule waits for one count too many")             \
  X(goal, operation_forgotten, "an operation of a schedule is not parked")                       \
  X(goal, operation_repeated, "an operation of a schedule is parked twice")                      \
  X(goal, rearm_forgotten, "one counter of a schedule does not count on in the next execution")  \
  X(goal, guard_forgotten, "a failure that one counter counts releases what waits there")        \
  X(goal, watch_forgotten, "a schedule does not watch one of its peers")                         \
  X(goal, notice_dropped, "a schedule or domain does not tell one of the others of a failure")   \
  X(goal, notice_unheard, "a schedule or domain has no entry for what it is told of failures")   \
  X(goal, receive_early, "a receive is posted while others use its memory")                      \
  X(goal, index_ignored, "a receive takes any message with its tag")                             \
  X(goal, send_misled, "a message of a schedule goes to the wrong rank")                         \
  X(flow, closing_untold, "the event that tells of a portal's closing does not reach its owner") \
  X(flow, opening_forgotten, "a portal is not opened again, although its owner thinks so")       \
  X(flow, refusal_ignored, "a message that was refused is taken for one that was not")           \
  X(flow, refusal_lost, "a refusal arrives as if the message had been taken")                    \
  X(flow, taken_repeated, "a message that was taken is sent again")

enum class Mutant : uint8_t {
#define X(work, name, text) name,
  PORTUNUS_MUTANTS(X)
#undef X
};

inline constexpr std::array kMutantTexts{
#define X(work, name, text) #name ": " text,
    PORTUNUS_MUTANTS(X)
#undef X
};

// The kind of run that meets it.
inline constexpr std::array kMutantWorks{
#define X(work, name, text) Work::work,
    PORTUNUS_MUTANTS(X)
#undef X
};

}  // namespace portunus::simulation
