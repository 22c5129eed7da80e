// init.cpp: PtlInit, PtlFini, PtlAbort, handles. Source: Portals 4.3, initialisation.
#include <pthread.h>

#include <cstdio>
#include <exception>
#include <mutex>

#include "portals/arguments.hpp"
#include "portals/lifetime.hpp"

using namespace portunus;

namespace portunus::api {
namespace {
// A child has the memory of its parent, but none of its threads and not its place in the job: it must not use the library.
void note_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    if (initialized()) forked.store(true, std::memory_order_relaxed);
    init_count.store(0, std::memory_order_relaxed);
  });
  (void)once;
}
}  // namespace

std::mutex& lifetime() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
}  // namespace portunus::api

extern "C" {

int PtlInit(void) try {
  if (api::forked.load(std::memory_order_relaxed)) {
    std::fprintf(stderr,
                 "portals: PtlInit: a child that was forked by a process which uses the library cannot use it; let it exec a program\n");
    return PTL_FAIL;
  }
  std::lock_guard guard(api::lifetime());
  try {
    api::runtime();
  } catch (const std::exception& e) {  // no address space: nothing was made, and a later call may try again
    std::fprintf(stderr, "portals: %s\n", e.what());
    return PTL_FAIL;
  }
  api::note_forks();
  api::init_count.fetch_add(1, std::memory_order_release);
  return PTL_OK;
}
PTL_BARRIER

void PtlFini(void) {
  std::lock_guard guard(api::lifetime());
  if (!api::initialized()) return;
  if (api::init_count.load(std::memory_order_relaxed) == 1) api::close_all_interfaces();
  api::init_count.fetch_sub(1, std::memory_order_release);
}

void PtlAbort(void) {
  if (api::initialized() && api::runtime().running()) api::progress().abort_waits();
}

int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2) try { return handle1 == handle2; }
PTL_BARRIER

int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t* ni_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!ni_handle) return api::refuse(__func__, {"ni_handle", api::kIsNull});
  Objects& objects = api::runtime().objects();
  uint32_t ni = kInterfaces;
  switch (handle_kind(handle)) {
    case HandleKind::interface:
      if (api::find_interface(handle)) ni = handle_index(handle);
      break;
    case HandleKind::event_queue:
      if (auto* queue = objects.queues.find(handle)) ni = queue->ni;
      break;
    case HandleKind::counter:
      if (auto* counter = objects.counters.find(handle)) ni = counter->ni;
      break;
    case HandleKind::descriptor:
      if (auto* descriptor = objects.descriptors.find(handle)) ni = descriptor->ni;
      break;
    case HandleKind::entry:
      if (auto* entry = objects.entries.find(handle)) ni = entry->ni;
      break;
  }
  if (ni == kInterfaces) return api::refuse(__func__, api::bad_handle("handle", handle, handle_kind(handle)));
  *ni_handle = api::interface_handle(ni);
  return PTL_OK;
}
PTL_BARRIER

}  // extern "C"
