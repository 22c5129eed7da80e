// payload.cpp: see payload.hpp.
#include "engine/core/initiator/payload.hpp"

#include <cstdlib>

#include "engine/core/memory.hpp"

namespace portunus {

void own_copy(Command& command) {
  void* copy = std::malloc(command.length);
  if (!copy) return;
  Memory{command.source.base, command.source.iov_count}.copy_out(command.source.offset, copy, command.length);
  command.source.base = copy;
  command.source.offset = 0;
  command.source.iov_count = 0;
  command.owns_payload = true;
}

void own_volatile(Command& command) {
  if (!(command.source.options & PTL_MD_VOLATILE) || command.owns_payload || command.length == 0 || command.verb == Verb::get) return;
  own_copy(command);
}

void free_payload(Command& command) {
  if (command.owns_payload) std::free(command.source.base);
  command.owns_payload = false;
}

}  // namespace portunus
