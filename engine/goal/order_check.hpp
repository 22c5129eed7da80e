// order_check.hpp: finds schedules that were not compiled in the same order on all ranks.
//
// The k-th schedule that a rank compiles meets the k-th of the others. At its first run each tells every rank that it sends to what it
// sends there: a message before all others, whose match bits hold a hash of that channel. An entry of the receiver's schedule takes the
// hash that it computes of what it receives from there. Any other hash is taken by an entry behind it: then all schedules of the process
// whose contexts were counted fail, instead of waiting for others for ever. They tell each other by messages to their own process, as
// of failures (failure_notice.hpp), and the first that is waited for tells all ranks, where the same happens.
//
//     match bits  | 4 : 4 | context : 16 | hash : 44 |     an announcement
//                 | 5 : 4 | 0 : 60                   |     an announcement was unexpected
//
// The hash is of tags and numbers of messages, and of the lengths of those that collectives send; others may be shorter or longer than
// their receives.
//
// Thread: pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/schedules/compile.hpp"

namespace portunus::goal {

inline constexpr uint64_t kAnyHash = (uint64_t{1} << kContextShift) - 1;  // ignored: all announcements of a context

inline constexpr uint64_t kDisorder = uint64_t{5} << 60;

// The content of these messages: what the schedule of one rank sends to another, and how much that one's receives, which it adds.
struct Announcement {
  uint32_t from = 0, to = 0, context = 0, told = 0;
  uint64_t messages = 0, bytes = 0;  // 0 messages: there has been none
  uint64_t expected_messages = 0, expected_bytes = 0;
};

// The messages between this rank and another one, in one direction.
struct Channel {
  uint32_t peer = 0;
  uint64_t messages = 0, bytes = 0, hash = 0;

  [[nodiscard]] uint64_t announced_by(uint16_t context) const { return uint64_t{4} << 60 | uint64_t{context} << kContextShift | hash; }
};

// Those of a program by peer; `action`: put or append. `exact`, by vertex: the message has as many bytes as its receive. Nothing if a
// receive may take more than one message of the schedule, as only the run decides then which.
[[nodiscard]] std::vector<Channel> channels(const Program& program, Action action, const std::vector<bool>& exact);

}  // namespace portunus::goal
