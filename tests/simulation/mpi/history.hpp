// history.hpp: what ranks sent and received, and what a sequential MPI would have given them.
//
// The model: a receive that says it got a message of some source got the first one of that source, in the order of its sends, that its
// pattern accepts and no receive posted before it has taken (MPI-5.0, 3.5). So each receive's message is known, with length, tag, bytes
// and error. Thread: one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/simulation/mpi/plan.hpp"

namespace portunus::simulation {

struct SentMessage {
  int comm, source, target, tag;  // ranks of the communicator
  uint64_t number;
  size_t length;
  std::vector<uint8_t> memory{};
  bool taken = false;
};

struct ReceivedMessage {
  int comm, at, source, tag;  // kAny: any
  size_t room, stride;
  std::vector<uint8_t> memory{};  // 0xaa where nothing was written
  bool done = false, cancelled = false, truncated = false;
  int from = -2, with = -2;  // as the status says
  size_t count = 0;
};

// The values that ranks agreed on, in the order in which each did; and the members of each communicator that was made by shrinking.
struct Agreement {
  int flag, code;
};

struct History {
  std::deque<SentMessage> sent;          // in the order of the calls
  std::deque<ReceivedMessage> received;  // the same
  std::map<int, std::vector<Agreement>> agreements;
  std::map<int, std::vector<std::vector<int>>> survivors;
  std::map<int, int> rounds;  // done, by rank
};

// A difference from what would have been: a sentence, or nothing. `all`: all ranks have come to the end.
std::string differs(History& history);
std::string differ_survivors(const History& history, const Plan& plan, const std::vector<bool>& alive);

}  // namespace portunus::simulation
