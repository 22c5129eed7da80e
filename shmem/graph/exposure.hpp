// exposure.hpp: symmetric memory as operations of graphs reach it.
//
// Schedules live on GOAL's matching interface, and triggered operations stay on the interface of their counters; so the segments have
// entries there besides those of remote.hpp. They are made with the first graph of a PE.
//
// Thread: open one at a time, close of finalize; the rest any, behind open.
#pragma once

#include "engine/client/remote_memory.hpp"
#include "shmem/runtime.hpp"

namespace portunus::shmem::graph {

class Exposure {
 public:
  // Unless it is open: a PTL_* code.
  static int open();
  static void close();
  static ptl_handle_ni_t ni();
  static client::RemoteAddress at(int pe, Place place);
  // Messages that are not longer are not split; those that are not longer than `in_order` do not overtake one another on their way to a PE.
  static size_t most();
  static size_t in_order();
};

}  // namespace portunus::shmem::graph
