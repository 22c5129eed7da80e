// event.hpp: events of the tool information interface, as the library raises them.
//
// An event has a type and up to four numbers, which event_types.hpp describes. Where nobody listens to its type nothing happens: calls look
// at one word, which is seldom written; those that send and receive do not even do that, since while somebody listens to them all
// communicators have Communicator::kHeard among what makes calls look closer.
//
// Another event is a value of Event, a row in event_types.hpp, and emit() where it happens.
//
// Thread: any. Source: MPI-5.0, 15.3.8.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus::mpi::tool {

enum class Event : uint8_t {
  send_begins,
  receive_begins,
  message_received,
  message_unexpected,
  send_throttled,
  collective_begins,
  collective_ends,
  persistent_starts,
  partitions_ready,
  request_cancelled,
  communicator_created,
  communicator_freed,
  communicator_revoked,
  process_lost,
  window_created,
  window_freed,
  window_fence,
  window_complete,
  window_unlock,
  window_flush,
  file_opened,
  file_closed,
  datatype_committed,
  graph_starts,
  processes_spawned,
  error_raised
};
inline constexpr int kEvents = static_cast<int>(Event::error_raised) + 1;
constexpr uint32_t bit_of(Event event) { return uint32_t{1} << static_cast<unsigned>(event); }
// Those of messages and collectives, which calls look at by their communicator.
inline constexpr uint32_t kByCommunicator = bit_of(Event::send_begins) | bit_of(Event::receive_begins) | bit_of(Event::message_received) |
                                            bit_of(Event::message_unexpected) | bit_of(Event::send_throttled) |
                                            bit_of(Event::collective_begins) | bit_of(Event::collective_ends) |
                                            bit_of(Event::persistent_starts) | bit_of(Event::partitions_ready);

extern constinit std::atomic<uint32_t> listened;  // types for which there is a callback
inline bool is_listened(Event event) { return (listened.load(std::memory_order_relaxed) & bit_of(event)) != 0; }

[[gnu::cold, gnu::noinline]] void call_back(Event event, int64_t a, int64_t b, int64_t c, int64_t d);

// Calls those who listen. Of events that come while a callback runs in the same thread they are told that some were dropped.
inline void emit(Event event, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0) {
  if (is_listened(event)) [[unlikely]]
    call_back(event, a, b, c, d);
}

}  // namespace portunus::mpi::tool
