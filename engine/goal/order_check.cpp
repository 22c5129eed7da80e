// The channels of a program: see order_check.hpp.
//
// Thread: pure.
#include "engine/goal/order_check.hpp"

#include <algorithm>

namespace portunus::goal {

namespace {

constexpr uint64_t kIdBits = (uint64_t{1} << kEpochShift) - 1;  // split and id
constexpr unsigned kClassShift = 60;

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccd;
  return hash ^ hash >> 32;
}

}  // namespace

std::vector<Channel> channels(const Program& program, Action action, const std::vector<bool>& exact) {
  std::vector<const Operation*> messages;
  for (const auto* operations : {&program.early, &program.triggered})
    for (const Operation& operation : *operations) {
      if (operation.action != action) continue;
      if (operation.any_tag || operation.peer == kAnySource || operation.match_bits >> kClassShift != 1) return {};
      messages.push_back(&operation);
    }
  std::ranges::sort(messages, [](const Operation* a, const Operation* b) {
    return a->peer != b->peer ? a->peer < b->peer : (a->match_bits & kIdBits) < (b->match_bits & kIdBits);
  });
  std::vector<Channel> found;
  for (const Operation* message : messages) {
    if (found.empty() || found.back().peer != message->peer) found.push_back({.peer = message->peer});
    Channel& channel = found.back();
    ++channel.messages;
    channel.bytes += message->size;
    channel.hash = mixed(mixed(channel.hash, message->match_bits & kIdBits), exact[message->vertex] ? message->size : ~uint64_t{0});
  }
  for (Channel& channel : found) channel.hash &= kAnyHash;
  return found;
}

}  // namespace portunus::goal
