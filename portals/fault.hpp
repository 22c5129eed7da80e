// fault.hpp: why a call is refused. The checks of the entry points answer with a Fault; the entry point turns it into
// PTL_ARG_INVALID, and with PTL_DEBUG=1 into one line on stderr.
//
// Thread: any. Cost: nothing for a call that is not refused: a Fault is two registers, and everything behind `refuse` is cold.
#pragma once

#include <new>
#include <stdexcept>

#include "engine/shared/slots.hpp"

// Ends the body of an entry point, which begins with `try`: no exception of ours leaves it, and memory that could not be had is
// PTL_NO_SPACE.
#define PTL_BARRIER                              \
  catch (const std::bad_alloc&) {                \
    return ::portunus::api::no_memory(__func__); \
  }                                              \
  catch (const std::length_error&) {             \
    return ::portunus::api::no_memory(__func__); \
  }

namespace portunus::api {

struct Fault {
  const char* argument = nullptr;  // the argument's name; nullptr: nothing is wrong
  const char* why = nullptr;       // the predicate of the sentence
  explicit operator bool() const { return argument != nullptr; }
};

// PTL_ARG_INVALID. `function` is the entry point's __func__.
[[gnu::cold, gnu::noinline]] int refuse(const char* function, Fault fault);

// PTL_NO_SPACE, for want of memory.
[[gnu::cold, gnu::noinline]] int no_memory(const char* function);

// The fault of a handle that should name an object of kind `wanted`, of any interface.
[[gnu::cold, gnu::noinline]] Fault bad_handle(const char* argument, uint32_t handle, HandleKind wanted);

inline constexpr const char* kIsNull = "is NULL";
inline constexpr const char* kBothNonZero = "changes success and failure at once";
inline constexpr const char* kOtherInterface = "belongs to another interface";

}  // namespace portunus::api
