// trace.hpp: PTL_TRACE=FILE.json, in FILE.views.0.json (process 0) ...: what this process did with its views and when, as Perfetto and
// chrome://tracing read it.
//
// A job of n processes writes FILE.0.json .. Thread: the one that calls. Cost: one load when it is off.
#pragma once

#include <cstdint>

namespace portunus::views {

void trace_open(int process);
void trace_close();
uint64_t trace_now();
void trace_span(const char* what, int view, uint64_t from);
extern bool tracing [[gnu::visibility("hidden")]];

struct Span {
  const char* what;
  int view;
  uint64_t from;
  Span(const char* w, int v) : what(w), view(v), from(tracing ? trace_now() : 0) {}
  ~Span() {
    if (tracing) trace_span(what, view, from);
  }
};

}  // namespace portunus::views
