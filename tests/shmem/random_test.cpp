// random_test.cpp: random one-sided traffic of all PEs at once, by every kind of call and context. What it must leave is worked out
// beside it, byte by byte: each PE draws what the others send to it once more.
#include <algorithm>
#include <random>

#include "pe.hpp"

namespace random_test {
namespace {

constexpr size_t kSlice = 6000;  // bytes of each PE's memory that belong to one writer
constexpr size_t kMostPes = 8;
alignas(64) unsigned char globals[kMostPes * kSlice];
uint64_t signals[kMostPes];

struct Operation {
  enum Kind { put, put_nbi, iput, ibput, put_signal, p, atomic_set, kinds } kind;
  bool to_heap;
  size_t offset, size;  // in the writer's slice
  size_t dst, sst, block;
  unsigned char first;
  unsigned char byte(size_t i) const { return static_cast<unsigned char>(first + i * 7); }
};

// The operations of `writer` towards `reader` in this phase.
std::vector<Operation> drawn(unsigned phase, int writer, int reader) {
  std::mt19937 random(phase * 1009 + static_cast<unsigned>(writer * 31 + reader));
  const auto below = [&](unsigned n) { return random() % n; };
  std::vector<Operation> operations(1 + below(5));
  for (Operation& op : operations) {
    op.kind = static_cast<Operation::Kind>(below(Operation::kinds));
    op.to_heap = below(2) == 0;
    op.offset = below(500) * 8;
    op.size = below(below(4) == 0 ? 9 : 1900);
    op.block = 1 + below(5);
    op.dst = 1 + below(3);
    op.sst = 1 + below(3);
    op.first = static_cast<unsigned char>(below(256));
  }
  return operations;
}

void issue(const Operation& op, unsigned char* slice, const unsigned char* source, shmem_ctx_t context, int pe) {
  unsigned char* const dest = slice + op.offset;
  const auto dst = static_cast<ptrdiff_t>(op.dst), sst = static_cast<ptrdiff_t>(op.sst), block = static_cast<ptrdiff_t>(op.block);
  uint64_t word;
  memcpy(&word, source, sizeof word);
  switch (op.kind) {
    case Operation::put: return shmem_ctx_putmem(context, dest, source, op.size, pe);
    case Operation::put_nbi: return shmem_ctx_putmem_nbi(context, dest, source, op.size, pe);
    case Operation::iput: return shmem_ctx_iput8(context, dest, source, dst, sst, op.size / 4, pe);
    case Operation::ibput: return shmem_ctx_ibput16(context, dest, source, dst + block, sst + block, op.block, op.size / 40, pe);
    case Operation::put_signal: return shmem_ctx_putmem_signal_nbi(context, dest, source, op.size, &signals[me()], 1, SHMEM_SIGNAL_ADD, pe);
    case Operation::p: return shmem_ctx_uint64_p(context, reinterpret_cast<uint64_t*>(dest), word, pe);
    default: return shmem_ctx_uint64_atomic_set(context, reinterpret_cast<uint64_t*>(dest), word, pe);
  }
}

void apply(const Operation& op, unsigned char* slice, uint64_t& signal) {
  unsigned char* const dest = slice + op.offset;
  const auto copy = [&](size_t to, size_t from, size_t size) {
    for (size_t i = 0; i < size; ++i) dest[to + i] = op.byte(from + i);
  };
  switch (op.kind) {
    case Operation::iput:
      for (size_t i = 0; i < op.size / 4; ++i) copy(i * op.dst, i * op.sst, 1);
      break;
    case Operation::ibput:
      for (size_t i = 0; i < op.size / 40; ++i) copy(2 * i * (op.dst + op.block), 2 * i * (op.sst + op.block), 2 * op.block);
      break;
    case Operation::p:
    case Operation::atomic_set: copy(0, 0, sizeof(uint64_t)); break;
    case Operation::put_signal: ++signal; [[fallthrough]];
    default: copy(0, 0, op.size);
  }
}

// The default context, two more of the world, and one of a team that numbers the PEs from the other end.
struct Contexts {
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  shmem_ctx_t each[4] = {SHMEM_CTX_DEFAULT};
  Contexts() {
    EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, count() - 1, -1, count(), nullptr, 0, &reversed), 0);
    EXPECT_EQ(shmem_ctx_create(0, &each[1]), 0);
    EXPECT_EQ(shmem_ctx_create(SHMEM_CTX_PRIVATE, &each[2]), 0);
    EXPECT_EQ(shmem_team_create_ctx(reversed, SHMEM_CTX_SERIALIZED, &each[3]), 0);
  }
  ~Contexts() {
    for (int i = 1; i < 4; ++i) shmem_ctx_destroy(each[i]);
    shmem_team_destroy(reversed);
  }
  int number(size_t context, int pe) const { return context == 3 ? count() - 1 - pe : pe; }
};

TEST(Rma, AnyMixOfCallsLeavesWhatEachOfThemSays) {
  const auto all = static_cast<size_t>(count());
  if (all > kMostPes) return;
  Symmetric<unsigned char> heap(all * kSlice);
  std::vector<unsigned char> heap_model(all * kSlice), globals_model(sizeof globals);
  uint64_t signals_model[kMostPes] = {};
  const Contexts contexts;
  shmem_barrier_all();
  for (unsigned phase = 0; phase < 8; ++phase) {
    const size_t context = phase % 4;
    std::vector<std::vector<unsigned char>> sources;
    for (int pe = 0; pe < count(); ++pe)
      for (const Operation& op : drawn(phase, me(), pe)) {
        std::vector<unsigned char>& source = sources.emplace_back(8000);
        for (size_t i = 0; i < source.size(); ++i) source[i] = op.byte(i);
        unsigned char* const memory = op.to_heap ? heap.get() : globals;
        issue(op, memory + static_cast<size_t>(me()) * kSlice, source.data(), contexts.each[context], contexts.number(context, pe));
        shmem_ctx_fence(contexts.each[context]);  // the next may write to the same bytes
      }
    shmem_ctx_quiet(contexts.each[context]);
    shmem_barrier_all();
    for (size_t writer = 0; writer < all; ++writer)
      for (const Operation& op : drawn(phase, static_cast<int>(writer), me()))
        apply(op, (op.to_heap ? heap_model : globals_model).data() + writer * kSlice, signals_model[writer]);
    EXPECT_EQ(memcmp(heap, heap_model.data(), heap_model.size()), 0) << "phase " << phase;
    EXPECT_EQ(memcmp(globals, globals_model.data(), sizeof globals), 0) << "phase " << phase;
    EXPECT_TRUE(std::equal(signals, signals + all, signals_model)) << "phase " << phase;
    std::vector<unsigned char> whole(all * kSlice), strided(all * kSlice);
    shmem_ctx_getmem_nbi(contexts.each[1], whole.data(), heap, whole.size(), right());
    shmem_iget32(strided.data(), heap, 1, 1, strided.size() / 4, right());
    shmem_ctx_quiet(contexts.each[1]);
    EXPECT_EQ(whole, strided) << "phase " << phase;
    shmem_barrier_all();
  }
}

}  // namespace
}  // namespace random_test
