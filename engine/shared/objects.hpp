// objects.hpp: the pools behind all handles of the process; one set serves the four interfaces.
#pragma once

#include "engine/interface.hpp"
#include "engine/shared/counter.hpp"
#include "engine/shared/event_queue.hpp"
#include "engine/shared/slots.hpp"
#include "engine/trigger.hpp"

namespace portunus {

struct Descriptor {
  ptl_md_t md;
  uint8_t ni;
};

struct Objects {
  static constexpr uint32_t kCapacity = (1u << kIndexBits) - 2;  // indices that no constant of Portals has
  Pool<Descriptor> descriptors{HandleKind::descriptor, kCapacity};
  Pool<Counter> counters{HandleKind::counter, kCapacity};
  Pool<EventQueue> queues{HandleKind::event_queue, 1u << 16};
  Pool<ListEntry> entries{HandleKind::entry, kCapacity};
  Pool<Trigger> triggers{HandleKind::interface, kCapacity};
};

}  // namespace portunus
