// explain.cpp: the sentence behind the last error of a thread.
#include "mpi-adi/ipc/explain.hpp"

#include <cstdarg>
#include <cstdio>

#include "mpi-adi/ipc/peace.h"
#include "portals/portals4.h"

namespace portunus::peace {
namespace {

thread_local char sentence[256] = "";

}  // namespace

int fail(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return code;
}

int portals_failed(const char* what, int ptl_code) {
  if (ptl_code == PTL_NO_SPACE) return fail(PEACE_NO_SPACE, "there is no room to %s", what);
  if (ptl_code == PTL_NO_INIT) return fail(PEACE_STATE, "peace_init was not called, so it is not possible to %s", what);
  return fail(PEACE_NETWORK, "the network could not %s (Portals code %d)", what, ptl_code);
}

}  // namespace portunus::peace

const char* peace_explain(void) { return portunus::peace::sentence; }
