// variables.hpp: what a person may set in the environment, of all layers: for ptlinfo and for the table that it writes.
//
// variables.md beside this file is what `ptlinfo --variables` prints; a test compares the two, and looks for variables that are missing.
// Thread: any.
#pragma once

#include <span>

namespace portunus {

struct Variable {
  const char* name;
  const char* values;
  const char* otherwise;  // what holds when it is not set
  const char* meaning;
};

// Constant data, in the order in which they are shown.
std::span<const Variable> environment_variables();
// Those that the compiler wrappers read; no library does.
std::span<const Variable> compiler_variables();

// A variable that older versions read.
struct ReplacedVariable {
  const char* name;
  const char* now;  // what took its place
};
std::span<const ReplacedVariable> replaced_variables();
// Names on stderr those that are set, with what took their place; in one process of each node.
void tell_replaced_variables();

}  // namespace portunus
