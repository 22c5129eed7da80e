// Whether data take long between nodes. What hides the latency of a slow wire costs processor time, which on a fast one is lost; and what
// the interface calls its speed is not known of virtual ones, or not true of the way behind it. So a message is sent, and timed.
//
// The one who asks sends to the next node, and is sent to by the one before: all at once, as many as there are nodes, each way of a link
// used once. Collective over them: open() on each, something that all wait for, then is_slow(), and again something before close().
//
// Thread: one.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/client/objects.hpp"

namespace portunus::goal {

class WireProbe {
 public:
  WireProbe() = default;
  ~WireProbe() { close(); }
  WireProbe(const WireProbe&) = delete;
  WireProbe& operator=(const WireProbe&) = delete;

  // Takes what others send. Returns a PTL_* code; is_slow() must be called all the same, since others wait for it.
  int open(ptl_handle_ni_t ni);
  // Costs some messages of kBytes. False also where nobody answers: what comes next says so.
  bool is_slow(ptl_rank_t next);
  void close();

  static constexpr size_t kBytes = 128 << 10;
  // The limit of a slow wire: below about 2 Gbit/s.
  static constexpr long kSlowNs = 500'000;

 private:
  enum Kind : ptl_match_bits_t { data, end };
  static bool wait(ptl_handle_ct_t counter, ptl_size_t count);

  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  bool has_portal_ = false;        // it may be somebody else's
  std::vector<std::byte> memory_;  // what is sent; behind it, where others' lands
  client::Counter ended_, acknowledged_;
  client::Descriptor source_;
  std::array<client::MatchEntry, 2> entries_;
};

}  // namespace portunus::goal
