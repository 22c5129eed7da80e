// Data movement between processes: puts and gets of all sizes, atomics, order, back-pressure.
#include <atomic>

#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

constexpr size_t kSizes[] = {0, 1, 8, 9, 64, 65, 4000, 8192, 8193, 32'768, 32'769, 65'536, 1'000'000, 3'000'001};

struct Move : Portals {};

TEST_F(Move, PutsOfAllSizesArriveWholeAndAreAcknowledged) {
  std::vector<unsigned char> memory(3'000'001);
  const ptl_handle_ct_t arrived = counter(), acknowledged = counter();
  entry(memory.data(), memory.size(), PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  uint64_t n = 0;
  for (size_t size : kSizes) {
    const auto data = data_of(rank(), size);
    EXPECT_EQ(put(md, data.data(), size, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    ++n;
    wait(arrived, n);
    EXPECT_EQ(wait(acknowledged, n).failure, 0u);
    EXPECT_TRUE(data_of(left_rank(), size) == std::vector<unsigned char>(memory.begin(), memory.begin() + static_cast<long>(size))) << size;
    fence();
  }
  fence();  // others may still use this memory
}

TEST_F(Move, GetsOfAllSizesReadTheEntry) {
  const auto mine = data_of(rank(), 3'000'001);
  entry(const_cast<unsigned char*>(mine.data()), mine.size(), PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_ct_t replied = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, replied);
  fence();
  uint64_t n = 0;
  for (size_t size : kSizes) {
    std::vector<unsigned char> into(size);
    EXPECT_EQ(PtlGet(md, reinterpret_cast<ptl_size_t>(into.data()), size, right(), pt, 0, 0, nullptr), PTL_OK);
    EXPECT_EQ(wait(replied, ++n).failure, 0u);
    EXPECT_TRUE(into == data_of(static_cast<int>(right().rank), size)) << size;
  }
  fence();  // others may still use this memory
}

TEST_F(Move, SendComesBeforeAckAndBothNameTheOperation) {
  char memory[16];
  entry(memory, sizeof memory, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE);
  ptl_handle_eq_t own;
  ASSERT_EQ(PtlEQAlloc(ni, 64, &own), PTL_OK);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE, own);
  fence();
  int tag;
  EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>("hello"), 6, PTL_ACK_REQ, right(), pt, 0, 2, &tag, 0), PTL_OK);
  ptl_event_t event;
  EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_SEND);
  EXPECT_EQ(event.user_ptr, &tag);
  EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_ACK);
  EXPECT_EQ(event.user_ptr, &tag);
  EXPECT_EQ(event.mlength, 6u);
  EXPECT_EQ(event.remote_offset, 2u);
  EXPECT_EQ(PtlEQGet(own, &event), PTL_EQ_EMPTY);
  fence();  // others may still use this memory
}

