// notify.hpp: notifications of a window: numbers of each rank that puts and gets of other ranks count up, behind their data.
//
// A notification has two halves, which are added up: a word in memory that the ranks of a node map, for accesses by loads and stores, and a
// counting event of an entry of its own over the window's memory, for accesses by messages. So an access with a notification is a copy and
// an atomic addition, or one message.
//
// Thread: accesses, looking and waiting any; making and freeing: the thread that calls for all ranks. Source: Belli, Hoefler, "Notified
// Access: Extending Remote Memory Access Programming Models for Producer-Consumer Synchronization", IPDPS 2015.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/client/objects.hpp"
#include "engine/client/remote_memory.hpp"
#include "engine/client/shared_memory.hpp"

namespace portunus::mpi::rma {

// The half of one notification that others reach by a pointer, and what the owner has subtracted by setting it.
struct alignas(64) NotifiedWord {
  uint64_t count = 0;
  uint64_t base = 0;  // of the owner alone
};

// Those of one window.
struct Notifications {
  struct Peer {
    int64_t count = 0;              // how many notifications it has
    NotifiedWord* words = nullptr;  // in this process; nullptr: it is reached by messages
    ptlx_watch_t watch{};
  };
  struct Event {
    client::Counter counter;
    client::MatchEntry entry;  // closed before the counter
  };

  ~Notifications() {
    for (const Peer& peer : peers)
      if (peer.watch.watched != nullptr) PtlxNodeUnwatch(&peer.watch);
  }

  std::vector<Peer> peers;          // by rank in the window
  NotifiedWord* words = nullptr;    // this rank's own
  std::vector<NotifiedWord> owned;  // they lie here unless they are shared
  std::vector<Event> events;        // empty: no rank uses messages
  uint32_t watched = 0;             // the bits that a wait sleeps with
  client::SharedMemory segment{"win", client::SharedMemory::Pages::when_touched};
};

}  // namespace portunus::mpi::rma
