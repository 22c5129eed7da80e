// standard_output.cpp: what a rank prints is on its way at the end of each line, whatever becomes of the rank.
//
// Launchers give ranks a pipe, where the C library would keep lines until there are 4096 bytes: those before a crash would be lost. This is
// done when the library is loaded, and so holds for what is printed before MPI_Init, too.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/host/launchers.hpp"

namespace {

[[gnu::constructor]] void buffer_by_lines() {
  const char* wanted = std::getenv("PTL_STDOUT");
  const bool by_lines = wanted != nullptr ? std::strcmp(wanted, "line") == 0 : portunus::launcher_announced();
  if (by_lines) std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

}  // namespace
