// deadlock.cpp: following who waits for whom.
#include "shmem/views/watch/deadlock.hpp"

#include <algorithm>
#include <utility>

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

namespace {

// The words of the processes of the job, each read when it is asked for.
struct Words {
  bool blocked(int process, Blocked& said) const {
    said = {library.net.load(process, offsetof(Header, blocked))};
    return !library.net.failed();
  }
  bool has_notice(int process, int view) const {
    return library.net.load(process, library.layout.slot(view) + offsetof(Slot, notice)) != 0 || library.net.failed();
  }
  bool word(int process, int view, int waiter, Word& word, uint64_t& readers) const {
    word = {library.net.load(process, library.layout.slot(view) + offsetof(Slot, word))};
    readers = library.net.load(process, library.layout.bit_word(view, static_cast<unsigned>(waiter)));
    return !library.net.failed();
  }
};

}  // namespace

std::vector<std::pair<int, uint64_t>> DeadlockProbe::follow() const {
  Words words;
  library.probes = true;
  auto chain = follow_waits(words, library.me, library.n);
  library.probes = false;
  if (chain.empty()) library.net.clear();
  return chain;
}

bool DeadlockProbe::finds_circle(View& view) {
  interval_ = std::min(2 * interval_, kLongest);
  view_blocks(view);
  const std::vector<std::pair<int, uint64_t>> before = std::exchange(found_, follow());
  const bool same = !found_.empty() && found_ == before && follow() == found_;
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
