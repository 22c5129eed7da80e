// Shared by the files behind goal.h and goal_collectives.h: the schedule's insides, and how errors are told.
//
// Thread: as goal.h says.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/goal/goal.h"
#include "engine/goal/instance.hpp"
#include "engine/goal/node/node_program.hpp"

struct goal_run {
  goal_schedule* schedule = nullptr;
};

// Invariants: `instance` exists exactly after a successful GOAL_Compile; a request exists exactly while it runs. With `on_node` the program
// of the instance is not loaded.
struct goal_schedule {
  portunus::goal::Builder builder;  // until `compiled` is there
  std::vector<portunus::goal::Argument> arguments;
  std::shared_ptr<const portunus::goal::Compiled> compiled;
  std::optional<portunus::goal::Instance> instance;
  std::unique_ptr<portunus::goal::node::NodeProgram> on_node;  // runs in place of the instance's program
  goal_run run;
  std::optional<uint16_t> context;                                                         // given by the program, or when it was compiled
  uint8_t epoch = 0;                                                                       // of the first execution
  bool counts_on = false;                                                                  // from what a program's copies have run
  bool meets = false;                                                                      // no rank runs far ahead of another
  uint32_t tag = 0;                                                                        // is added to the tags of all messages
  bool closed = false;                                                                     // compiled, or an attempt failed
  bool broken = false;                                                                     // only to be freed
  bool scratch_divided = false;                                                            // collectives have taken parts of the scratchpad
  bool unbuffered = false;                                                                 // the program promises that no send needs to be
  std::vector<std::pair<portunus::goal::VertexId, portunus::goal::VertexId>> collectives;  // first step, and end, ascending

  // f(what runs), which has start, wait, test, cancel, running and has_ended of LoadedProgram.
  template <class F>
  auto with_program(F&& f) const {
    return on_node ? f(*on_node) : f(instance->program());
  }
};

// Ends the body of a call, which begins with `try`: no exception of ours leaves it.
#define GOAL_BARRIER                          \
  catch (const std::bad_alloc&) {             \
    return portunus::goal::fail_for_memory(); \
  }                                           \
  catch (const std::length_error&) {          \
    return portunus::goal::fail_for_memory(); \
  }

namespace portunus::goal {

// Keeps the sentence for GOAL_Explain and returns the code.
int fail(int code, std::string sentence);
// GOAL_ERR_NO_SPACE; takes no memory itself.
int fail_for_memory();

// Runs f, whose errors become codes.
template <class F>
int guarded(F&& f) {
  try {
    return f();
  } catch (const CycleError& error) {
    return fail(GOAL_ERR_CYCLE, error.message);
  } catch (const ScheduleError& error) {
    return fail(GOAL_ERR_ARG, error.message);
  } catch (const std::bad_alloc&) {
    return fail_for_memory();
  }
}

// May operations be added? GOAL_SUCCESS, or what is wrong.
int must_be_open(const goal_schedule* s);

// GOAL_Type to the type of the engine; the argument is one of the enumeration.
ptl_datatype_t type_of(GOAL_Type type);

// The beginning of a buffer that is not GOAL_VECTOR. Throws ScheduleError.
Memory contiguous(GOAL_Memory memory, uint32_t number, uintptr_t place);

}  // namespace portunus::goal
