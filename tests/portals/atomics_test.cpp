// Atomic operations between processes: every pair of operation and datatype, and one domain of atomicity with plain loads.
// Source: Portals 4.3, PtlAtomic, PtlFetchAtomic, PtlSwap: table of operations and datatypes.
#include <complex>
#include <thread>

#include "tests/portals/exchange.hpp"

namespace portals_test {
namespace {

constexpr ptl_op_t kAtomicOps[] = {PTL_MIN, PTL_MAX, PTL_SUM, PTL_PROD, PTL_LOR, PTL_LAND, PTL_BOR, PTL_BAND, PTL_LXOR, PTL_BXOR};
constexpr ptl_op_t kSwapOps[] = {PTL_SWAP, PTL_CSWAP, PTL_CSWAP_NE, PTL_CSWAP_LE, PTL_CSWAP_LT, PTL_CSWAP_GE, PTL_CSWAP_GT, PTL_MSWAP};

template <class T>
constexpr bool kComplex = !std::is_arithmetic_v<T>;

template <class T>
bool legal(ptl_op_t op) {
  switch (op) {
    case PTL_SUM:
    case PTL_PROD:
    case PTL_SWAP:
    case PTL_CSWAP:
    case PTL_CSWAP_NE: return true;
    case PTL_MIN:
    case PTL_MAX:
    case PTL_CSWAP_LE:
    case PTL_CSWAP_LT:
    case PTL_CSWAP_GE:
    case PTL_CSWAP_GT: return !kComplex<T>;
    default: return std::is_integral_v<T>;
  }
}

// The result by the specification's table of target t, initiator data s and operand o.
template <class T>
T outcome(ptl_op_t op, T t, T s, T o) {
  if (op == PTL_SUM) return static_cast<T>(t + s);
  if (op == PTL_PROD) return static_cast<T>(t * s);
  if (op == PTL_SWAP) return s;
  if (op == PTL_CSWAP) return o == t ? s : t;
  if (op == PTL_CSWAP_NE) return o != t ? s : t;
  if constexpr (!kComplex<T>) {
    if (op == PTL_MIN) return s < t ? s : t;
    if (op == PTL_MAX) return s > t ? s : t;
    if (op == PTL_CSWAP_LE) return o <= t ? s : t;
    if (op == PTL_CSWAP_LT) return o < t ? s : t;
    if (op == PTL_CSWAP_GE) return o >= t ? s : t;
    if (op == PTL_CSWAP_GT) return o > t ? s : t;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == PTL_LOR) return t || s;
    if (op == PTL_LAND) return t && s;
    if (op == PTL_LXOR) return !t != !s;
    if (op == PTL_BOR) return static_cast<T>(t | s);
    if (op == PTL_BAND) return static_cast<T>(t & s);
    if (op == PTL_BXOR) return static_cast<T>(t ^ s);
    if (op == PTL_MSWAP) return static_cast<T>((o & s) | (~o & t));
  }
  return t;
}

struct Atomics : Exchange {
  alignas(32) unsigned char target[64], source[64], result[64], first[64], last[64], final_value[64];
  ptl_handle_ct_t replies = PTL_CT_NONE, acks = PTL_CT_NONE;
  ptl_handle_md_t md = PTL_INVALID_HANDLE, ack = PTL_INVALID_HANDLE;
  ptl_size_t replied_so_far = 0, acked_so_far = 0;

