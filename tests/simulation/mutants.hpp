// mutants.hpp: faults that are planted into the simulated parts, so that it is known what the simulation would find.
//
// Each breaks one promise of transport.hpp, or takes one word out of what passes between transport and engine. Thread: one.
#pragma once

#include <array>
#include <cstdint>

namespace portunus::simulation {

#define PORTUNUS_MUTANTS(X)                                                    \
  X(none, "nothing")                                                           \
  X(message_lost, "a message is lost on the way")                              \
  X(message_repeated, "a message is delivered twice")                          \
  X(message_overtaken, "a message overtakes the one before it")                \
  X(message_changed, "a bit of a payload changes on the way")                  \
  X(message_short, "the end of a payload does not arrive")                     \
  X(message_misled, "a message arrives from somebody else")                    \
  X(refusal_taken, "a message that found no room is said to be on its way")    \
  X(room_untold, "whoever waits for room is not told of it")                   \
  X(flush_forgotten, "messages that were kept back stay there")                \
  X(commit_forgotten, "a message written in place does not leave")             \
  X(arrival_slept_through, "an arrival wakes nobody")                          \
  X(loss_untold, "the end of a peer is not told")                              \
  X(loss_late, "the end of a peer is told long after the limit")               \
  X(loss_invented, "a peer that lives is said to be lost")                     \
  X(send_failed, "a send to a peer that lives fails")                          \
  X(move_empty, "a remote access ends without its data")                       \
  X(move_forgotten, "a remote access does not end")                            \
  X(move_short, "a remote access ends before all its data have come")          \
  X(withdrawal_forgotten, "memory stays open to a peer")                       \
  X(answer_swallowed, "an acknowledgement or reply does not reach the engine") \
  X(count_lost, "a count does not reach its counter")                          \
  X(trigger_early, "a trigger fires one count too early")                      \
  X(append_swapped, "two entries are appended in the wrong order")

enum class Mutant : uint8_t {
#define X(name, text) name,
  PORTUNUS_MUTANTS(X)
#undef X
};

inline constexpr std::array kMutantTexts{
#define X(name, text) #name ": " text,
    PORTUNUS_MUTANTS(X)
#undef X
};

}  // namespace portunus::simulation
