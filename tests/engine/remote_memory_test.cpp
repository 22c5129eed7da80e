// The classes of engine/client/remote_memory.hpp on every rank of a job: each operation, in many lengths and places, on memory of every
// rank; quiet() waits, for other threads' operations, too; an operation that cannot begin, or whose target has died, is told. A test that
// fails ends with status 1 and a sentence.
#include "engine/client/remote_memory.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/client/deaths.hpp"

namespace {

using namespace portunus::client;

constexpr ptl_pt_index_t kPortal = 7;
constexpr ptl_match_bits_t kBits = 0x7700;
constexpr size_t kBytes = 4 << 20, kPart = 1 << 20;  // each rank writes to a part of its own in everybody's memory

ptlx_job_t job;
ptl_handle_ni_t ni;
unsigned char* memory;
unsigned int block;

void expect(bool well, const char* what, size_t number = 0, size_t other = 0) {
  if (well) return;
  std::fprintf(stderr, "rank %d of %d: %s fails (%zu, %zu)\n", job.rank, job.size, what, number, other);
  std::_Exit(1);
}
void good(int code, const char* what) { expect(code == PTL_OK, what, static_cast<size_t>(code)); }

RemoteAddress at(int rank, size_t offset) { return {process(static_cast<ptl_rank_t>(rank)), kPortal, kBits, offset}; }
size_t own_part() { return static_cast<size_t>(job.rank) * kPart; }
unsigned char byte_of(size_t seed, size_t i) { return static_cast<unsigned char>((i * 2654435761u >> 7) + seed * 29 + 1); }

void meet() { good(PtlxJobFence(), "a barrier"); }

// Every byte is where it belongs when quiet() returns, and none beside it has changed; the messages are as many as were asked for.
void moves_bytes(int target) {
  constexpr size_t kAround = 16;
  Operations operations;
  good(operations.open(ni), "open");
  std::vector<unsigned char> sent(kPart), read(kPart);
  size_t seed = 0;
  for (const size_t bytes : {0, 1, 3, 4, 8, 9, 64, 511, 512, 513, 4096, 65537, 300001})
    for (const size_t there : {0, 1, 7, 8})
      for (const size_t here : {0, 3, 8}) {
        ++seed;
        const size_t place = own_part() + kAround + there;
        const uint64_t before = operations.issued();
        for (size_t i = 0; i < bytes + 2 * kAround; ++i) sent[i] = byte_of(seed, i);
        good(put(operations.own(), at(target, place - kAround), sent.data(), bytes + 2 * kAround), "a put around");
        good(operations.quiet(), "quiet");
        for (size_t i = 0; i < bytes; ++i) sent[kAround + here + i] = byte_of(seed + 1, i);
        good(put(operations.own(), at(target, place), sent.data() + kAround + here, bytes), "a put");
        good(operations.quiet(), "quiet after a put");
        expect(operations.state() == Operations::State::complete, "the state after quiet");
        std::memset(read.data(), 0, bytes + 2 * kAround);
        good(get(operations.own(), at(target, place - kAround), read.data(), bytes + 2 * kAround), "a get");
        good(operations.quiet(), "quiet after a get");
        for (size_t i = 0; i < bytes + 2 * kAround; ++i) {
          const bool inside = i >= kAround && i < kAround + bytes;
          expect(read[i] == (inside ? byte_of(seed + 1, i - kAround) : byte_of(seed, i)), "a byte", bytes, i);
        }
        expect(operations.issued() - before == 3, "the number of messages", bytes);
      }
}

// Atomics by a pointer and by an operation leave and return the same, on words of 4 and 8 bytes.
template <class Word>
void computes_alike(int target, ptl_datatype_t type) {
  Operations operations;
  good(operations.open(ni), "open");
  Descriptor copied;
  good(copied.bind_all(ni, Operations::kCounted | PTL_MD_VOLATILE, operations.counter()), "bind");
  const auto place = [&](size_t i) { return at(target, own_part() + i * sizeof(Word)); };
  for (const Word first : {Word{0}, Word{5}, static_cast<Word>(~Word{0})})
    for (const Word operand : {Word{0}, Word{6}, static_cast<Word>(~Word{0} - 1)})
      for (const ptl_op_t op : {PTL_SUM, PTL_BOR, PTL_BAND, PTL_BXOR, PTL_SWAP}) {
        Word here = first, old = 77, there = 78;
        good(put(operations.by(copied), place(0), &first, sizeof first), "a put of a word");
        good(operations.quiet(), "quiet");
        const Word expected = change(std::atomic_ref(here), op, operand);
        expect(expected == first, "what change() tells");
        good(fetch(operations.own(), place(0), op, type, {copied, &operand}, &old, sizeof old), "fetch");
        good(operations.quiet(), "quiet after fetch");
        expect(old == first, "what fetch tells", static_cast<size_t>(op));
        good(get(operations.own(), place(0), &there, sizeof there), "a get of a word");
        good(operations.quiet(), "quiet after a get");
        expect(there == here, "what fetch leaves", static_cast<size_t>(op));
        if (op == PTL_SWAP) continue;
        good(put(operations.by(copied), place(0), &first, sizeof first), "a put of a word");
        good(operations.quiet(), "quiet");
        good(update(operations.by(copied), place(0), op, type, &operand, sizeof operand), "update");
        good(operations.quiet(), "quiet after update");
        good(get(operations.own(), place(0), &there, sizeof there), "a get of a word");
        good(operations.quiet(), "quiet after a get");
        expect(there == here, "what update leaves", static_cast<size_t>(op));
      }
  for (const bool equal : {true, false}) {
    const Word first = 40, value = 50, other = equal ? 40 : 41;
    Word old = 0, there = 0;
    good(put(operations.by(copied), place(1), &first, sizeof first), "a put of a word");
    good(operations.quiet(), "quiet");
    good(fetch(operations.own(), place(1), PTL_CSWAP, type, {copied, &value, &other}, &old, sizeof old), "compare and swap");
    good(operations.quiet(), "quiet after compare and swap");
    good(get(operations.own(), place(1), &there, sizeof there), "a get of a word");
    good(operations.quiet(), "quiet after a get");
    expect(old == first && there == (equal ? value : first), "compare and swap", equal);
  }
}

// All ranks add to one word of each: none of it is lost, by whichever way it came.
void counts_together() {
  meet();
  constexpr uint64_t kEach = 200;
  auto* const word = reinterpret_cast<uint64_t*>(memory + kBytes);
  Operations operations;
  good(operations.open(ni), "open");
  const uint64_t one = 1;
  for (uint64_t i = 0; i < kEach; ++i)
    for (int rank = 0; rank < job.size; ++rank) {
      void* base;
      ptl_size_t size;
      if (i % 2 == 0 && PtlxNodeMap(ni, process(static_cast<ptl_rank_t>(rank)), block, &base, &size) == PTL_OK)
        change(std::atomic_ref(*reinterpret_cast<uint64_t*>(static_cast<unsigned char*>(base) + kBytes)), PTL_SUM, one);
      else good(update(operations.own(), at(rank, kBytes), PTL_SUM, PTL_UINT64_T, &one, sizeof one), "update");
    }
  good(operations.quiet(), "quiet");
  meet();
  expect(std::atomic_ref(*word).load() == kEach * static_cast<uint64_t>(job.size), "the sum of all ranks");
}

// A process that sees the signal sees all that was put before it.
void signals_after_data() {
  constexpr size_t kLength = 200000;
  const int right = (job.rank + 1) % job.size, left = (job.rank + job.size - 1) % job.size;
  const size_t signal = kBytes + 64, from_left = static_cast<size_t>(left) * kPart;
  std::atomic_ref word(*reinterpret_cast<uint64_t*>(memory + signal));
  std::vector<unsigned char> data(kLength);
  SignalledPuts puts;
  good(puts.open(ni), "open");
  uint64_t expected = 0;
  for (size_t round = 1; round <= 8; ++round) {
    for (size_t i = 0; i < kLength; ++i) data[i] = byte_of(round + static_cast<size_t>(job.rank), i);
    meet();
    const bool sets = round % 2 == 1;
    if (round != 3)  // of no bytes
      for (size_t done = 0; done < kLength; done += kLength / 8)
        good(put(puts.puts.own(), at(right, own_part() + done), data.data() + done, kLength / 8), "a put before a signal");
    good(puts.signal(at(right, signal), sets ? PTL_SWAP : PTL_SUM, round), "a signal");
    expected = sets ? round : expected + round;
    while (word.load(std::memory_order_acquire) != expected) step();
    if (round != 3)
      for (size_t i = 0; i < kLength; ++i)
        expect(memory[from_left + i] == byte_of(round + static_cast<size_t>(left), i), "a byte before its signal", round, i);
    good(puts.quiet(), "quiet of signalled puts");
    expect(puts.is_over() && puts.failures() == 0, "what is over");
  }
}

// ---- without data

struct Waits {
  static inline std::vector<ptl_size_t> asked;
  static inline Operations* operations;
  static inline ptl_handle_ct_t gate;
  static inline uint64_t word;
  // As PtlCTWait. The first operation is held back; while it is waited for, another thread issues one that is complete at once. A wait for
  // both lets the first one go.
  static int wait(ptl_handle_ct_t counter, ptl_size_t count, ptl_ct_event_t* seen) {
    asked.push_back(count);
    if (asked.size() == 1)
      std::thread([] { good(get(operations->own(), at(job.rank, 0), &word, sizeof word), "another thread's get"); }).join();
    else PtlCTInc(gate, {1, 0});
    return PtlCTWait(counter, count, seen);
  }
};

void waits_for_other_threads() {
  Operations operations;
  Counter gate;
  good(operations.open(ni), "open");
  good(gate.open(ni), "a counter");
  uint64_t first = 0;
  good(operations.one([&] {
    const RemoteAddress from = at(job.rank, 8);
    return PtlTriggeredGet(operations.own().memory, address(&first), sizeof first, from.process, from.index, from.bits, from.offset,
                           nullptr, gate, 1);
  }),
       "an operation that waits");
  Waits::operations = &operations;
  Waits::gate = gate;
  good(operations.quiet(Waits::wait), "quiet");
  expect(Waits::asked == std::vector<ptl_size_t>{1, 2}, "quiet beside another thread");
  expect(operations.count().success == 2, "what quiet has waited for");
}

void tells_what_cannot_begin() {
  Operations operations;
  good(operations.open(ni), "open");
  const Descriptor none;
  uint64_t word = 0;
  expect(put(operations.by(none), at(job.rank, 0), &word, sizeof word) != PTL_OK, "a put by no descriptor");
  expect(get(operations.by(none), at(job.rank, 0), &word, sizeof word) != PTL_OK, "a get by no descriptor");
  good(operations.quiet(), "quiet after what could not begin");
  good(get(operations.own(), at(job.rank, 0), &word, sizeof word), "a get after it");
  good(operations.quiet(), "quiet after it");
}

// A target that refuses, and later one that has died: quiet() tells it, and so does every look. Operations at others do not suffer.
void tells_failures(const RemoteAddress& target, const char* which) {
  Operations puts, gets, atomics, others;
  SignalledPuts signalled;
  for (Operations* each : {&puts, &gets, &atomics, &others}) good(each->open(ni), "open");
  good(signalled.open(ni), "open");
  uint64_t word = 1, old = 0;
  good(put(puts.own(), target, &word, sizeof word), which);
  good(get(gets.own(), target, &old, sizeof old), which);
  good(fetch(atomics.own(), target, PTL_SUM, PTL_UINT64_T, {atomics.own().memory, &word}, &old, sizeof old), which);
  good(put(signalled.puts.own(), target, &word, sizeof word), which);
  good(signalled.signal(target, PTL_SUM, 1), which);
  for (Operations* each : {&puts, &gets, &atomics}) {
    expect(each->quiet() == PTL_FAIL, which);
    expect(each->state() == Operations::State::failed && each->failures() == 1 && each->nothing_pending(), which);
  }
  while (!signalled.is_over()) step();
  expect(signalled.failures() != 0, which);
  good(get(others.own(), at(job.rank, 0), &old, sizeof old), "a get from another");
  good(others.quiet(), "quiet beside a failure");
  good(puts.open(ni), "open again");
  good(put(puts.own(), at(job.rank, 0), &word, sizeof word), "a put after opening again");
  good(puts.quiet(), "quiet after opening again");
}

}  // namespace

