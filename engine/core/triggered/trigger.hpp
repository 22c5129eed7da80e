// trigger.hpp: a command that waits for a counter. Thread: filled by the caller that claims it, then the baton holder.
#pragma once

#include "engine/shared/command.hpp"

namespace portunus {

struct Trigger {
  Command command;       // its `threshold` says when; `armed` says what
  Trigger* next;         // on the counter's list or in the ready queue
  uint64_t stride;       // E5: how much later it runs again; 0: once
  uint64_t match_field;  // E5: the part of its match bits that then counts up
};

}  // namespace portunus
