// Records as they lie in a file: numbers without the bytes that are zero in front of them.
//
// A word of 4 bytes says what a record is and, by two bits each, how many bytes each of its fields takes: 0, 1, 3 or 8. Then come these,
// and behind them the record's numbers in fours: a byte of the same bits, then the bytes. A time is told as what has passed since that of
// the record before. The machine that writes is that which reads.
//
// Thread: any; plain functions.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "engine/tools/record/format.hpp"

namespace portunus::record {

static_assert(std::endian::native == std::endian::little, "the bytes that are left out are the last ones of a number");

// The bytes that each value of two bits stands for.
inline constexpr std::array<uint8_t, 4> kBytesOf{0, 1, 3, 8};
constexpr unsigned width_of(uint64_t number) {
  const auto bits = static_cast<unsigned>(std::bit_width(number));
  return (bits > 0 ? 1u : 0u) + (bits > 8 ? 1u : 0u) + (bits > 24 ? 1u : 0u);
}

// Small numbers of both signs become small ones.
constexpr uint64_t folded(int64_t number) { return static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63); }
constexpr int64_t unfolded(uint64_t number) { return static_cast<int64_t>(number >> 1 ^ -(number & 1)); }

// The last four are 0 more often than not.
using Fields = std::array<uint64_t, 10>;
inline constexpr unsigned kWhatBits = 6, kOften = 6;

// Room that packing a record with so many numbers takes at most: each store is of 8 bytes.
constexpr uint64_t packed_most(uint64_t numbers) { return sizeof(uint32_t) + 8 * std::tuple_size_v<Fields> + 9 * numbers + 8; }

inline char* pack_number(char* at, uint64_t number, unsigned width) {
  std::memcpy(at, &number, sizeof number);
  return at + kBytesOf[width];
}

// Returns the end of what it has written. `passed_ns`: since the record before. The fields are read one by one: a copy of the record would
// wait until all that the program had written before lies in its cache.
inline char* pack(char* at, const Record& record, std::span<const uint64_t> numbers, uint64_t compute_ns, int64_t passed_ns) {
  const Fields fields{record.detail,     numbers.size(),     folded(record.peer), record.bytes,   compute_ns,
                      folded(passed_ns), folded(record.tag), record.comm,         record.context, record.object};
  char* const head = at;
  at += sizeof(uint32_t);
  auto says = static_cast<uint32_t>(record.what);
  const unsigned there = (fields[6] | fields[7] | fields[8] | fields[9]) != 0 ? fields.size() : kOften;
  for (unsigned i = 0; i < there; ++i) {
    const unsigned width = width_of(fields[i]);
    says |= width << (kWhatBits + 2 * i);
    at = pack_number(at, fields[i], width);
  }
  std::memcpy(head, &says, sizeof says);
  for (size_t i = 0; i < numbers.size(); i += 4) {
    char* const widths = at++;
    unsigned all = 0;
    for (size_t j = 0; j < 4 && i + j < numbers.size(); ++j) {
      const unsigned width = width_of(numbers[i + j]);
      all |= width << 2 * j;
      at = pack_number(at, numbers[i + j], width);
    }
    *widths = static_cast<char>(all);
  }
  return at;
}

// Takes records from memory, one after the other.
class Unpacker {
 public:
  Unpacker(std::span<const char> packed, uint64_t time_ns) : left_(packed), time_ns_(time_ns) {}

  // False at the end, and of a record that is cut.
  bool next() {
    uint32_t says = 0;
    if (left_.size() < sizeof says) return false;
    std::memcpy(&says, left_.data(), sizeof says);
    left_ = left_.subspan(sizeof says);
    record_.what = static_cast<What>(says & ((1u << kWhatBits) - 1));
    says >>= kWhatBits;
    Fields fields{};
    for (uint64_t& field : fields) {
      if (!take(says & 3, field)) return false;
      says >>= 2;
    }
    const auto& [detail, count, peer, bytes, compute_ns, passed, tag, comm, context, object] = fields;
    record_.detail = static_cast<uint8_t>(detail);
    record_.peer = static_cast<int32_t>(unfolded(peer));
    record_.tag = static_cast<int32_t>(unfolded(tag));
    record_.comm = static_cast<uint32_t>(comm);
    record_.context = static_cast<uint32_t>(context);
    record_.bytes = bytes;
    record_.compute_ns = compute_ns;
    record_.time_ns = time_ns_ += static_cast<uint64_t>(unfolded(passed));
    record_.object = object;
    return take_numbers(count);
  }
  [[nodiscard]] const Record& record() const { return record_; }
  [[nodiscard]] std::span<const uint64_t> numbers() const { return numbers_; }

 private:
  bool take(unsigned width, uint64_t& number) {
    const size_t bytes = kBytesOf[width];
    number = 0;
    if (bytes > left_.size()) return false;
    if (bytes > 0) std::memcpy(&number, left_.data(), bytes);
    left_ = left_.subspan(bytes);
    return true;
  }
  bool take_numbers(uint64_t count) {
    numbers_.clear();
    if (count / 4 > left_.size()) return false;  // each four take a byte at least
    numbers_.resize(count);
    uint64_t widths = 0;
    for (size_t i = 0; i < count; ++i) {
      if (i % 4 == 0 && !take(1, widths)) return false;
      if (!take(widths >> 2 * (i % 4) & 3, numbers_[i])) return false;
    }
    return true;
  }

  std::span<const char> left_;
  uint64_t time_ns_;
  Record record_;
  std::vector<uint64_t> numbers_;
};

}  // namespace portunus::record
