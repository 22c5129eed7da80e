// objects.hpp: the pools behind all handles of the process; one set serves the four interfaces.
#pragma once

#include "engine/interface.hpp"
#include "engine/shared/counter.hpp"
#include "engine/shared/event_queue.hpp"
#include "engine/shared/interface_index.hpp"
#include "engine/shared/slots.hpp"
#include "engine/trigger.hpp"

namespace portunus {

struct Descriptor {
  ptl_md_t md;
  InterfaceIndex ni;
};

struct Objects {
  // The most that one interface is given of each kind. Two that use all of it fill the pools of what has handles: a call says so.
  // Triggers are claimed after the call, so there are as many as all interfaces together may promise.
  static constexpr uint32_t kMost = (1u << 20) - 192;
  static constexpr uint32_t kMostQueues = (1u << 16) - 1;
  static constexpr uint32_t kCapacity = (1u << kIndexBits) - 2;  // indices that no constant of Portals has
  Pool<Descriptor> descriptors{HandleKind::descriptor, kCapacity};
  Pool<Counter> counters{HandleKind::counter, kCapacity};
  Pool<EventQueue> queues{HandleKind::event_queue, kInterfaces * kMostQueues};
  Pool<ListEntry> entries{HandleKind::entry, kCapacity};
  Pool<Trigger> triggers{HandleKind::interface, kInterfaces * kMost + Pool<Trigger>::kHeldBack};
};

}  // namespace portunus
