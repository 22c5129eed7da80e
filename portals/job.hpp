// job.hpp: the job of this process, and what calls share that wait for its launcher.
//
// Thread: set-up and tear-down; one thread at a time.
#pragma once

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "engine/host/bootstrap.hpp"
#include "portals/arguments.hpp"

namespace portunus::api {

struct Job {
  std::unique_ptr<Bootstrap> bootstrap;
  int count = 0;
};
inline Job& job() {
  static Job& job = *new Job;
  return job;
}

inline constexpr Fault kNoJob{"the job", "was not joined: PtlxJobInit comes first"};

// Runs set-up work that may throw; the sentence goes to stderr.
template <class Work>
int guarded(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return no_memory("set-up");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "portals: %s\n", error.what());
    return PTL_FAIL;
  }
}

// The same with work that waits for others. Without an engine thread, these may need our engine before they come: this thread steps it
// meanwhile.
template <class Work>
int stepping_meanwhile(Work&& work) {
  if (!initialized() || !runtime().running() || !progress().only_callers_step()) return guarded(work);
  std::atomic<bool> over{false};
  int code = PTL_OK;
  std::thread waiting([&] {
    code = guarded(work);
    over.store(true, std::memory_order_release);
  });
  while (!over.load(std::memory_order_acquire))
    if (progress().poll() == 0) sched_yield();
  waiting.join();
  return code;
}

}  // namespace portunus::api