int main() {
  good(PtlInit(), "PtlInit");
  good(PtlxJobInit(&job), "PtlxJobInit");
  good(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni), "PtlNIInit");
  void* base;
  good(PtlxNodeAlloc(ni, kBytes + 4096, &base, &block), "PtlxNodeAlloc");
  memory = static_cast<unsigned char*>(base);
  good(PtlxJobMap(ni), "PtlxJobMap");
  ptl_pt_index_t index;
  good(PtlPTAlloc(ni, 0, PTL_EQ_NONE, kPortal, &index), "PtlPTAlloc");
  MatchEntry exposed;
  good(expose(ni, index, memory, kBytes + 4096, kBits, exposed), "expose");
  meet();
  for (int target = 0; target < job.size; ++target) {
    moves_bytes(target);
    computes_alike<uint32_t>(target, PTL_UINT32_T);
    computes_alike<uint64_t>(target, PTL_UINT64_T);
  }
  counts_together();
  signals_after_data();
  waits_for_other_threads();
  tells_what_cannot_begin();
  RemoteAddress nowhere = at(job.size - 1, 0);
  nowhere.index = kPortal + 1;
  tells_failures(nowhere, "an operation on what nobody exposes");
  meet();
  const int last = job.size - 1;
  if (job.size > 1 && job.rank == last) _exit(0);
  Deaths deaths;
  good(deaths.open(ni), "open");
  if (job.size > 1) {
    good(deaths.watch(process(static_cast<ptl_rank_t>(last))), "watch");
    while (!deaths.any()) step();
    tells_failures(at(last, 0), "an operation on memory of a process that has died");
  }
  deaths.close();
  exposed.close();
  PtlNIFini(ni);
  PtlFini();
}
