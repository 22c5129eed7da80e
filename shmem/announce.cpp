// announce.cpp: what SHMEM_VERSION, SHMEM_INFO and SHMEM_DEBUG print at the start.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "shmem/environment.hpp"
#include "shmem/include/shmem_base.h"
#include "shmem/memory/huge_pages.hpp"
#include "shmem/session.hpp"

extern char** environ;

namespace portunus::shmem {

namespace {

struct Variable {
  const char* name;
  const char* unset;  // what holds then
  const char* meaning;
};
constexpr Variable kVariables[] = {
    {"SYMMETRIC_SIZE", "512m", "symmetric heap of each PE: bytes, perhaps with a suffix k, m, g or t"},
    {"HUGE_PAGES", "0", "1: the heap lies in pages of 2 MiB where the kernel gives them"},
    {"DEBUG", "off", "checks arguments further, and prints how each PE is reached"},
    {"INFO", "off", "prints this"},
    {"VERSION", "off", "prints the version"},
};

void print_variables() {
  for (const Variable& variable : kVariables) {
    const char* value = setting(variable.name);
    printf("  SHMEM_%-15s %-10s %s%s\n", variable.name, value ? value : variable.unset, value ? "" : "(default) ", variable.meaning);
  }
}

// A variable that nobody reads is most often one that is misspelt, or another library's.
void name_unknown_variables() {
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string name(*item, strcspn(*item, "="));
    const size_t prefix = name.starts_with("SHMEM_") ? 6 : name.starts_with("SMA_") ? 4 : 0;
    if (prefix == 0) continue;
    const bool known = std::any_of(std::begin(kVariables), std::end(kVariables),
                                   [&](const Variable& variable) { return name.substr(prefix) == variable.name; });
    if (!known) fprintf(stderr, "shmem: %s means nothing to this library; SHMEM_INFO=1 lists what does\n", name.c_str());
  }
}

}  // namespace

// By PE 0; the others are alike but for how they reach their peers.
void Session::print_info(const ptlx_engine_info_t& engine) const {
  int on_node = 0;
  for (const Peer& peer : peers_) on_node += peer.on_node();
  printf("OpenSHMEM %d.%d, %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION, SHMEM_VENDOR_STRING);
  print_variables();
  printf("  PEs: %d; PE 0 reaches %d by loads and stores, %d by Portals (%s)\n", runtime.n_pes, on_node, runtime.n_pes - on_node,
         engine.transports);
  printf("  progress: %s%s\n", engine.progress, runtime.oversubscribed ? "; more PEs than cores, so waits do not spin" : "");
  printf("  symmetric heap: %zu bytes at %p, %zu of them in huge pages; globals: %zu bytes at %p\n", memory_.heap_size,
         memory_.start[kHeap], huge_bytes(memory_.start[kHeap]), memory_.size[kData], memory_.start[kData]);
  fflush(stdout);
}

void Session::announce(const ptlx_engine_info_t& engine) const {
  if (runtime.my_pe == 0 && setting("INFO")) print_info(engine);
  else if (runtime.my_pe == 0 && setting("VERSION"))
    printf("OpenSHMEM %d.%d, %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION, SHMEM_VENDOR_STRING);
  if (!runtime.debug) return;
  if (runtime.my_pe == 0) name_unknown_variables();
  fprintf(stderr, "shmem: PE %d of %d: heap %p, %zu bytes; globals %p, %zu bytes\n", runtime.my_pe, runtime.n_pes, memory_.start[kHeap],
          memory_.heap_size, memory_.start[kData], memory_.size[kData]);
  for (int pe = 0; pe < runtime.n_pes; ++pe)
    if (pe != runtime.my_pe)
      fprintf(stderr, "shmem: PE %d reaches PE %d by %s\n", runtime.my_pe, pe,
              runtime.peers[pe].on_node() ? "loads and stores" : "Portals");
}

}  // namespace portunus::shmem
