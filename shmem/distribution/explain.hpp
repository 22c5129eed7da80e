// explain.hpp: the sentence of the last error of this thread.
//
// Owns one text for each thread. Called by every function of ccc.h that refuses; the one that first decides it is an error
// writes the sentence, its callers hand the code on.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace portunus::distribution {

inline constexpr int kMostText = 256;
extern thread_local char last_sentence[kMostText];

// Notes the sentence; returns `code`.
[[gnu::format(printf, 2, 3)]] inline int refuse(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_sentence, kMostText, format, arguments);
  va_end(arguments);
  return code;
}

}  // namespace portunus::distribution
