// guards.hpp: the list of what keeps a wake-up from being lost and two threads from stepping at once.
//
// Each fence, each second look and each ordering of the protocol has a name here and is asked for by it, so that a test can take out one
// at a time and see whether anything goes wrong (tests/engine/progress_interleaving_test.cpp). In the library all are kept, at compile
// time.
#pragma once

#include <cstdint>

namespace portunus {

// Macros are allowed for such tables: name, and what it stands for.
#define PORTUNUS_GUARDS(X)                                                                               \
  X(ring_fence, "who has published a message fences before it reads the door")                           \
  X(arm_fence, "who arms the door fences before it looks, or makes everybody fence")                     \
  X(disarm_own_only, "a sleeper leaves the door armed while another sleeps")                             \
  X(release_fence, "who releases the baton fences before it looks at queue and sleepers")                \
  X(push_fence, "who has pushed a command fences before it looks whether the baton is held")             \
  X(queue_look, "who has released the baton looks for commands pushed meanwhile")                        \
  X(posted_look, "who has released the baton wakes those who sleep for what was posted")                 \
  X(busy_look, "who has released the baton wakes whoever sleeps while something goes on by steps alone") \
  X(passive_look, "who ceases to look wakes those who count on the holder's looking")                    \
  X(passive_bump, "who wakes passive sleepers changes their word first")                                 \
  X(passive_fence, "a passive sleeper fences after it has said so, or makes everybody fence")            \
  X(passive_baton, "who could step sleeps passively only while somebody else has the baton")             \
  X(active_messages, "who has armed the door looks for messages before it sleeps")                       \
  X(last_look, "who has said that it sleeps looks at its condition and at pollers again")                \
  X(poller_watch, "who sleeps watches the memory of pollers that are pending")                           \
  X(found_fence, "who found something by a poller fences before it looks for sleepers")                  \
  X(found_look, "who found something by a poller wakes those who sleep")                                 \
  X(park_messages, "the engine thread looks for messages after it has armed the door")                   \
  X(append_waits, "an append returns when it has run")                                                   \
  X(push_pending, "who has taken the baton for a call waits for a push that is under way")

enum class Guard : uint8_t {
#define X(name, text) name,
  PORTUNUS_GUARDS(X)
#undef X
      kept,  // what has no name
  none,
};

}  // namespace portunus
