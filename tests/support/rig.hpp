// rig.hpp: several engines in one process on one hub, stepped by hand with a clock that the test owns.
//
// No thread, no sleep: what happens, happens in step(). Commands are filled as the API does it.
#pragma once

#include <climits>
#include <memory>
#include <vector>

#include "engine/core/engine.hpp"
#include "engine/core/objects.hpp"
#include "engine/transport/self/self.hpp"

namespace portunus::test {

// One process: engine, objects, an interface of each test's choice.
struct Node {
  Node(SelfHub& hub, ProcessId id) : engine(objects, /*uid=*/1000) {
    engine.set_self(id);
    engine.peers().add_transport(std::make_unique<SelfTransport>(engine, hub, id, 1000));
  }
  explicit Node(ProcessId id) : engine(objects, /*uid=*/1000) { engine.set_self(id); }  // the caller adds the transport

  // Interface 0 with this map.
  void open(unsigned options, const std::vector<ptl_process_t>& map) {
    Interface& interface = engine.interface(0);
    interface.options = options;
    interface.limits.max_pt_index = 63;
    interface.limits.max_unexpected_headers = 1 << 20;
    interface.open.store(true, std::memory_order_release);
    if (options & PTL_NI_LOGICAL) engine.set_map(0, map.data(), map.size());
  }

  Objects objects;
  Engine engine;
  uint32_t ni = 0;

  uint32_t counter() {
    const uint32_t index = objects.counters.claim();
    Counter& counter = objects.counters.at(index);
    counter.reset();
    counter.ni = static_cast<uint8_t>(ni);
    return objects.counters.publish(index);
  }
  ptl_ct_event_t value(uint32_t ct) { return objects.counters.find(ct)->read(); }
  uint32_t queue(uint64_t count = 64) {
    const uint32_t index = objects.queues.claim();
    objects.queues.at(index).open(count);
    objects.queues.at(index).ni = static_cast<uint8_t>(ni);
    return objects.queues.publish(index);
  }
  // Everything in the queue, oldest first.
  std::vector<ptl_event_t> events(uint32_t eq) {
    std::vector<ptl_event_t> all;
    ptl_event_t event;
    while (objects.queues.find(eq)->take(event) != PTL_EQ_EMPTY) all.push_back(event);
    return all;
  }
  std::vector<int> kinds(uint32_t eq) {
    std::vector<int> all;
    for (const ptl_event_t& event : events(eq)) all.push_back(event.type);
    return all;
  }
  uint32_t portal(uint32_t eq = PTL_EQ_NONE, unsigned options = 0) {
    uint32_t index = 0;
    engine.table().alloc(ni, options, eq, PTL_PT_ANY, index);
    return index;
  }
  struct Entry {
    void* start = nullptr;
    uint64_t length = 0;
    uint32_t options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE;
    uint64_t match_bits = 0, ignore_bits = 0;
    uint32_t rank = PTL_RANK_ANY;
    uint32_t ct = PTL_CT_NONE;
    uint64_t min_free = 0;
    ptl_list_t list = PTL_PRIORITY_LIST;
    void* user_ptr = nullptr;
    ptl_uid_t uid = PTL_UID_ANY;
  };
  uint32_t claim(const Entry& want, uint32_t pt = 0) {
    const uint32_t index = objects.entries.claim();
    ListEntry& entry = *new (&objects.entries.at(index)) ListEntry;
    entry.memory.base = want.start;
    entry.length = want.length;
    if (want.options & PTL_IOVEC) {
      entry.memory.iov_count = static_cast<uint32_t>(want.length);
      entry.length = 0;
      for (uint64_t i = 0; i < want.length; ++i) entry.length += static_cast<ptl_iovec_t*>(want.start)[i].iov_len;
    }
    entry.options = want.options;
    entry.match_bits = want.match_bits;
    entry.ignore_bits = want.ignore_bits;
    entry.source = want.rank == PTL_RANK_ANY ? 0 : want.rank;
    entry.source_mask = want.rank == PTL_RANK_ANY ? 0 : ~uint64_t{0};
    entry.ct = want.ct;
    entry.uid = want.uid;
    entry.min_free = want.min_free;
    entry.user_ptr = want.user_ptr;
    entry.list = want.list;
    entry.pt_index = static_cast<uint16_t>(pt);
    entry.ni = static_cast<uint8_t>(ni);
    entry.parked = true;
    entry.handle = objects.entries.next_handle(index);
    return objects.entries.publish(index);
  }
  uint32_t append(const Entry& want, uint32_t pt = 0) {
    const uint32_t handle = claim(want, pt);
    append_claimed(handle);
    return handle;
  }
  void append_claimed(uint32_t handle) {
    Command command;
    command.verb = Verb::append;
    command.ni = static_cast<uint8_t>(ni);
    command.handle = handle;
    engine.execute(command);
  }
  Command put(const void* from, uint64_t length, uint32_t target, uint64_t match_bits = 0) {
    Command command;
    command.verb = Verb::put;
    command.ni = static_cast<uint8_t>(ni);
    command.source.base = const_cast<void*>(from);
    command.length = length;
    command.target.rank = target;
    command.match_bits = match_bits;
    return command;
  }
  void run(Command command) { engine.execute(command); }
  void add(uint32_t ct, uint64_t success, uint64_t failure = 0) {
    Command command;
    command.verb = Verb::counter_add;
    command.ni = static_cast<uint8_t>(ni);
    command.handle = ct;
    command.extra.count = {success, failure};
    engine.execute(command);
  }
  void arm(Command command, uint32_t ct, uint64_t threshold) {
    command.armed = command.verb;
    command.verb = Verb::arm;
    command.trigger_ct = ct;
    command.threshold = threshold;
    engine.interface(ni).triggers.take(INT_MAX);
    engine.execute(command);
  }
};

// `ranks` processes, each with an open matching, logical interface 0 and the same map.
class Rig {
 public:
  explicit Rig(uint32_t ranks, unsigned options = PTL_NI_MATCHING | PTL_NI_LOGICAL) {
    std::vector<ptl_process_t> map(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      map[rank].phys = {0x7f000001, 1000 + rank};
      nodes_.push_back(std::make_unique<Node>(hub, ProcessId{0x7f000001, 1000 + rank}));
    }
    for (auto& node : nodes_) node->open(options, map);
  }

  Node& operator[](size_t rank) { return *nodes_[rank]; }
  // Steps everyone until nobody finds work; returns the number of rounds.
  int settle(uint64_t now_ns = 0) {
    int rounds = 0;
    for (bool work = true; work; ++rounds) {
      work = false;
      for (auto& node : nodes_) work |= node->engine.step(now_ns) > 0;
    }
    return rounds;
  }

  SelfHub hub;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace portunus::test
