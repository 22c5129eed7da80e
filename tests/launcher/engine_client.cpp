// engine_client: a process with an engine, for ptlstat to look at. Says "ready", then does what each line of stdin says: "fire"
// lets one triggered operation run, "count" counts what a library above would, "fork" makes a child that waits and says its number. Ends
// with stdin.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

int main() {
  ptl_handle_ni_t ni;
  ptl_handle_ct_t ct;
  if (PtlInit() != PTL_OK ||
      PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni) != PTL_OK ||
      PtlCTAlloc(ni, &ct) != PTL_OK)
    return 1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::puts("ready");
  char line[16];
  while (std::fgets(line, sizeof line, stdin)) {
    if (std::strcmp(line, "fire\n") == 0) {
      if (PtlTriggeredCTInc(ct, {1, 0}, ct, 0) != PTL_OK) return 1;  // reached already
      std::puts("fired");
    } else if (std::strcmp(line, "count\n") == 0) {
      uint64_t *count = nullptr, *same = nullptr;
      if (PtlxCountAdd("client_steps", "what the client did", &count) != PTL_OK || PtlxCountAdd("client_steps", "", &same) != PTL_OK ||
          same != count || PtlxCountAdd("", "", &same) != PTL_ARG_INVALID || PtlxCountAdd("a", nullptr, &same) != PTL_ARG_INVALID)
        return 1;
      ++std::atomic_ref(*count);
      std::puts("counted");
    } else {
      const pid_t child = fork();
      if (child == 0) {
        pause();
        _exit(0);
      }
      std::printf("%d\n", static_cast<int>(child));
    }
  }
  PtlFini();
  return 0;
}
