// trace.cpp: the file.
#include "shmem/views/watch/trace.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace portunus::views {

bool tracing = false;

namespace {
FILE* file = nullptr;
int me = 0;
bool first = true;
}  // namespace

uint64_t trace_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

void trace_open(int process) {
  const char* name = getenv("PTL_TRACE");
  if (!name || !*name) return;
  std::string path = name;
  const size_t dot = path.rfind(".json");
  path.insert(dot == std::string::npos ? path.size() : dot, ".views." + std::to_string(process));
  file = fopen(path.c_str(), "w");
  if (!file) {
    fprintf(stderr, "vdc: process %d: PTL_TRACE: %s cannot be written\n", process, path.c_str());
    return;
  }
  me = process;
  first = tracing = true;
  fputs("{\"traceEvents\": [\n", file);
}

void trace_close() {
  if (!file) return;
  fputs("\n]}\n", file);
  fclose(file);
  file = nullptr;
  tracing = false;
}

void trace_span(const char* what, int view, uint64_t from) {
  fprintf(file,
          "%s{\"name\": \"%s view %d\", \"cat\": \"view\", \"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": "
          "%.3f}",
          first ? "" : ",\n", what, view, me, view, static_cast<double>(from) / 1000, static_cast<double>(trace_now() - from) / 1000);
  first = false;
}

}  // namespace portunus::views
