// threads_test.cpp: SHMEM_THREAD_MULTIPLE: any thread may call, each blocking call waits for its own operation.
#include <thread>

#include "pe.hpp"

namespace {

constexpr int kThreads = 4;
int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "PE %d: %s\n", me(), what);
  __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
}

// Each thread has slots of its own and sees its own puts come back while the others make traffic.
void traffic(int thread, unsigned char* slot, size_t size, long* sum, int n) {
  std::vector<unsigned char> back(size);
  for (int i = 0; i < n; ++i) {
    const std::vector<unsigned char> source = pattern_of(me() * kThreads + thread, static_cast<size_t>(i), size);
    const size_t length = i % 3 == 0 ? 24 : size;
    shmem_putmem(slot, source.data(), length, right());
    shmem_quiet();
    std::fill(back.begin(), back.end(), 0);
    if (i % 2) {
      shmem_getmem(back.data(), slot, length, right());
    } else {
      shmem_getmem_nbi(back.data(), slot, length, right());
      shmem_quiet();
    }
    check(memcmp(back.data(), source.data(), length) == 0, "a thread did not get back what it put");
    shmem_long_atomic_add(sum, 1, 0);
    check(shmem_long_atomic_fetch_add(sum, 1, 0) >= 1, "a fetch gave no sum");
  }
}

// A token goes round the ring of PEs for each thread, and each PE's threads change one word and hold one lock: many wait at once.
void tokens(uint64_t* token, long* lock, long* guarded, int n) {
  for (uint64_t lap = 1; lap <= static_cast<uint64_t>(n); ++lap) {
    if (me() == 0) shmem_signal_set(token, lap, right());
    check(shmem_signal_wait_until(token, SHMEM_CMP_GE, lap) == lap, "a token came twice");
    if (me() != 0) shmem_signal_set(token, lap, right());
    shmem_set_lock(lock);
    shmem_long_p(guarded, shmem_long_g(guarded, 0) + 1, 0);
    shmem_clear_lock(lock);
  }
}

// Collectives of a thread's own team, while the other threads are in those of theirs.
void meetings(shmem_team_t team, long* source, long* dest, int n) {
  constexpr size_t kElements = 100;
  const int my_pe = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
  for (int i = 0; i < n; ++i) {
    for (size_t k = 0; k < kElements; ++k) source[k] = my_pe + i + static_cast<long>(k);
    const int root = i % size;
    check(shmem_long_broadcast(team, dest, source, kElements, root) == 0 && dest[99] == root + i + 99,
          "a broadcast brought something else");
    shmem_team_sync(team);
    check(shmem_long_sum_reduce(team, dest, source, kElements) == 0 && dest[7] == size * (size - 1) / 2 + size * (i + 7), "a sum is wrong");
    shmem_team_sync(team);
  }
}

}  // namespace

int main() {
  int provided = -1;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE) return 1;
  {
    constexpr size_t kSize = 3000;
    const int n = rounds(400);
    Symmetric<unsigned char> slots(kThreads * kSize);
    Symmetric<long> sum(1);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(traffic, t, slots + static_cast<size_t>(t) * kSize, kSize, sum.get(), n);
    for (std::thread& thread : threads) thread.join();
    shmem_barrier_all();
    check(shmem_long_g(sum, 0) == 2L * n * kThreads * count(), "additions were lost");
    shmem_barrier_all();
  }
  {
    const int n = rounds(200);
    Symmetric<uint64_t> token(kThreads);
    Symmetric<long> lock(1), guarded(1);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(tokens, &token[t], lock.get(), guarded.get(), n);
    for (std::thread& thread : threads) thread.join();
    shmem_barrier_all();
    check(shmem_long_g(guarded, 0) == long{n} * kThreads * count(), "the lock let two in");
    shmem_barrier_all();
  }
  {
    shmem_team_t teams[kThreads] = {SHMEM_TEAM_WORLD};
    for (int t = 1; t < kThreads; ++t)
      shmem_team_split_strided(SHMEM_TEAM_WORLD, t % 2 ? count() - 1 : 0, t % 2 ? -1 : 1, count(), nullptr, 0, &teams[t]);
    Symmetric<long> memory(kThreads * 200);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(meetings, teams[t], &memory[200 * t], &memory[200 * t + 100], rounds(100));
    for (std::thread& thread : threads) thread.join();
    for (int t = 1; t < kThreads; ++t) shmem_team_destroy(teams[t]);
  }
  shmem_finalize();
  return failures != 0;
}
