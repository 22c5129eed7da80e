// init.cpp: shmem_init, shmem_finalize and what goes with them.
//
// Thread: init and finalize: one thread. They nest; the last finalize takes everything down, and init may follow.
// Source: OpenSHMEM 1.6, section "Library Setup, Exit, and Query Routines".
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "shmem/define.hpp"
#include "shmem/session.hpp"
#include "shmem/sync.hpp"

using namespace portunus::shmem;

namespace {

Session* session = nullptr;  // nothing is taken down at exit: a PE that ends without finalize must not wait for the others
int depth = 0;               // inits without their finalize

// A child has this memory, but is no PE: its calls end it, with a sentence, and leave the job alone.
void note_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    runtime.forked = runtime.forked || runtime.n_pes != 0;
    runtime.n_pes = 0;
  });
  (void)once;
}

// All thread levels cost the same on the node, so every request is granted.
bool start(int requested) {
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
    fprintf(stderr, "shmem: shmem_init_thread: %d is no thread level\n", requested);
    return false;
  }
  if (runtime.forked) require_init("shmem_init");
  if (depth == 0) {
    try {
      session = new Session(requested);
      note_forks();
    } catch (const std::exception& problem) {
      fprintf(stderr, "shmem: %s\n", problem.what());
      return false;
    }
  }
  ++depth;
  return true;
}

}  // namespace

SHMEMI_DEFINE(void, init, (void)) try {
  if (!start(SHMEM_THREAD_SINGLE)) exit(kMisuseStatus);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, init_thread, (int requested, int* provided)) try {
  if (!start(requested)) return 1;
  if (provided) *provided = runtime.thread_level;
  return 0;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, query_thread, (int* provided)) try {
  require_init("shmem_query_thread");
  *provided = runtime.thread_level;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, query_initialized, (int* initialized)) try { *initialized = depth > 0 ? 1 : 0; }
SHMEMI_BARRIER

SHMEMI_DEFINE(void, finalize, (void)) try {
  if (runtime.forked) require_init("shmem_finalize");
  if (depth == 0) return;  // one too many does no harm, as in other libraries
  if (--depth == 0) delete std::exchange(session, nullptr);
  else barrier_all();
}
SHMEMI_BARRIER

SHMEMI_DEFINE(SHMEMI_NORETURN void, global_exit, (int status)) try {
  fflush(nullptr);
  PtlxJobAbort(status, nullptr);
  __builtin_unreachable();
}
SHMEMI_BARRIER
