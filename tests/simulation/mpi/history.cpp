// history.cpp: see history.hpp.
#include "tests/simulation/mpi/history.hpp"

#include <algorithm>

namespace portunus::simulation {
namespace {

std::string name_of(const ReceivedMessage& receive) {
  return "a receive of rank " + std::to_string(receive.at) + " on communicator " + std::to_string(receive.comm) + " (source " +
         std::to_string(receive.source) + ", tag " + std::to_string(receive.tag) + ", got " + std::to_string(receive.count) +
         " bytes from " + std::to_string(receive.from) + " with tag " + std::to_string(receive.with) + ")";
}

std::string compare(const ReceivedMessage& receive, const SentMessage& message) {
  const size_t there = std::min(message.length, receive.room);
  const std::string wanted = " is not message " + std::to_string(message.number) + " of " + std::to_string(message.length) +
                             " bytes with tag " + std::to_string(message.tag) + ": ";
  if (receive.truncated != (message.length > receive.room)) return name_of(receive) + wanted + "truncation";
  if (receive.with != message.tag) return name_of(receive) + wanted + "tag";
  if (receive.count != there) return name_of(receive) + wanted + "length";
  for (size_t i = 0; i < receive.memory.size(); ++i) {
    const bool written = i % receive.stride == 0 && i / receive.stride < there;
    const unsigned is = receive.memory[i], should_be = written ? message_byte(message.number, i / receive.stride) : 0xaa;
    if (is != should_be)
      return name_of(receive) + wanted + (written ? "byte " : "memory beyond it, at ") + std::to_string(i) + " is " + std::to_string(is) +
             ", not " + std::to_string(should_be);
  }
  return "";
}

}  // namespace

std::string differs(History& history) {
  std::map<std::tuple<int, int, int>, std::vector<SentMessage*>> ways;  // communicator, source, target
  for (SentMessage& each : history.sent) ways[{each.comm, each.source, each.target}].push_back(&each);
  for (ReceivedMessage& receive : history.received) {
    if (receive.cancelled) continue;
    if (!receive.done) return name_of(receive) + " has not ended";
    if (receive.source != kAny && receive.from != receive.source) return name_of(receive) + " got a message from somebody else";
    SentMessage* first = nullptr;
    for (SentMessage* each : ways[{receive.comm, receive.from, receive.at}])
      if (!each->taken && (receive.tag == kAny || receive.tag == each->tag)) {
        first = each;
        break;
      }
    if (!first) return name_of(receive) + ": there is no such message";
    first->taken = true;
    if (const std::string difference = compare(receive, *first); !difference.empty()) return difference;
  }
  for (const SentMessage& each : history.sent)
    if (!each.taken)
      return "message " + std::to_string(each.number) + " from " + std::to_string(each.source) + " to " + std::to_string(each.target) +
             " on communicator " + std::to_string(each.comm) + " was not received";
  return "";
}

// Those that live have agreed on the same, and went on as the same ones.
std::string differ_survivors(const History& history, const Plan& plan, const std::vector<bool>& alive) {
  int first = -1;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    if (!alive[static_cast<size_t>(rank)]) continue;
    if (first < 0) first = rank;
    const auto &one = history.agreements.find(first), &other = history.agreements.find(rank);
    if (one == history.agreements.end() || other == history.agreements.end()) return "rank " + std::to_string(rank) + " has not agreed";
    for (size_t i = 0; i < std::max(one->second.size(), other->second.size()); ++i)
      if (i >= one->second.size() || i >= other->second.size() || one->second[i].flag != other->second[i].flag ||
          one->second[i].code != other->second[i].code)
        return "ranks " + std::to_string(first) + " and " + std::to_string(rank) + " differ in agreement " + std::to_string(i);
    const auto &ours = history.survivors.find(first), &theirs = history.survivors.find(rank);
    const bool both = ours != history.survivors.end() && theirs != history.survivors.end();
    if (both ? ours->second != theirs->second : ours != theirs)
      return "ranks " + std::to_string(first) + " and " + std::to_string(rank) + " have shrunk to different groups";
    if (both)
      for (int member = 0; member < plan.ranks; ++member)
        if (alive[static_cast<size_t>(member)] &&
            std::find(ours->second.back().begin(), ours->second.back().end(), member) == ours->second.back().end())
          return "rank " + std::to_string(member) + " lives, and is not among the survivors";
    const auto done = history.rounds.find(rank);
    if (done == history.rounds.end() || done->second != plan.rounds) return "rank " + std::to_string(rank) + " has not done all rounds";
  }
  return "";
}

}  // namespace portunus::simulation
