// payload.hpp: the copy of its source that a command may own, where the user may change that before it is sent.
// Thread: the baton holder, or whoever fills the command.
#pragma once

#include "engine/shared/command.hpp"

namespace portunus {

// The source of a volatile descriptor must be copied before the call returns, where it is not sent at once.
void own_volatile(Command& command);
// From then on the source is one piece of memory. Without memory for that it is read later, as it lies.
void own_copy(Command& command);
void free_payload(Command& command);

}  // namespace portunus
