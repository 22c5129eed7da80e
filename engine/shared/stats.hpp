// stats.hpp: what the engine counts about itself. One writer (the baton holder), any reader.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus {

// Macros are allowed for such tables: name and what it counts.
#define PORTUNUS_STATS(X)                                                    \
  X(steps, "engine steps that found work")                                   \
  X(steps_by_engine, "of these, by the engine thread")                       \
  X(sends, "messages handed to a transport")                                 \
  X(arrivals, "messages received")                                           \
  X(matches, "arrivals that found an entry")                                 \
  X(unexpected, "arrivals kept for an entry that is appended later")         \
  X(triggers, "triggered operations fired")                                  \
  X(rings, "wake-ups of a sleeping process or thread")                       \
  X(back_pressure, "messages that had to wait because a transport was full") \
  X(dropped, "arrivals without a matching entry or portal")                  \
  X(malformed, "arrivals whose header made no sense")                        \
  X(lost_peers, "processes found dead, or out of reach")                     \
  X(abandoned, "messages whose senders died while writing them")             \
  X(bulk_bytes, "bytes pulled or pushed in bulk")                            \
  X(stale_events, "events for queues or counters that are gone")

struct Stats {
  class Count {
   public:
    void operator++() { add(1); }
    void add(uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
    uint64_t read() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<uint64_t> value_{0};
  };
#define X(name, text) Count name;
  PORTUNUS_STATS(X)
#undef X
};

}  // namespace portunus
