// program.hpp: what the programs share: numbers from the command line, and the verdict of PE 0, which computes the same
// alone.
//
// Each takes --NAME NUMBER, prints one line at PE 0 and ends with status 0 only if every bit is that of the computation by
// one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ccc.hpp"

namespace program {

struct Option {
  const char *name, *meaning;
  long value, least, most;
};

// Reads the command line, the same at all PEs; ends after --help, and with status 2 after what it does not understand.
inline void options(int argc, char** argv, const char* what, Option* first, size_t count) {
  const bool speaks = shmem_my_pe() == 0;
  const auto leave = [](int status) {
    shmem_finalize();
    exit(status);
  };
  for (int a = 1; a < argc; a += 2) {
    if (strcmp(argv[a], "--help") == 0) {
      if (speaks) printf("%s\n\n", what);
      for (size_t i = 0; i < count && speaks; ++i)
        printf("  --%-10s %s (%ld; %ld to %ld)\n", first[i].name, first[i].meaning, first[i].value, first[i].least, first[i].most);
      leave(0);
    }
    Option* option = first;
    while (option < first + count && (strncmp(argv[a], "--", 2) != 0 || strcmp(argv[a] + 2, option->name) != 0)) ++option;
    char* end = nullptr;
    const long value = option < first + count && a + 1 < argc ? strtol(argv[a + 1], &end, 10) : 0;
    if (end && end != argv[a + 1] && *end == '\0' && value >= option->least && value <= option->most) {
      option->value = value;
      continue;
    }
    if (speaks) fprintf(stderr, "%s: '%s' is no option, or its number is none or out of range; see --help\n", argv[0], argv[a]);
    leave(2);
  }
}

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// PE 0 knows whether the result is right; all end with the same status.
inline int verdict(const char* name, const char* figures, bool right, double time) {
  static int wrong;
  if (shmem_my_pe() == 0) {
    printf("%s on %d PEs: %s, %.6f s, %s\n", name, shmem_n_pes(), figures, time, right ? "verified" : "WRONG");
    fflush(stdout);
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_int_p(&wrong, !right, pe);
  }
  shmem_barrier_all();
  const int status = wrong;
  shmem_finalize();
  return status;
}

}  // namespace program