  void SetUp() override {
    Exchange::SetUp();
    replies = counter(), acks = counter();
    md = descriptor(PTL_MD_EVENT_CT_REPLY, replies), ack = descriptor(PTL_MD_EVENT_CT_ACK, acks);
    append({.start = target, .length = sizeof target, .options = kAtomic | PTL_ME_EVENT_COMM_DISABLE});
  }
  template <class T>
  static T load(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  // Changes the datum at the right neighbour, or tells why not.
  int issue(ptl_op_t op, ptl_datatype_t type, size_t length, const void* operand, bool fetch) {
    int code;
    if (op >= PTL_SWAP) code = PtlSwap(md, at(result), md, at(source), length, right(), pt, 0, 0, nullptr, 0, operand, op, type);
    else if (fetch) code = PtlFetchAtomic(md, at(result), md, at(source), length, right(), pt, 0, 0, nullptr, 0, op, type);
    else code = PtlAtomic(ack, at(source), length, PTL_CT_ACK_REQ, right(), pt, 0, 0, nullptr, 0, op, type);
    if (code == PTL_OK) (op >= PTL_SWAP || fetch ? replied_so_far : acked_so_far) += 1;
    return code;
  }
  // The same, and waits for the answer: the former value for what fetches.
  int apply(ptl_op_t op, ptl_datatype_t type, size_t length, const void* operand, bool fetch) {
    const int code = issue(op, type, length, operand, fetch);
    if (code != PTL_OK) return code;
    EXPECT_EQ(wait(replies, replied_so_far).failure + wait(acks, acked_so_far).failure, 0u);
    return code;
  }
  template <class T>
  void check(ptl_op_t op, ptl_datatype_t type) {
    const T values[] = {T(1), T(2), T(3)};
    for (T t : {values[0], values[1], values[2]})
      for (bool fetch : {true, false}) {
        if (op >= PTL_SWAP && !fetch) continue;
        const T s = values[1], o = values[1], nothing{};
        std::memcpy(first, &t, sizeof t);
        std::memcpy(source, &s, sizeof s);
        std::memcpy(last, &nothing, sizeof nothing);
        // Set it, change it, and read it by adding nothing: messages of a pair are in order, so the last answer is that of all.
        ASSERT_EQ(put(ack, first, sizeof(T), right()), PTL_OK);
        ASSERT_EQ(issue(op, type, sizeof(T), &o, fetch), PTL_OK) << +op << " " << +type;
        ASSERT_EQ(PtlFetchAtomic(md, at(final_value), md, at(last), sizeof(T), right(), pt, 0, 0, nullptr, 0, PTL_SUM, type), PTL_OK);
        ASSERT_EQ(wait(replies, ++replied_so_far).failure, 0u);
        if (fetch) {
          ASSERT_EQ(load<T>(result), t) << +op << " " << +type;
        }
        ASSERT_EQ(load<T>(final_value), outcome<T>(op, t, s, o)) << +op << " " << +type;
      }
  }
  template <class T>
  void set(T value) {
    std::memcpy(source, &value, sizeof value);
    const ptl_ct_event_t before = read(acks);
    EXPECT_EQ(put(ack, source, sizeof value, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(wait(acks, ++acked_so_far).failure, before.failure);
  }
  int replied_value() {
    std::memset(source, 0, sizeof source);
    return apply(PTL_SUM, PTL_UINT32_T, 4, nullptr, true);
  }
  template <class T>
  void check_type(ptl_datatype_t type) {
    if (HasFatalFailure()) return;
    const T one(1);
    std::memcpy(source, &one, sizeof one);
    for (ptl_op_t op : kAtomicOps) {
      if (legal<T>(op)) {
        check<T>(op, type);
      } else {
        EXPECT_EQ(apply(op, type, sizeof(T), &one, false), PTL_ARG_INVALID) << +op << " " << +type;
        EXPECT_EQ(apply(op, type, sizeof(T), &one, true), PTL_ARG_INVALID) << +op << " " << +type;
      }
      EXPECT_EQ(PtlSwap(md, at(result), md, at(source), sizeof(T), right(), pt, 0, 0, nullptr, 0, &one, op, type), PTL_ARG_INVALID);
    }
    for (ptl_op_t op : kSwapOps) {
      if (legal<T>(op)) check<T>(op, type);
      else EXPECT_EQ(apply(op, type, sizeof(T), &one, false), PTL_ARG_INVALID) << +op << " " << +type;
      EXPECT_EQ(PtlAtomic(ack, at(source), sizeof(T), PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0, op, type), PTL_ARG_INVALID);
      EXPECT_EQ(PtlFetchAtomic(md, at(result), md, at(source), sizeof(T), right(), pt, 0, 0, nullptr, 0, op, type), PTL_ARG_INVALID);
      if (op != PTL_SWAP) {  // one datum only
        EXPECT_EQ(apply(op, type, 2 * sizeof(T), &one, true), PTL_ARG_INVALID) << +op << " " << +type;
        EXPECT_EQ(apply(op, type, sizeof(T), nullptr, true), PTL_ARG_INVALID) << +op << " " << +type;
      }
    }
  }
};

TEST_F(Atomics, EveryPairOfOperationAndTypeDoesWhatTheTableSaysOrIsRefused) {
  fence();
  check_type<int8_t>(PTL_INT8_T);
  check_type<uint8_t>(PTL_UINT8_T);
  check_type<int16_t>(PTL_INT16_T);
  check_type<uint16_t>(PTL_UINT16_T);
  check_type<int32_t>(PTL_INT32_T);
  check_type<uint32_t>(PTL_UINT32_T);
  check_type<float>(PTL_FLOAT);
  check_type<int64_t>(PTL_INT64_T);
  check_type<uint64_t>(PTL_UINT64_T);
  check_type<double>(PTL_DOUBLE);
  check_type<std::complex<float>>(PTL_FLOAT_COMPLEX);
  check_type<std::complex<double>>(PTL_DOUBLE_COMPLEX);
  check_type<long double>(PTL_LONG_DOUBLE);
  check_type<std::complex<long double>>(PTL_LONG_DOUBLE_COMPLEX);
  const uint64_t one = 1;
  for (unsigned op : {+PTL_OP_LAST, 255}) EXPECT_EQ(apply(static_cast<ptl_op_t>(op), PTL_INT64_T, 8, &one, false), PTL_ARG_INVALID);
  for (unsigned type : {+PTL_DATATYPE_LAST, 255})
    EXPECT_EQ(apply(PTL_SUM, static_cast<ptl_datatype_t>(type), 8, &one, false), PTL_ARG_INVALID);
  fence();
}

TEST_F(Atomics, AConditionalSwapComparesTheOperandWithTheTargetAndAMaskPicksBits) {
  fence();
  auto after = [&](ptl_op_t op, uint32_t target_value, uint32_t operand) {
    set(target_value);
    const uint32_t s = 0x55;
    std::memcpy(source, &s, sizeof s);
    EXPECT_EQ(apply(op, PTL_UINT32_T, 4, &operand, true), PTL_OK);
    EXPECT_EQ(load<uint32_t>(result), target_value);
    EXPECT_EQ(replied_value(), PTL_OK);
    return load<uint32_t>(result);
  };
  EXPECT_EQ(after(PTL_CSWAP_LT, 7, 6), 0x55u);  // 6 < 7
  EXPECT_EQ(after(PTL_CSWAP_LT, 6, 7), 6u);
  EXPECT_EQ(after(PTL_CSWAP_GE, 6, 7), 0x55u);
  EXPECT_EQ(after(PTL_CSWAP_GE, 7, 6), 7u);
  EXPECT_EQ(after(PTL_MSWAP, 0xffffff00, 0x0f), 0xffffff05u);  // only bits of the operand come from the data
  fence();
}

TEST_F(Atomics, ArraysAreChangedDatumByDatumAndTheDescriptorOfResultAndDataMayBeTheSame) {
  static uint32_t words[1000], mine[1000], old[1000];
  for (uint32_t i = 0; i < 1000; ++i) words[i] = i, mine[i] = 2 * i;
  append({.start = words, .length = sizeof words, .options = kAtomic | PTL_ME_EVENT_COMM_DISABLE, .bits = 1});
  fence();
  EXPECT_EQ(PtlAtomic(ack, at(mine), sizeof mine, PTL_CT_ACK_REQ, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT32_T), PTL_OK);
  wait(acks, 1);
  EXPECT_EQ(PtlFetchAtomic(md, at(old), md, at(mine), sizeof mine, right(), pt, 1, 0, nullptr, 0, PTL_MIN, PTL_UINT32_T), PTL_OK);
  wait(replies, 1);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(old[i], 3 * i);
  EXPECT_EQ(PtlSwap(md, at(mine), md, at(old), sizeof old, right(), pt, 1, 0, nullptr, 0, nullptr, PTL_SWAP, PTL_UINT32_T), PTL_OK);
  wait(replies, 2);
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(mine[i], 2 * i);
  fence();
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(words[i], 3 * i);
  fence();
}

TEST_F(Atomics, AtomicsOfTheLongestLengthAreOneOperation) {
  const size_t count = limits.max_atomic_size / 8;
  static std::vector<uint64_t> words, mine;
  words.assign(count, 1);
  mine.assign(count, static_cast<uint64_t>(rank()) + 1);
  const ptl_handle_ct_t arrived = counter();
  append({.start = words.data(), .length = count * 8, .options = kAtomic | PTL_ME_EVENT_CT_COMM, .bits = 1, .ct = arrived});
  fence();
  EXPECT_EQ(PtlAtomic(ack, at(mine.data()), count * 8, PTL_CT_ACK_REQ, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
  EXPECT_EQ(
      PtlAtomic(ack, at(mine.data()), limits.max_atomic_size + 1, PTL_CT_ACK_REQ, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T),
      PTL_ARG_INVALID);
  wait(acks, 1);
  wait(arrived, 1);
  EXPECT_EQ(words, std::vector<uint64_t>(count, static_cast<uint64_t>(left_rank()) + 2));
  const size_t fetched = limits.max_fetch_atomic_size / 8;
  static std::vector<uint64_t> old;
  old.assign(fetched, 0);
  fence();
  EXPECT_EQ(PtlFetchAtomic(md, at(old.data()), md, at(mine.data()), fetched * 8, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T),
            PTL_OK);
  wait(replies, 1);
  EXPECT_EQ(old, std::vector<uint64_t>(fetched, static_cast<uint64_t>(rank()) + 2));
  fence();
}

TEST_F(Atomics, ATruncatedDatumIsLeftAlone) {
  static uint64_t words[2], mine[2] = {7, 7};
  words[0] = words[1] = 1;
  append({.start = words, .length = 12, .options = kAtomic, .bits = 1});
  fence();
  EXPECT_EQ(PtlAtomic(ack, at(mine), 16, PTL_CT_ACK_REQ, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
  EXPECT_EQ(next(eq).mlength, 8u);
  EXPECT_EQ(words[0], 8u);
  EXPECT_EQ(words[1], 1u);
  wait(acks, 1);
  fence();
}

// The owner changes the word by CPU atomics and reads it by plain loads, while its neighbour adds to it by Portals atomics.
TEST_F(Atomics, WordsAreOneDomainWithTheCpuAtomicsAndLoadsOfTheirOwner) {
  constexpr uint64_t kEach = 2000;
  EXPECT_TRUE(limits.features & PTL_COHERENT_ATOMICS);
  alignas(8) static uint64_t word;
  static uint32_t half;
  word = 0;
  half = 0;
  append({.start = &word, .length = 8, .options = kAtomic | PTL_ME_EVENT_COMM_DISABLE, .bits = 1});
  append({.start = &half, .length = 4, .options = kAtomic | PTL_ME_EVENT_COMM_DISABLE, .bits = 2});
  fence();
  static const uint64_t one = 1;
  static const float step = 1;
  std::thread owner([&] {
    for (uint64_t i = 0; i < kEach; ++i) {
      std::atomic_ref<uint64_t>(word).fetch_add(1);
      std::atomic_ref<uint32_t> bits(half);
      uint32_t before = bits.load(), after;
      do {
        float value;
        std::memcpy(&value, &before, 4);
        value += 1;
        std::memcpy(&after, &value, 4);
      } while (!bits.compare_exchange_weak(before, after));
    }
  });
  for (uint64_t i = 0; i < kEach; ++i) {
    EXPECT_EQ(PtlAtomic(ack, at(&one), 8, PTL_CT_ACK_REQ, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
    EXPECT_EQ(PtlAtomic(ack, at(&step), 4, PTL_CT_ACK_REQ, right(), pt, 2, 0, nullptr, 0, PTL_SUM, PTL_FLOAT), PTL_OK);
  }
  owner.join();
  wait(acks, 2 * kEach);
  EXPECT_EQ(PtlAtomicSync(), PTL_OK);
  fence();
  EXPECT_EQ(word, 2 * kEach);
  EXPECT_EQ(load<float>(&half), static_cast<float>(2 * kEach));
  fence();
}

}  // namespace
}  // namespace portals_test
