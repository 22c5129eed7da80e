// objects.hpp: the pools behind all handles of the process; one set serves the four interfaces.
#pragma once

#include "engine/core/interface.hpp"
#include "engine/core/target/list_entry.hpp"
#include "engine/core/triggered/trigger.hpp"
#include "engine/host/address_space.hpp"
#include "engine/shared/counter.hpp"
#include "engine/shared/event_queue.hpp"
#include "engine/shared/interface_index.hpp"
#include "engine/shared/slots.hpp"

namespace portunus {

struct Descriptor {
  ptl_md_t md;
  InterfaceIndex ni;
};

// As many as handles can name, or fewer where `ulimit -v` leaves little room: a quarter of what is left at most.
struct Objects {
  explicit Objects(size_t room = free_addresses() / 4) : halvings_(halvings_for(room)) {}
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  // Slots are reused with the memory of the queue that was there, until here.
  ~Objects() {
    for (uint32_t i = 0; i < queues.used(); ++i) queues.at(i).close();
  }

  // Ends the queues and descriptors of an interface that closes, whether or not its user freed them; counters and entries have ended
  // before.
  void close(uint32_t ni) {
    end_all(queues, [ni](const EventQueue& queue) { return queue.ni == ni; });
    end_all(descriptors, [ni](const Descriptor& descriptor) { return descriptor.ni == ni; });
  }

  // The most that one interface is given of each kind. Two that use all of it fill the pools of what has handles: a call
  // says so. Triggers are claimed after the call, so there are as many as all interfaces together may promise.
  static constexpr uint32_t kMost = (1u << 20) - 192;
  static constexpr uint32_t kMostQueues = (1u << 16) - 1;
  static constexpr uint32_t kCapacity = (1u << kIndexBits) - 2;  // indices that no constant of Portals has
  int most() const { return static_cast<int>(kMost >> halvings_); }
  int most_queues() const { return static_cast<int>(kMostQueues >> halvings_); }

 private:
  static constexpr unsigned kMostHalvings = 10;
  static constexpr size_t kAll = Pool<Descriptor>::bytes_of(kCapacity) + Pool<Counter>::bytes_of(kCapacity) +
                                 Pool<EventQueue>::bytes_of(kInterfaces * kMostQueues) + Pool<ListEntry>::bytes_of(kCapacity) +
                                 Pool<Trigger>::bytes_of(kInterfaces * kMost);
  static unsigned halvings_for(size_t room) {
    unsigned halvings = 0;
    while (kAll >> halvings > room && halvings < kMostHalvings) ++halvings;
    return halvings;
  }
  unsigned halvings_;

 public:
  Pool<Descriptor> descriptors{HandleKind::descriptor, kCapacity >> halvings_};
  Pool<Counter> counters{HandleKind::counter, kCapacity >> halvings_};
  Pool<EventQueue> queues{HandleKind::event_queue, kInterfaces*(kMostQueues >> halvings_)};
  Pool<ListEntry> entries{HandleKind::entry, kCapacity >> halvings_};
  Pool<Trigger> triggers{HandleKind::interface, kInterfaces*(kMost >> halvings_) + Pool<Trigger>::kHeldBack};

 private:
  template <class Object, class Which>
  static void end_all(Pool<Object>& pool, Which&& which) {
    for (uint32_t i = 0; i < pool.used(); ++i) {
      const uint32_t handle = pool.live_handle(i);
      const Object* object = pool.find(handle);
      if (object && which(*object) && pool.retire(handle)) pool.give_back(i);
    }
  }
};

}  // namespace portunus
