// guards.hpp: the list of what keeps a wake-up from being lost and two threads from stepping at once.
//
// Each fence, each second look and each ordering of the protocol has a name here and is asked for by it, so that a test can take out one
// at a time and see whether anything goes wrong (tests/engine/progress_interleaving_test.cpp). In the library all are kept, at compile
// time. Four of them save work and no more, as the same test shows: enter_disarm, park_waiting, park_dense, active_cool.
#pragma once

#include <cstdint>

namespace portunus {

// Macros are allowed for such tables: name, and what it stands for.
#define PORTUNUS_GUARDS(X)                                                                                        \
  X(ring_fence, "who has published a message fences before it reads the door")                                    \
  X(arm_fence, "who arms the door fences before it looks for messages")                                           \
  X(arm_hot_fence, "who arms a hot door makes everybody fence")                                                   \
  X(door_acquire, "who sees the door changed sees what was done before")                                          \
  X(disarm_own_only, "a sleeper takes back its own arming, not another's")                                        \
  X(watch_fence, "who sets bits of the watch makes everybody fence before it looks at memory")                    \
  X(release_fence, "who releases the baton fences before it looks at queue and sleepers")                         \
  X(take_back_fence, "who takes the bias back makes everybody fence before it looks whether the owner is inside") \
  X(take_back_look, "who takes the bias back gives the baton up again if the owner is inside")                    \
  X(held_fence, "who asks whether the baton is held makes everybody fence first")                                 \
  X(refuse_twice, "who holds the baton by the bias does not enter it again")                                      \
  X(cool_fence, "who ends the rush fences before it looks whether a bias was given")                              \
  X(grant_look, "who was given the bias looks again whether the rush has ended")                                  \
  X(push_fence, "who has pushed a command fences before it looks whether the baton is held")                      \
  X(queue_look, "who has released the baton looks for commands pushed meanwhile")                                 \
  X(queue_look_biased, "the same with the bias")                                                                  \
  X(posted_look, "who has released the baton wakes those who sleep for what was posted")                          \
  X(busy_look, "who has released the baton wakes whoever sleeps while something goes on by steps alone")          \
  X(passive_look, "who ceases to look wakes those who count on the holder's looking")                             \
  X(passive_look_biased, "the same with the bias")                                                                \
  X(passive_bump, "who wakes passive sleepers changes their word first")                                          \
  X(passive_fence, "a passive sleeper fences between saying so and its second look")                              \
  X(passive_done, "a passive sleeper looks at its condition again before it sleeps")                              \
  X(passive_baton, "who could step sleeps passively only while somebody else has the baton")                      \
  X(active_messages, "who has armed the door looks for messages before it sleeps")                                \
  X(active_done, "who has armed the door looks at its condition again before it sleeps")                          \
  X(active_cool, "who arms the door for itself ends the rush, whose owner of the bias need not look at sleepers") \
  X(enter_disarm, "who begins to wait takes back the engine thread's arming")                                     \
  X(park_waiting, "the engine thread looks again whether somebody waits after it has armed the door")             \
  X(park_messages, "the engine thread looks for messages after it has armed the door")                            \
  X(park_dense, "the engine thread looks again whether waits come thick and fast after it has armed the door")    \
  X(park_holding, "the engine thread does not sleep on its arming when somebody else has the baton")              \
  X(park_baton, "the engine thread sleeps for the baton only while somebody else has it")                         \
  X(unmet_watched, "the engine thread watches a network that nobody came by yet also while others wait")          \
  X(meet_wakes, "once somebody came by the network, sleepers are woken to watch descriptors")                     \
  X(leave_holding, "who ends a wait arms the door for others under the baton only")                               \
  X(leave_arms, "the last to end a wait arms the door for the engine thread")                                     \
  X(leave_rings, "who arms the door for others rings it itself when there is work already")                       \
  X(leave_calls, "the last to end a wait has the engine thread listen to descriptors")                            \
  X(leave_soon, "and look soon where there is work already")                                                      \
  X(listen_look, "the engine thread looks at the door again when it has ceased to listen to descriptors")         \
  X(leave_relieves, "who ends a wait while others sleep arms the door for them")                                  \
  X(append_waits, "an append returns when it has run")                                                            \
  X(push_under_way, "who has the baton runs nothing at once while commands are left behind a push that is under way")

enum class Guard : uint8_t {
#define X(name, text) name,
  PORTUNUS_GUARDS(X)
#undef X
      kept,  // what has no name
  none,
};

}  // namespace portunus
