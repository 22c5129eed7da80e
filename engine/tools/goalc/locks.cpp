// The order in which ranks held locks: see locks.hpp.
#include "engine/tools/goalc/locks.hpp"

#include <algorithm>

namespace portunus::goalc {

void Locks::resolve() {
  for (const auto& [rank, count] : counts_) {
    befores_[rank].assign(count.taken, -1);
    nexts_[rank].assign(count.given, -1);
  }
  for (auto& [lock, events] : events_) {
    std::ranges::stable_sort(events, {}, &Event::time_ns);
    const Event* free = nullptr;
    for (const Event& event : events) {
      if (event.taken && free != nullptr && free->rank != event.rank) {
        befores_[event.rank][event.index] = static_cast<int>(free->rank);
        nexts_[free->rank][free->index] = static_cast<int>(event.rank);
      }
      free = event.taken ? nullptr : &event;
    }
  }
}

}  // namespace portunus::goalc
