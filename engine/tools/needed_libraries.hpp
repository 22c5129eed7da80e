// The libraries that the dynamic linker would load for a program, without running it.
//
// Thread: one.
#pragma once

#include <string>
#include <vector>

namespace portunus {

struct NeededLibrary {
  std::string name, path;  // the path is empty of what the kernel has, and "not" of what is not found
};

// The dynamic linker that a program names; empty of scripts and of programs without one.
[[nodiscard]] std::string interpreter_of(const std::string& program);

// All of them, those that libraries need included. Throws std::runtime_error with a sentence.
[[nodiscard]] std::vector<NeededLibrary> needed_libraries(const std::string& interpreter, const std::string& program);

}  // namespace portunus
