// withdraw.hpp: which puts their initiator wants back (E10). Thread: the baton holder.
#pragma once

#include "engine/core/initiator/operation.hpp"
#include "engine/shared/command.hpp"

namespace portunus {

// Puts that were given this user pointer and report to the same objects.
struct PutsOf {
  uint8_t ni = 0;
  uint32_t eq = PTL_EQ_NONE;
  uint32_t ct = PTL_CT_NONE;
  const void* user_ptr = nullptr;

  bool include(const Command& command) const {
    return command.verb == Verb::put && command.ni == ni && reports(command.source) && command.user_ptr == user_ptr;
  }
  bool include(const Operation& operation) const {
    return operation.peer && operation.verb == Verb::put && operation.ni == ni && reports(operation.source) &&
           operation.user_ptr == user_ptr;
  }

 private:
  bool reports(const Local& local) const { return local.eq == eq && local.ct == ct; }
};

}  // namespace portunus
