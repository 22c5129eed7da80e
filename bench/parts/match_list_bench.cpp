// One match and one append at constant depth, on MatchList and UnexpectedList: ns per pair.
//
// HeadHit: each message matches the oldest entry, all keys differ, so the whole list is walked through in turn.
// TailHit: each message matches the youngest entry. AnySource: every tenth entry takes any source, a message is
// made for a random entry; with masks drawn from eight classes: EightClasses.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "engine/core/target/match_list.hpp"
#include "engine/core/target/unexpected_list.hpp"

namespace {

using namespace portunus;

constexpr uint64_t kExact = ~uint64_t{0};
const auto all_fit = [](const auto&) { return true; };

// Tags and ranks as an application has them: dense, and few ranks.
uint64_t bits_of(size_t i) { return uint64_t{1} << 48 | i; }
uint64_t source_of(size_t i) { return i % 64; }

void fill(MatchList& list, std::vector<MatchEntry>& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].match_bits = bits_of(i);
    entries[i].source = source_of(i);
    list.append(entries[i]);
  }
}

void match_and_repost(benchmark::State& state, MatchList& list, const Incoming& in) {
  MatchEntry* found = list.find(in, all_fit);
  if (!found) return state.SkipWithError("no match");
  list.unlink(*found);
  list.append(*found);
}

void HeadHit(benchmark::State& state) {
  std::vector<MatchEntry> entries(state.range(0));
  MatchList list;
  fill(list, entries);
  size_t i = 0;
  for (auto _ : state) {
    match_and_repost(state, list, {bits_of(i), source_of(i)});
    if (++i == entries.size()) i = 0;
  }
}

void TailHit(benchmark::State& state) {
  std::vector<MatchEntry> entries(state.range(0));
  MatchList list;
  fill(list, entries);
  const size_t last = entries.size() - 1;
  for (auto _ : state) match_and_repost(state, list, {bits_of(last), source_of(last)});
}

// Random messages for entries whose masks `mask(entry, i)` has set; drawn beforehand.
template <class Mask>
void random_hits(benchmark::State& state, Mask mask) {
  std::vector<MatchEntry> entries(state.range(0));
  MatchList list;
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].match_bits = bits_of(i);
    entries[i].source = source_of(i);
    mask(entries[i], i);
    list.append(entries[i]);
  }
  std::mt19937_64 random(1);
  std::vector<Incoming> messages(1 << 18);
  for (Incoming& in : messages) {
    const size_t i = random() % entries.size();
    in = {bits_of(i), source_of(i)};
  }
  size_t next = 0;
  for (auto _ : state) match_and_repost(state, list, messages[next++ % messages.size()]);
}

void AnySource(benchmark::State& state) {
  random_hits(state, [](MatchEntry& e, size_t i) { e.source_mask = i % 10 == 0 ? 0 : kExact; });
}

void EightClasses(benchmark::State& state) {
  random_hits(state, [](MatchEntry& e, size_t i) {
    e.source_mask = i & 1 ? 0 : kExact;
    e.ignore_bits = (i >> 1 & 3) << 56;
  });
}

// A receive takes a random header and a new one with the same bits arrives.
void UnexpectedTakeAndArrive(benchmark::State& state) {
  std::vector<UnexpectedHeader> headers(state.range(0));
  UnexpectedList list;
  for (size_t i = 0; i < headers.size(); ++i) {
    headers[i].match_bits = bits_of(i);
    headers[i].source = source_of(i);
    list.append(headers[i]);
  }
  std::mt19937_64 random(1);
  std::vector<uint64_t> order(1 << 18);
  for (uint64_t& i : order) i = random() % headers.size();
  size_t next = 0;
  for (auto _ : state) {
    const uint64_t i = order[next++ % order.size()];
    UnexpectedHeader* found = list.find({bits_of(i), 0, source_of(i), kExact}, all_fit);
    if (!found) return state.SkipWithError("no match");
    list.unlink(*found);
    list.append(*found);
  }
}

void depths(benchmark::internal::Benchmark* bench) {
  for (const int64_t depth : {1, 8, 16, 256, 4096, 65536}) bench->Arg(depth);
}

BENCHMARK(HeadHit)->Apply(depths);
BENCHMARK(TailHit)->Apply(depths);
BENCHMARK(AnySource)->Apply(depths);
BENCHMARK(EightClasses)->Apply(depths);
BENCHMARK(UnexpectedTakeAndArrive)->Apply(depths)->Arg(24)->Arg(32);

}  // namespace

BENCHMARK_MAIN();
