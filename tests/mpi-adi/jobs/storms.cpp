// storms.cpp: many messages at once. One of these as argument, each on all ranks of the job:
//   flood    every rank but 0 sends to rank 0, which receives nothing for a long time: nothing is lost or reordered, and what
//            rank 0 keeps stays below its bound (MPIADI_UNEXPECTED_LIMIT)
//   sleeper  every rank but 0 sends short messages to rank 0, which makes no call, until none is taken any more: neither rank 0 nor its
//   senders
//            have grown by more than a bound that does not depend on how many there are
//   puts     every rank but 0 puts and accumulates into rank 0, which makes no call, without a flush: no origin grows by more than a bound
//   million  a million receives are posted before their messages come, which are matched in another order
//   storm    random messages, eager and bulk, with receives of all four kinds of wildcards, checked against a matcher that goes
//            through its receives one by one
//   polls    ranks in pairs, more than there are processors: a poll in vain gives way to whoever is to answer
//   flushes  rank 0 makes no call but flushes: what the others put into its memory arrives all the same, with PTL_PROGRESS=caller, too
// Exit status 0 when all is well. Source: MPI-5.0, 3.5 (order, progress, fairness, resource limits).
#include <mpi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/thorough.hpp"

namespace {

int rank, size;
std::atomic<long> yields{0};

[[noreturn]] void fail(const char* what, long long a = 0, long long b = 0) {
  std::fprintf(stderr, "rank %d: %s (%lld, %lld)\n", rank, what, a, b);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

long long resident_bytes() {
  long long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

// Mostly small messages, some as long as a transport sends eagerly, a few in bulk; numbered by their sender.
constexpr size_t kBulk = 40'000;
size_t flood_size(int i) { return i % 1000 == 0 ? kBulk : i % 8 == 0 ? 6000 : 8 + static_cast<size_t>(i % 40); }

void flood(long long bound) {
  const int messages = static_cast<int>(portunus::test::runs(24'000));
  std::vector<char> buffer(kBulk);
  if (rank != 0) {
    std::vector<MPI_Request> requests;
    std::vector<std::vector<char>> bodies;  // of what is sent without waiting: all that is long, and some others
    for (int i = 0; i < messages; ++i) {
      const size_t bytes = flood_size(i);
      std::memcpy(buffer.data(), &i, sizeof i);
      if (bytes > 64 || i % 3 == 0) {
        bodies.emplace_back(buffer.begin(), buffer.begin() + static_cast<long>(bytes));
        requests.emplace_back();
        MPI_Isend(bodies.back().data(), static_cast<int>(bytes), MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests.back());
      } else {
        MPI_Send(buffer.data(), static_cast<int>(bytes), MPI_BYTE, 0, 5, MPI_COMM_WORLD);
      }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return;
  }
  const long long before = resident_bytes();
  long long most = 0;
  for (int i = 0; i < 300; ++i) {  // nothing is received, but everybody is served
    sched_yield();
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (flag) fail("a message that was not sent was found");
    most = std::max(most, resident_bytes() - before);
  }
  const long long slack = 12 << 20;  // rings, messages under way, the allocator
  if (std::getenv("STORMS_VERBOSE")) std::printf("most %lld\n", most);
  if (!portunus::test::kSanitized && most > bound + slack) fail("kept messages occupy more than their bound", most, bound);
  std::vector<int> next(static_cast<size_t>(size));
  for (int i = 0; i < messages * (size - 1); ++i) {
    MPI_Status status;
    MPI_Recv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
    int number, bytes;
    std::memcpy(&number, buffer.data(), sizeof number);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    int& expected = next[static_cast<size_t>(status.MPI_SOURCE)];
    if (number != expected || bytes != static_cast<int>(flood_size(number))) fail("lost or reordered", number, expected);
    ++expected;
  }
}

// Two million messages for each sender, if they were all taken. Whether one is taken a sender sees by its request; when one has not been
// for many looks, it tells rank 0, in memory, so that rank 0 makes no call before.
void sleeper(long long bound) {
  constexpr int kMessages = 2'000'000, kLooks = 20'000;
  int* told = nullptr;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &told, &window);
  *told = 0;
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  const long long before = resident_bytes();
  long long most = 0;
  if (rank != 0) {
    int sent = 0, taken = 1;
    long long number = 0;
    for (; sent < kMessages && taken; ++sent) {
      number = sent;
      MPI_Request request;
      MPI_Isend(&number, sizeof number, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
      MPI_Test(&request, &taken, MPI_STATUS_IGNORE);
      for (int look = 0; look < kLooks && !taken; ++look) sched_yield(), MPI_Test(&request, &taken, MPI_STATUS_IGNORE);
      if (taken) continue;
      most = resident_bytes() - before;
      const int one = 1;
      MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
      MPI_Win_flush(0, window);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (taken) fail("nothing holds a sender back", sent);
    number = -1;
    MPI_Send(&number, sizeof number, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  } else {
    while (std::atomic_ref<int>(*told).load(std::memory_order_acquire) < size - 1) sched_yield();
    most = resident_bytes() - before;
    std::vector<long long> next(static_cast<size_t>(size));
    for (int ended = 0; ended < size - 1;) {
      long long number = 0;
      MPI_Status status;
      MPI_Recv(&number, sizeof number, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
      long long& expected = next[static_cast<size_t>(status.MPI_SOURCE)];
      if (number >= 0 && number != expected++) fail("lost or reordered", number, expected - 1);
      ended += number < 0;
    }
  }
  if (std::getenv("STORMS_VERBOSE")) std::printf("rank %d: %lld KiB\n", rank, most >> 10);
  if (!portunus::test::kSanitized && most > bound) fail("what waits occupies more than its bound", most, bound);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

void puts(long long bound) {
  const int puts = static_cast<int>(portunus::test::runs(400'000));
  int* memory = nullptr;
  MPI_Win window;
  MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(int)) * (size + 1), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  std::memset(memory, 0, sizeof(int) * static_cast<size_t>(size + 1));
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  const long long before = resident_bytes();
  long long most = 0;
  if (rank != 0) {
    const int one = 1;
    for (int i = 1; i <= puts; ++i) {
      if (i % 1024 == 0) most = std::max(most, resident_bytes() - before);
      if (i % 2 == 0) MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
      else MPI_Put(&one, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
    }
    MPI_Win_flush(0, window);
  } else {
    while (std::atomic_ref<int>(*memory).load(std::memory_order_acquire) < (size - 1) * (puts / 2)) sched_yield();
    if (*memory != (size - 1) * (puts / 2)) fail("accumulates were lost or doubled", *memory);
  }
  if (std::getenv("STORMS_VERBOSE")) std::printf("rank %d: %lld KiB\n", rank, most >> 10);
  if (!portunus::test::kSanitized && most > bound) fail("what was not flushed occupies more than its bound", most, bound);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// Numbers 0 .. n-1 in an order that looks random: i * odd mod 2^k, those below n.
template <class Action>
void shuffled(int n, Action&& action) {
  uint32_t mask = 1;
  while (mask < static_cast<uint32_t>(n)) mask *= 2;
  for (uint32_t i = 0; i < mask; ++i)
    if (const uint32_t number = i * 40503u & (mask - 1); number < static_cast<uint32_t>(n)) action(static_cast<int>(number));
}

void million() {
  const int messages = static_cast<int>(portunus::test::runs(1'000'000));
  const int from = (rank + size - 1) % size, to = (rank + 1) % size;
  const bool receives = rank % 2 == 0 || size % 2;
  const bool sends = to % 2 == 0 || size % 2;
  std::vector<int> room(receives ? static_cast<size_t>(messages) : 0);
  std::vector<MPI_Request> requests(room.size());
  for (size_t i = 0; i < room.size(); ++i) MPI_Irecv(&room[i], 1, MPI_INT, from, static_cast<int>(i), MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (sends) shuffled(messages, [&](int number) { MPI_Send(&number, 1, MPI_INT, to, number, MPI_COMM_WORLD); });
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (size_t i = 0; i < room.size(); ++i)
    if (room[i] != static_cast<int>(i)) fail("a receive got another message", room[i], static_cast<long long>(i));
}

// ---- storm ----

constexpr int kTags = 5;
struct Message {
  int tag;
  int serial;  // of its sender
  uint32_t bytes;
};
struct Receive {
  int source, tag;
};

// The messages that `sender` sends to `target` in this round: the same on both sides.
std::vector<Message> plan_sends(int round, int sender, int target, int count) {
  std::mt19937 random(static_cast<uint32_t>((round * 64 + sender) * 64 + target));
  std::vector<Message> plan;
  for (int i = 0; i < count; ++i) {
    const uint32_t kind = random() % 40;
    const uint32_t bytes = kind == 0 ? 70'000 + random() % 60'000 : kind < 4 ? 2000 + random() % 12'000 : random() % 200;
    plan.push_back({static_cast<int>(random() % kTags), i, 8 + bytes});
  }
  return plan;
}

void check_body(const std::vector<char>& body, int sender, const Message& expected, uint32_t bytes) {
  int header[2];
  std::memcpy(header, body.data(), sizeof header);
  if (header[0] != sender || header[1] != expected.serial || bytes != expected.bytes)
    fail("not the message that the matcher chose", header[1], expected.serial);
  const char fill = static_cast<char>(expected.serial * 7 + sender);
  for (uint32_t i = 8; i < bytes; i += 97)
    if (body[i] != fill) fail("a body is damaged", i, expected.serial);
}

// MPI's rules leave one outcome for each receive with a source. One with MPI_ANY_SOURCE is posted last of its window; it may take
// the next message that fits of any sender, which its status names.
void storm_round(int round, int per_pair) {
  std::vector<std::vector<char>> bodies;
  std::vector<MPI_Request> sends;
  for (int target = 0; target < size; ++target)
    for (const Message& message : plan_sends(round, rank, target, per_pair)) {
      bodies.emplace_back(message.bytes, static_cast<char>(message.serial * 7 + rank));
      const int header[2] = {rank, message.serial};
      std::memcpy(bodies.back().data(), header, sizeof header);
      sends.emplace_back();
      MPI_Isend(bodies.back().data(), static_cast<int>(message.bytes), MPI_BYTE, target, message.tag, MPI_COMM_WORLD, &sends.back());
    }
  // The sequential matcher: what is still to be received, by sender, in order.
  std::vector<std::list<Message>> waiting;
  for (int sender = 0; sender < size; ++sender) {
    const auto plan = plan_sends(round, sender, rank, per_pair);
    waiting.emplace_back(plan.begin(), plan.end());
  }
  const auto first_fit = [](std::list<Message>& list, int tag) {
    return std::find_if(list.begin(), list.end(), [&](const Message& m) { return tag == MPI_ANY_TAG || m.tag == tag; });
  };
  std::mt19937 random(static_cast<uint32_t>(round * 1000 + rank));
  int left = size * per_pair;
  constexpr int kWindow = 16;
  while (left > 0) {
    struct Posted {
      Receive wanted;
      std::vector<char> room;
    };
    std::vector<Posted> posted;
    std::vector<MPI_Request> requests;
    // Receives that certainly have a message each: count them off as they are chosen.
    auto rest = waiting;
    while (static_cast<int>(posted.size()) < std::min(kWindow, left)) {
      const int sender = static_cast<int>(random() % static_cast<uint32_t>(size));
      auto& list = rest[static_cast<size_t>(sender)];
      if (list.empty()) continue;
      const uint32_t kind = random() % 8;
      const bool any_source = kind == 0, any_tag = kind < 2;
      const int tag = any_tag ? MPI_ANY_TAG : std::next(list.begin(), static_cast<long>(random() % std::min<size_t>(list.size(), 8)))->tag;
      posted.push_back({{any_source ? MPI_ANY_SOURCE : sender, tag}, std::vector<char>(140'000)});
      list.erase(first_fit(list, tag));
      if (any_source) break;
    }
    for (Posted& each : posted) {
      requests.emplace_back();
      MPI_Irecv(each.room.data(), static_cast<int>(each.room.size()), MPI_BYTE, each.wanted.source, each.wanted.tag, MPI_COMM_WORLD,
                &requests.back());
    }
    std::vector<MPI_Status> statuses(requests.size());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
    for (size_t i = 0; i < posted.size(); ++i) {
      const int sender = statuses[i].MPI_SOURCE;
      const Receive& wanted = posted[i].wanted;
      if (wanted.source != MPI_ANY_SOURCE && sender != wanted.source) fail("a message of another source", sender, wanted.source);
      auto& list = waiting[static_cast<size_t>(sender)];
      const auto expected = first_fit(list, wanted.tag);
      if (expected == list.end()) fail("the matcher has no such message", sender, wanted.tag);
      int bytes;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      if (statuses[i].MPI_TAG != expected->tag) fail("a message with another tag", statuses[i].MPI_TAG, expected->tag);
      check_body(posted[i].room, sender, *expected, static_cast<uint32_t>(bytes));
      list.erase(expected);
      --left;
    }
  }
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);  // a receive with MPI_ANY_SOURCE might take what somebody sends in the next round
}

void storm() {
  const int total = static_cast<int>(portunus::test::runs(110'000)), per_pair = 40;
  const int rounds = total / (size * size * per_pair) + 1;
  for (int round = 0; round < rounds; ++round) storm_round(round, per_pair);
}

// With more ranks than processors polls in vain leave the processor to whoever is to answer, else that one waits for a time slice. A poll
// that the rank came to late, from cold caches or instrumented code, counts as one behind work; behind work they leave it every 30
// microseconds.
void polls() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) >= size) {
    if (rank == 0) std::printf("skipped: %d ranks are not more than the %d processors here\n", size, CPU_COUNT(&processors));
    return;
  }
  constexpr long kPolls = 1000, kLeast = portunus::test::kSanitized ? kPolls / 8 : kPolls / 2;
  int word = rank, flag = 0;
  const int other = rank ^ 1;
  MPI_Request request;
  MPI_Irecv(&word, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &request);
  const long before = yields;
  for (long i = 0; i < kPolls && !flag; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  const long tested = yields - before;
  for (long i = 0; i < kPolls && !flag; ++i) MPI_Iprobe(other, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  const long probed = yields - before - tested;
  if (flag) fail("a message came that nobody has sent");
  if (tested < kLeast || probed < kLeast) fail("polls do not give way", tested, probed);
  const double begin = MPI_Wtime();
  for (long i = 0; i < kPolls && !flag; ++i) {
    for (const double then = MPI_Wtime(); MPI_Wtime() - then < 3e-6;) {
    }
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  const long between = yields - before - tested - probed, most = static_cast<long>((MPI_Wtime() - begin) / 30e-6) + 1;
  if (between == 0 || between > most) fail("polls between work give way too often, or never", between, most);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (word != other) fail("the answer is another one", word);
}

void flushes() {
  int* memory = nullptr;
  MPI_Win window;
  MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(int)) * size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  std::memset(memory, 0, sizeof(int) * static_cast<size_t>(size));
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
  for (int other = 1; rank == 0 && other < size; ++other)
    while (std::atomic_ref<int>(memory[other]).load(std::memory_order_acquire) != other) MPI_Win_flush(0, window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

}  // namespace

// In place of the C library's.
extern "C" [[gnu::visibility("default")]] int sched_yield() noexcept {
  yields.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(syscall(SYS_sched_yield));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "flood") flood(argc > 2 ? std::atoll(argv[2]) : 256 << 20);
  else if (what == "sleeper") sleeper(argc > 2 ? std::atoll(argv[2]) : 256 << 20);
  else if (what == "puts") puts(argc > 2 ? std::atoll(argv[2]) : 256 << 20);
  else if (what == "million") million();
  else if (what == "storm") storm();
  else if (what == "polls") polls();
  else if (what == "flushes") flushes();
  else fail("usage: storms flood [BOUND] | sleeper [BOUND] | puts [BOUND] | million | storm | polls | flushes");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
