// fault.hpp: why a call is refused. The checks of the entry points answer with a Fault; the entry point turns it into
// PTL_ARG_INVALID, and with PTL_DEBUG=1 into one line on stderr.
//
// Thread: any. Cost: nothing for a call that is not refused: a Fault is two registers, and everything behind `refuse` is cold.
#pragma once

#include "engine/shared/slots.hpp"

namespace portunus::api {

struct Fault {
  const char* argument = nullptr;  // the argument's name; nullptr: nothing is wrong
  const char* why = nullptr;       // the predicate of the sentence
  explicit operator bool() const { return argument != nullptr; }
};

// PTL_ARG_INVALID. `function` is the entry point's __func__.
[[gnu::cold, gnu::noinline]] int refuse(const char* function, Fault fault);

// What is wrong with a handle that should name an object of kind `wanted`, of any interface.
[[gnu::cold, gnu::noinline]] Fault bad_handle(const char* argument, uint32_t handle, HandleKind wanted);

inline constexpr const char* kIsNull = "is NULL";
inline constexpr const char* kBothNonZero = "changes success and failure at once";
inline constexpr const char* kOtherInterface = "belongs to another interface";

}  // namespace portunus::api
