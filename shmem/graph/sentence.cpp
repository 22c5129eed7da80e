// sentence.cpp: see sentence.hpp.
#include "shmem/graph/sentence.hpp"

#include <cstdio>

#include "shmem/runtime.hpp"

namespace portunus::shmem::graph {
namespace {

thread_local std::string last;

}  // namespace

void explain(const char* function, const std::string& sentence) {
  last = sentence;
  if (runtime.debug) fprintf(stderr, "shmem: PE %d: %s: %s\n", runtime.my_pe, function, sentence.c_str());
}

int refused(int code, const char* function, const std::string& why) {
  explain(function, why);
  return code;
}

const char* last_sentence() { return last.c_str(); }

}  // namespace portunus::shmem::graph
