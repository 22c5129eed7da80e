// deaths.cpp: watching PEs, and asking who of them has died.
#include "shmem/deaths.hpp"

#include <memory>
#include <mutex>

#include "shmem/misuse.hpp"
#include "shmem/runtime.hpp"

namespace portunus::shmem {

client::Deaths& deaths_counted = *new client::Deaths;  // also for a PE that ends without shmem_finalize

namespace {

constexpr ptl_time_t kLong = 1000;  // milliseconds of waiting, after which all PEs are watched

std::mutex guard;        // of what follows
uint64_t looked_at = 0;  // deaths that `gone` has
bool everybody = false;  // is watched
std::unique_ptr<std::atomic<bool>[]> gone;

using client::process;

void look() {
  const std::lock_guard lock(guard);
  const uint64_t told = deaths();
  if (told == looked_at || !deaths_counted.is_open()) return;
  for (int pe = 0; pe < runtime.n_pes; ++pe)
    if (pe != runtime.my_pe && (everybody || runtime.peers[pe].on_node()) && !gone[static_cast<size_t>(pe)] &&
        deaths_counted.includes(process(pe)))
      gone[static_cast<size_t>(pe)] = true;
  looked_at = told;
  deaths_counted.rearm(told);
}

// Those nobody has watched yet, too, which connects to them.
void watch_everybody() {
  const std::lock_guard lock(guard);
  if (everybody || !deaths_counted.is_open()) return;
  everybody = true;
  for (int pe = 0; pe < runtime.n_pes; ++pe)
    if (pe != runtime.my_pe && !runtime.peers[pe].on_node()) deaths_counted.watch(process(pe));
}

}  // namespace

void deaths_open(ptl_handle_ni_t ni) {
  looked_at = 0;
  everybody = !runtime.any_remote;
  gone = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(runtime.n_pes));
  if (deaths_counted.open(ni) != PTL_OK) return;  // deaths are not told then, but by operations that fail
  for (int pe = 0; pe < runtime.n_pes; ++pe)
    if (pe != runtime.my_pe && runtime.peers[pe].on_node()) deaths_counted.watch(process(pe));
}

void deaths_close() {
  const std::lock_guard lock(guard);
  deaths_counted.close();
}

bool is_dead(int pe) {
  if (deaths() == 0) return false;
  look();
  return gone[static_cast<size_t>(pe)].load(std::memory_order_relaxed);
}

int dead_among(const Members* members) {
  if (deaths() == 0) return -1;
  for (int i = 0; i < (members ? members->size() : runtime.n_pes); ++i)
    if (const int pe = members ? (*members)[i] : i; is_dead(pe)) return pe;
  return -1;
}

void must_live(const char* function, int pe) {
  if (is_dead(pe)) misuse("%s: PE %d has died", function, pe);
}

int who_failed(const Members* members) {
  watch_everybody();
  for (ptl_time_t left = kLong;;) {
    uint64_t told = deaths();
    if (const int pe = dead_among(members); pe >= 0) return pe;
    const auto another = [](void* before) -> int { return deaths() != *static_cast<uint64_t*>(before); };
    if (PtlxWait(another, &told, 0, left) != PTL_OK) return -1;
  }
}

void failed_operations(uint64_t number, const char* what) {
  const auto many = static_cast<unsigned long long>(number);
  if (const int pe = who_failed(nullptr); pe >= 0) misuse("%llu %s failed: PE %d has died", many, what, pe);
  misuse("%llu %s failed: a PE is gone or refused them", many, what);
}

void await(uint32_t watched, int (*ready)(void* arg), void* arg, const char* what, const Members* whom) {
  struct Look {
    int (*ready)(void* arg);
    void* arg;
    uint64_t told;
    bool is_ready = false;
  } look{ready, arg, 0};
  const auto done = [](void* at) -> int {
    auto& self = *static_cast<Look*>(at);
    return (self.is_ready = self.ready(self.arg) != 0) || deaths() != self.told;
  };
  for (ptl_time_t limit = runtime.any_remote ? kLong : PTL_TIME_FOREVER;;) {
    look.told = deaths();
    if (const int pe = dead_among(whom); pe >= 0) {
      if (ready(arg)) return;  // by what it did before
      if (whom) misuse("%s waits for PE %d, which has died", what, pe);
      misuse("%s waits for this PE's memory to change, perhaps by PE %d, which has died", what, pe);
    }
    const int code = PtlxWait(done, &look, watched, limit);
    if (look.is_ready || code == PTL_INTERRUPTED) return;
    if (code == PTL_CT_NONE_REACHED) {
      watch_everybody();
      limit = PTL_TIME_FOREVER;
    }
  }
}

}  // namespace portunus::shmem
