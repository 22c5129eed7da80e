// debug.hpp: the keys of PTL_DEBUG, of all layers: explanations, checks, and switches for comparing and measuring.
//
// Keys are separated by commas; some have a value, as in "buffers,wire=5:10000". "1" stands for those that explain the calls of one
// process. Libraries above the engine ask by PtlxDebug.
//
// Thread: any, while nobody changes the environment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace portunus {

struct DebugKey {
  const char* name;
  const char* value;  // what follows "="; nullptr: the key has no value
  const char* meaning;
};

// Constant data, in the order in which they are shown.
std::span<const DebugKey> debug_keys();

// A sentence about the first mistake in this value of PTL_DEBUG, with the keys that there are; empty: there is none.
std::string debug_complaint(std::string_view text);

// The value of a key that is in PTL_DEBUG; nothing: the key is not there.
std::optional<std::string> debug_value(std::string_view key);

// 0: PTL_DEBUG does not have this key. Else 1, or the number of a key whose value is one. Looked up at each call: refused calls that ask
// may come before the engine starts. A word that is no key, which the engine's start refuses, counts as every key. Never throws.
int debug_wanted(std::string_view key);

}  // namespace portunus
