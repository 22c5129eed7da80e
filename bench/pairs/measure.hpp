// measure.hpp: round trips, windows and single calls over any layer that can carry messages between two ranks.
//
// Source of the methods: ping-pong and windowed streams as the OSU micro-benchmarks define them; time-boxed here.
// Thread: the main thread of each rank.
#pragma once

#include <functional>

#include "bench/pairs/report.hpp"

namespace portunus::bench {

// One layer's messages to and from the other rank. Every message says whether it is the last of its series, so that only
// rank 0 needs a clock. Sizes are 8 bytes or more. Whoever has sent waits for an answer before it sends again, so a link
// may leave it to the answer to say that the memory is free again.
class Link {
 public:
  virtual ~Link() = default;
  virtual void send(size_t bytes, bool last) = 0;
  virtual bool receive(size_t bytes) = 0;  // true: it was the last
  // `count` messages that are under way together, each to a place of its own; at most kMaxBytes.
  virtual void send_window(size_t bytes, size_t count, bool last) = 0;
  virtual bool receive_window(size_t bytes, size_t count) = 0;
};

constexpr size_t kMaxMessage = size_t{4} << 20;
constexpr size_t kMaxWindow = 64;
constexpr size_t kMaxBytes = kMaxMessage * 8;  // what the largest window of any size fills

// Latency, bandwidth and rate of a link, at the sizes that tell its protocols apart. Collective over both ranks.
void measure_link(Link& link, int me, Report& report, const char* bench);

// The same of calls that need no partner: `call` is complete when it returns. On rank 0 only.
void measure_latency(const std::function<void()>& call, size_t bytes, Report& report, const char* bench);
// `window` issues `count` operations of `bytes` and returns when all are complete.
void measure_throughput(const std::function<void()>& window, size_t bytes, size_t count, Report& report, const char* bench,
                        const char* metric);

}  // namespace portunus::bench
