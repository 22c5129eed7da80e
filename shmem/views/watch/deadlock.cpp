// deadlock.cpp: following who waits for whom.
#include "shmem/views/watch/deadlock.hpp"

#include <algorithm>

#include "shmem/views/watch/blocked.hpp"
#include "shmem/views/watch/clock.hpp"

namespace portunus::views {
namespace {

constexpr double kLongest = 1.0;  // seconds
uint32_t last_turn = 0;

}  // namespace

void view_blocks(View& view) {
  if (view.request.at != At::await_write_notice && view.request.at != At::await_read_notice) return;
  auto word = own(library.header().blocked);
  const Blocked before{word.load(std::memory_order_relaxed)}, said = before.again(view.id, view.request.other, last_turn + 1);
  last_turn += said.bits != before.bits;
  word.store(said.bits, std::memory_order_release);
}
void nobody_blocks() { own(library.header().blocked).store(0, std::memory_order_release); }

DeadlockProbe::DeadlockProbe() : next_(now() + 0.010), interval_(0.010) {}
bool DeadlockProbe::due() const { return now() >= next_; }

// The processes from this one on, with what they said; empty if the chain does not lead back.
std::vector<std::pair<int, uint64_t>> DeadlockProbe::follow() const {
  std::vector<std::pair<int, uint64_t>> chain;
  int at = library.me;
  for (int i = 0; i <= library.n; ++i) {
    const Blocked said{library.net.load(at, offsetof(Header, blocked))};
    if (library.net.failed() || said.none()) break;
    // Notice already, it goes on as soon as it is given a processor.
    if (library.net.load(at, library.layout.slot(said.view()) + offsetof(Slot, notice)) != 0 || library.net.failed()) break;
    chain.push_back({at, said.bits});
    at = said.process();
    if (at == library.me) return chain;
  }
  library.net.clear();
  return {};
}

bool DeadlockProbe::finds_circle(View& view) {
  interval_ = std::min(2 * interval_, kLongest);
  view_blocks(view);
  found_ = follow();
  const bool same = !found_.empty() && follow() == found_;
  next_ = now() + interval_;
  if (!same) return false;
  for (const auto& [process, said] : found_)
    if (process > library.me) return false;
  return true;
}

std::string DeadlockProbe::circle() const {
  std::string text = "processes";
  for (const auto& [process, said] : found_) text += " " + std::to_string(process);
  return text;
}

}  // namespace portunus::views
