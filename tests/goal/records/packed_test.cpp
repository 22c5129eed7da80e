// Records come out of a file as they went in, and what is cut is left out.
#include "engine/tools/record/packed.hpp"

#include <gtest/gtest.h>

namespace portunus::record {
namespace {

constexpr uint64_t kBegin_ns = 1'000'000;

struct Written {
  Record record;
  std::vector<uint64_t> numbers;
};

std::vector<char> packed(const std::vector<Written>& all) {
  std::vector<char> bytes;
  uint64_t before = kBegin_ns;
  for (const auto& [record, numbers] : all) {
    const size_t used = bytes.size();
    bytes.resize(used + packed_most(numbers.size()));
    const auto passed = static_cast<int64_t>(record.time_ns - before);
    const char* const end = pack(bytes.data() + used, record, numbers, record.compute_ns, passed);
    bytes.resize(static_cast<size_t>(end - bytes.data()));
    before = record.time_ns;
  }
  return bytes;
}

bool is_same(const Record& one, const Record& other) {
  return one.what == other.what && one.detail == other.detail && one.peer == other.peer && one.tag == other.tag && one.comm == other.comm &&
         one.context == other.context && one.bytes == other.bytes && one.compute_ns == other.compute_ns && one.time_ns == other.time_ns &&
         one.object == other.object;
}

// Numbers on both sides of each width.
std::vector<Written> examples() {
  std::vector<Written> all;
  uint64_t time = kBegin_ns;
  for (const uint64_t number : {0ul, 1ul, 127ul, 128ul, 255ul, 256ul, 0xfffffful, 0x1000000ul, 0x7ffffffful, ~0ul >> 1, ~0ul}) {
    for (const int64_t sign : {1, -1}) {
      Written one;
      one.record = {
          .what = What::note, .detail = static_cast<uint8_t>(number), .bytes = number, .compute_ns = number, .time_ns = time += number};
      one.record.peer = static_cast<int32_t>(sign * static_cast<int64_t>(number & 0x7fffffff));
      if (sign > 0) one.record.tag = one.record.peer;
      one.record.comm = static_cast<uint32_t>(number);
      one.record.context = sign > 0 ? 1 : 0;
      one.record.object = number;
      one.numbers.assign(static_cast<size_t>(all.size()), number);
      all.push_back(one);
    }
  }
  all.push_back({});
  all.back().record.time_ns = 5;  // before the begin
  return all;
}

TEST(Packed, RecordsComeOutAsTheyWentIn) {
  const std::vector<Written> all = examples();
  const std::vector<char> bytes = packed(all);
  Unpacker records(bytes, kBegin_ns);
  for (const auto& [record, numbers] : all) {
    ASSERT_TRUE(records.next());
    EXPECT_TRUE(is_same(records.record(), record));
    EXPECT_EQ(std::vector(records.numbers().begin(), records.numbers().end()), numbers);
  }
  EXPECT_FALSE(records.next());
}

TEST(Packed, ARecordThatIsCutIsLeftOut) {
  const std::vector<Written> all = examples();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<char> bytes = packed({all[i]});
    for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(Unpacker(std::span(bytes).first(length), kBegin_ns).next());
  }
}

TEST(Packed, AShortMessageTakesAFewBytes) {
  Record record{.what = What::send, .peer = 1, .bytes = 8, .compute_ns = 2000, .time_ns = kBegin_ns + 3000};
  EXPECT_LE(packed({{record, {}}}).size(), 12u);
}

}  // namespace
}  // namespace portunus::record