TEST_F(Move, AtomicsOfAllRanksOnOneWordAreAllCounted) {
  static uint64_t word;
  word = 0;
  entry(&word, 8, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_ct_t acknowledged = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  const uint64_t one = 1;
  constexpr uint64_t kEach = 500;
  for (uint64_t i = 0; i < kEach; ++i)
    EXPECT_EQ(PtlAtomic(md, reinterpret_cast<ptl_size_t>(&one), 8, PTL_CT_ACK_REQ, process(0), pt, 0, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T),
              PTL_OK);
  EXPECT_EQ(wait(acknowledged, kEach).failure, 0u);
  fence();
  if (rank() == 0) {
    EXPECT_EQ(word, kEach * static_cast<uint64_t>(ranks()));
  }
  fence();  // others may still use this memory
}

TEST_F(Move, FetchAtomicGivesEachRankItsOwnTicket) {
  static uint64_t next;
  static std::atomic<uint32_t> taken[1024];
  next = 0;
  for (auto& t : taken) t = 0;
  entry(&next, 8, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  entry(taken, sizeof taken, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 1);
  const ptl_handle_ct_t replied = counter(), acknowledged = counter();
  const ptl_handle_md_t get = descriptor(PTL_MD_EVENT_CT_REPLY, replied), ack = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  const uint64_t one = 1;
  const uint32_t mark = 1;
  for (uint64_t i = 1; i <= 50; ++i) {
    uint64_t ticket = ~uint64_t{0};
    EXPECT_EQ(PtlFetchAtomic(get, reinterpret_cast<ptl_size_t>(&ticket), get, reinterpret_cast<ptl_size_t>(&one), 8, process(0), pt, 0, 0,
                             nullptr, 0, PTL_SUM, PTL_UINT64_T),
              PTL_OK);
    wait(replied, i);
    EXPECT_LT(ticket, 50u * static_cast<uint64_t>(ranks()));
    PtlAtomic(ack, reinterpret_cast<ptl_size_t>(&mark), 4, PTL_CT_ACK_REQ, process(0), pt, 1, ticket * 4, nullptr, 0, PTL_SUM,
              PTL_UINT32_T);
  }
  wait(acknowledged, 50);
  fence();
  if (rank() == 0) {
    for (int i = 0; i < 50 * ranks(); ++i) EXPECT_EQ(taken[i].load(), 1u) << i;
  }
  fence();  // others may still use this memory
}

// Also where nothing but calls makes progress: each wait of rank 0 is over when it begins.
TEST_F(Move, OneThatOnlyWritesToItselfServesOthersMeanwhile) {
  static uint64_t state[2];  // its own, and the others'
  state[0] = state[1] = 0;
  entry(state, sizeof state, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_ct_t replied = counter(), acknowledged = counter();
  const ptl_handle_md_t get = descriptor(PTL_MD_EVENT_CT_REPLY, replied), ack = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  uint64_t one = 1;
  if (rank() != 0) {
    put(ack, &one, 8, process(0), 0, 8, PTL_CT_ACK_REQ);
    wait(acknowledged, 1);
  } else {
    uint64_t replies = 0, old = 0;
    while (ranks() > 1 && std::atomic_ref(state[1]).load(std::memory_order_acquire) == 0) {
      PtlSwap(get, reinterpret_cast<ptl_size_t>(&old), get, reinterpret_cast<ptl_size_t>(&one), 8, process(0), pt, 0, 0, nullptr, 0,
              nullptr, PTL_SWAP, PTL_UINT64_T);
      wait(replied, ++replies);
    }
  }
  fence();  // others may still use this memory
}

TEST_F(Move, CompareSwapTakesALockForOneAtATime) {
  static uint64_t state[2];  // lock, value changed without atomics under it
  state[0] = state[1] = 0;
  entry(state, sizeof state, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_ct_t replied = counter(), acknowledged = counter();
  const ptl_handle_md_t get = descriptor(PTL_MD_EVENT_CT_REPLY, replied), ack = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  uint64_t replies = 0, acks = 0;
  auto at = [](uint64_t& v) { return reinterpret_cast<ptl_size_t>(&v); };
  for (int i = 0; i < 10; ++i) {
    uint64_t old = 1, mine = static_cast<uint64_t>(rank()) + 1, zero = 0;
    do {
      PtlSwap(get, at(old), get, at(mine), 8, process(0), pt, 0, 0, nullptr, 0, &zero, PTL_CSWAP, PTL_UINT64_T);
      wait(replied, ++replies);
      if (old != 0) sched_yield();
    } while (old != 0);
    uint64_t value = 0;
    PtlGet(get, at(value), 8, process(0), pt, 0, 8, nullptr);
    wait(replied, ++replies);
    ++value;
    put(ack, &value, 8, process(0), 0, 8, PTL_CT_ACK_REQ);
    wait(acknowledged, ++acks);
    put(ack, &zero, 8, process(0), 0, 0, PTL_CT_ACK_REQ);
    wait(acknowledged, ++acks);
  }
  fence();
  if (rank() == 0) {
    EXPECT_EQ(state[1], 10u * static_cast<uint64_t>(ranks()));
  }
  fence();  // others may still use this memory
}

TEST_F(Move, FetchAtomicsAndSwapsOfAllSizesReturnWhatWasThere) {
  const size_t most = limits.max_fetch_atomic_size / 8;
  std::vector<uint64_t> memory(most, 5), mine(most), old(most);
  ptl_iovec_t pieces[2] = {{memory.data(), 800}, {memory.data() + 100, (most - 100) * 8}};  // at the target it is in two pieces
  const ptl_handle_ct_t arrived = counter(), replied = counter();
  ptl_handle_eq_t own;
  ASSERT_EQ(PtlEQAlloc(ni, 64, &own), PTL_OK);
  entry(pieces, 2, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_IOVEC | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, replied, own);
  const ptl_handle_md_t copied = descriptor(PTL_MD_VOLATILE | PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE);
  const auto at = [](const std::vector<uint64_t>& v) { return reinterpret_cast<ptl_size_t>(v.data()); };
  uint64_t n = 0, begin = 5;
  for (size_t words : {size_t{1}, size_t{1015}, size_t{1024}, size_t{1025}, size_t{4096}, size_t{4097}, size_t{8192}, most}) {
    for (size_t i = 0; i < words; ++i) mine[i] = i + static_cast<uint64_t>(rank());
    fence();
    EXPECT_EQ(PtlFetchAtomic(md, at(old), md, at(mine), words * 8, right(), pt, 0, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
    wait(arrived, ++n);
    EXPECT_EQ(wait(replied, n).failure, 0u);
    ptl_event_t event;
    for (int kind : {PTL_EVENT_SEND, PTL_EVENT_REPLY}) {
      EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
      EXPECT_EQ(event.type, kind);
    }
    EXPECT_EQ(event.mlength, words * 8);
    for (size_t i = 0; i < words; ++i) {
      ASSERT_EQ(old[i], begin) << i;
      ASSERT_EQ(memory[i], begin + i + static_cast<uint64_t>(left_rank())) << i;
    }
    fence();
    // And back again, by a swap whose source may change at once where that is possible.
    const bool keeps = words * 8 <= limits.max_volatile_size;
    for (size_t i = 0; i < words; ++i) mine[i] = begin + 1;
    EXPECT_EQ(
        PtlSwap(md, at(old), keeps ? copied : md, at(mine), words * 8, right(), pt, 0, 0, nullptr, 0, nullptr, PTL_SWAP, PTL_UINT64_T),
        PTL_OK);
    if (keeps) std::fill(mine.begin(), mine.end(), 0xdead);
    wait(arrived, ++n);
    EXPECT_EQ(wait(replied, n).failure, 0u);
    for (int events = keeps ? 1 : 2; events > 0; --events) EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
    EXPECT_EQ(event.type, PTL_EVENT_REPLY);
    for (size_t i = 0; i < words; ++i) {
      ASSERT_EQ(old[i], begin + i + static_cast<uint64_t>(rank())) << i;
      ASSERT_EQ(memory[i], begin + 1) << i;
    }
    ++begin;
    std::fill(memory.begin(), memory.end(), begin);
    fence();
  }
  fence();  // others may still use this memory
}

TEST_F(Move, AFetchIsCutToTheWholeDataThatFit) {
  std::vector<uint64_t> memory(5000, 1), mine(8000, 2), old(8000, 7);
  const ptl_handle_ct_t replied = counter();
  entry(memory.data(), memory.size() * 8 - 4, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  ptl_handle_eq_t own;
  ASSERT_EQ(PtlEQAlloc(ni, 64, &own), PTL_OK);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SEND_DISABLE, replied, own);
  fence();
  const auto fetch = [&](ptl_size_t offset) {
    EXPECT_EQ(PtlFetchAtomic(md, reinterpret_cast<ptl_size_t>(old.data()), md, reinterpret_cast<ptl_size_t>(mine.data()), 64'000, right(),
                             pt, 0, offset, nullptr, 0, PTL_SUM, PTL_UINT64_T),
              PTL_OK);
    ptl_event_t event{};
    EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
    EXPECT_EQ(event.type, PTL_EVENT_REPLY);
    return event.mlength;
  };
  EXPECT_EQ(fetch(0), 39'992u);
  EXPECT_EQ(old[4998], 1u);
  EXPECT_EQ(old[4999], 7u);
  EXPECT_EQ(fetch(39'992), 0u);   // only part of a datum is left
  EXPECT_EQ(fetch(100'000), 0u);  // nothing is
  fence();
  EXPECT_EQ(memory[4998], 3u);
  EXPECT_EQ(memory[4999], 1u);
  fence();  // others may still use this memory
}

TEST_F(Move, MessagesOfAPairAreMatchedInOrderOfIssueAlsoWhenEagerAndBulkMix) {
  constexpr int kMessages = 60;
  std::vector<std::vector<unsigned char>> memory;
  const ptl_handle_ct_t arrived = counter();
  for (int i = 0; i < kMessages; ++i) {
    memory.emplace_back(200'000);
    entry(memory.back().data(), memory.back().size(),
          PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE, arrived);
  }
  const ptl_handle_ct_t sent = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_SEND, sent);
  std::vector<std::vector<unsigned char>> data;
  for (int i = 0; i < kMessages; ++i) data.push_back(data_of(rank() * 100 + i, i % 3 == 0 ? 200'000 : 8 + static_cast<size_t>(i)));
  fence();
  for (const auto& one : data) put(md, one.data(), one.size(), right());
  wait(arrived, kMessages);
  wait(sent, kMessages);
  for (int i = 0; i < kMessages; ++i) {
    const auto expected = data_of(left_rank() * 100 + i, data[static_cast<size_t>(i)].size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory[static_cast<size_t>(i)].begin())) << i;
  }
  fence();  // others may still use this memory
}

TEST_F(Move, PutsGetsAndAtomicsOfAnyLengthShareTheOrderOfIssue) {
  constexpr int kMessages = 40;
  static std::vector<unsigned char> memory, data;
  static std::vector<std::vector<unsigned char>> into;
  memory.assign(4'000'000, 0);
  data.assign(100'000, 1);
  into.assign(kMessages, std::vector<unsigned char>(100'000));
  ptl_me_t me{memory.data(),
              memory.size(),
              PTL_CT_NONE,
              PTL_UID_ANY,
              PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE,
              {},
              0,
              0,
              0};
  me.match_id.rank = PTL_RANK_ANY;
  ptl_handle_me_t handle;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  ptl_handle_eq_t own;
  ASSERT_EQ(PtlEQAlloc(ni, 256, &own), PTL_OK);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, own);
  fence();
  std::vector<ptl_size_t> expected;
  ptl_size_t offset = 0;
  for (int i = 0; i < kMessages; ++i) {
    const ptl_size_t length = i % 4 == 1 ? 100'000 : 64;
    auto* name = reinterpret_cast<void*>(static_cast<uintptr_t>(i));
    expected.push_back(offset);
    offset += length;
    const auto source = reinterpret_cast<ptl_size_t>(data.data()), sink = reinterpret_cast<ptl_size_t>(into[static_cast<size_t>(i)].data());
    int code;
    if (i % 5 == 2) code = PtlGet(md, sink, length, right(), pt, 0, 0, name);
    else if (i % 5 == 3 && length == 64)
      code = PtlFetchAtomic(md, sink, md, source, length, right(), pt, 0, 0, name, 0, PTL_SUM, PTL_UINT64_T);
    else if (i % 5 == 4 && length == 64)
      code = PtlAtomic(md, source, length, PTL_ACK_REQ, right(), pt, 0, 0, name, 0, PTL_SUM, PTL_UINT64_T);
    else code = PtlPut(md, source, length, PTL_ACK_REQ, right(), pt, 0, 0, name, 0);
    EXPECT_EQ(code, PTL_OK);
  }
  for (int i = 0; i < kMessages; ++i) {
    ptl_event_t event;
    EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
    EXPECT_EQ(event.remote_offset, expected[reinterpret_cast<uintptr_t>(event.user_ptr)]);
  }
  fence();  // others may still use this memory
}

TEST_F(Move, DataOfOneAddressIsOrderedUpToTheLimitsThatSaySo) {
  constexpr uint64_t kRounds = 20;
  EXPECT_GE(limits.max_waw_ordered_size, 64u);
  EXPECT_GE(limits.max_war_ordered_size, 8u);
  const ptl_size_t most = std::min(limits.max_waw_ordered_size, limits.max_war_ordered_size);
  static std::vector<uint64_t> memory;
  memory.assign(most / 8, 0);
  entry(memory.data(), memory.size() * 8, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_ct_t replied = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, replied);
  static std::vector<std::vector<uint64_t>> from, into;
  from.clear();
  for (uint64_t i = 0; i < kRounds; ++i) from.emplace_back(most / 8, i + 1);
  fence();
  uint64_t replies = 0;
  for (ptl_size_t length : {ptl_size_t{8}, ptl_size_t{64}, most}) {
    into.assign(kRounds, std::vector<uint64_t>(length / 8));
    for (uint64_t i = 0; i < kRounds; ++i) {  // each get sees the put before it, and not the one after
      EXPECT_EQ(put(md, from[i].data(), length, right()), PTL_OK);
      EXPECT_EQ(PtlGet(md, reinterpret_cast<ptl_size_t>(into[i].data()), length, right(), pt, 0, 0, nullptr), PTL_OK);
    }
    wait(replied, replies += kRounds);
    for (uint64_t i = 0; i < kRounds; ++i) EXPECT_EQ(into[i], std::vector<uint64_t>(length / 8, i + 1)) << length;
  }
  fence();
  EXPECT_EQ(memory, std::vector<uint64_t>(most / 8, kRounds));
  fence();  // others may still use this memory
}

TEST_F(Move, AFloodOfPutsLosesNoneAndBlocksNobody) {
  static uint64_t sum[2];
  sum[0] = 0;
  const ptl_handle_ct_t arrived = counter();
  entry(&sum, sizeof sum, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  fence();
  constexpr uint64_t kEach = 5000;
  char payload[1024] = {};
  for (uint64_t i = 0; i < kEach; ++i) put(md, payload, i % 2 ? 8 : 16, process(0));
  if (rank() == 0) {
    EXPECT_EQ(wait(arrived, kEach * static_cast<uint64_t>(ranks())).failure, 0u);
  }
  fence();  // others may still use this memory
}

TEST_F(Move, VolatileSourcesMayChangeAsSoonAsTheCallReturns) {
  constexpr int kMessages = 2000;
  std::vector<uint64_t> memory(kMessages);
  const ptl_handle_ct_t arrived = counter();
  entry(memory.data(), memory.size() * 8, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(PTL_MD_VOLATILE, PTL_CT_NONE);
  fence();
  uint64_t value[16];
  for (uint64_t i = 0; i < kMessages; ++i) {
    value[0] = i * 3 + 1;
    put(md, value, 8, right(), 0, i * 8);
    value[0] = ~uint64_t{0};
  }
  wait(arrived, kMessages);
  for (uint64_t i = 0; i < kMessages; ++i) EXPECT_EQ(memory[i], i * 3 + 1);
  fence();  // others may still use this memory
}

TEST_F(Move, IovecsOnBothSidesAreWalked) {
  std::vector<unsigned char> a(5'000), b(70'000), c(1);
  ptl_iovec_t into[3] = {{a.data(), a.size()}, {c.data(), c.size()}, {b.data(), b.size()}};
  const ptl_handle_ct_t arrived = counter(), sent = counter();
  entry(into, 3, PTL_ME_OP_PUT | PTL_IOVEC | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  auto data = data_of(rank(), 75'001);
  ptl_iovec_t from[2] = {{data.data(), 40'000}, {data.data() + 40'000, 35'001}};
  ptl_md_t md{from, 2, PTL_IOVEC | PTL_MD_EVENT_CT_SEND, PTL_EQ_NONE, sent};
  ptl_handle_md_t handle;
  ASSERT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
  fence();
  EXPECT_EQ(PtlPut(handle, 1, 75'000, PTL_NO_ACK_REQ, right(), pt, 0, 1, nullptr, 0), PTL_OK);
  wait(arrived, 1);
  wait(sent, 1);
  auto expected = data_of(left_rank(), 75'001);
  std::vector<unsigned char> got(a);
  got.insert(got.end(), c.begin(), c.end());
  got.insert(got.end(), b.begin(), b.end());
  EXPECT_TRUE(std::equal(expected.begin() + 1, expected.end(), got.begin() + 1));
  fence();  // others may still use this memory
}

// Every second word of an array.
struct Spread {
  explicit Spread(size_t bytes) : words(bytes / 2, 0xffffffff) {}
  static void copy(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece) {
    auto* words = static_cast<Spread*>(const_cast<void*>(context))->words.data();
    for (ptl_size_t i = 0; i < bytes; i += 4) {
      uint32_t& there = words[(offset + i) / 4 * 2];
      to_piece ? std::memcpy(static_cast<char*>(piece) + i, &there, 4) : std::memcpy(&there, static_cast<char*>(piece) + i, 4);
    }
  }
  std::vector<uint32_t> words;
  ptlx_layout_t layout{copy, this};
};

TEST_F(Move, LayoutsOfEitherSideAreCopiedPieceByPiece) {
  constexpr size_t kMost = 3'000'000;
  const ptl_handle_ct_t arrived = counter(), sent = counter();
  Spread from(kMost), to(kMost);
  std::vector<uint32_t> plain(kMost / 4), packed(kMost / 4);
  const auto value = [](int of, size_t i) { return static_cast<uint32_t>(i * 8 + static_cast<size_t>(of) + 1); };
  for (size_t i = 0; i < packed.size(); ++i) from.words[2 * i] = packed[i] = value(rank(), i);
  entry(&to.layout, kMost, PTL_ME_OP_PUT | PTLX_ME_LAYOUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived, 1);
  entry(plain.data(), kMost, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived, 2);
  ptl_md_t md{&from.layout, sizeof from.layout, PTLX_MD_LAYOUT | PTL_MD_EVENT_CT_SEND, PTL_EQ_NONE, sent};
  ptl_handle_md_t laid_out;
  ASSERT_EQ(PtlMDBind(ni, &md, &laid_out), PTL_OK);
  const ptl_handle_md_t contiguous = descriptor(PTL_MD_EVENT_CT_SEND, sent);
  fence();
  uint64_t n = 0;
  for (const size_t size : {size_t{8}, size_t{4000}, size_t{65'536}, size_t{1'000'000}, kMost}) {
    for (const int way : {1, 2, 3}) {  // both, source only, entry only
      std::fill(to.words.begin(), to.words.end(), 0xffffffff);
      std::fill(plain.begin(), plain.end(), 0xffffffff);
      fence();
      const ptl_match_bits_t bits = way == 2 ? 2 : 1;
      if (way == 3) EXPECT_EQ(put(contiguous, packed.data(), size, right(), bits, 0), PTL_OK);
      else EXPECT_EQ(PtlPut(laid_out, 0, size, PTL_NO_ACK_REQ, right(), pt, bits, 0, nullptr, 0), PTL_OK);
      wait(arrived, ++n);
      EXPECT_EQ(wait(sent, n).failure, 0u);
      bool right_ones = true;
      for (size_t i = 0; i < kMost / 4; ++i) {
        const uint32_t expected = i < size / 4 ? value(left_rank(), i) : 0xffffffff;
        right_ones &= (way == 2 ? plain[i] : to.words[2 * i]) == expected && to.words[2 * i + 1] == 0xffffffff;
      }
      EXPECT_TRUE(right_ones) << size << " bytes, way " << way;
      fence();
    }
  }
}

TEST_F(Move, AMessageNobodyWantsIsReportedAsDropped) {
  ptl_handle_eq_t own;
  ASSERT_EQ(PtlEQAlloc(ni, 64, &own), PTL_OK);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE, own);
  EXPECT_EQ(put(md, "x", 1, right(), 0xdead, 0, PTL_ACK_REQ), PTL_OK);
  ptl_event_t event;
  EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
  EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_ACK);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_DROPPED);
  fence();
  ptl_sr_value_t drops = 0;
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
  EXPECT_EQ(drops, 1);
  fence();  // others may still use this memory
}

}  // namespace
}  // namespace portals_test
