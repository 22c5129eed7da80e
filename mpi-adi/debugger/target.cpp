// target.cpp: see target.hpp.
#include "mpi-adi/debugger/target.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace portunus::mpi::debugger {

void Target::fetch(uint64_t address, void* to, size_t bytes) const {
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t done = 0; done < bytes; done += kPiece) {
    const auto piece = static_cast<int>(std::min(kPiece, bytes - done));
    if (calls_->mqs_fetch_data_fp(process_, address + done, piece, static_cast<char*>(to) + done) != mqs_ok) throw kUnreadable;
  }
}

Object Target::object(uint64_t address, size_t bytes) const {
  constexpr size_t kMost = size_t{1} << 28;
  if (address == 0 || bytes > kMost) throw kDamaged;
  Object copy(bytes);
  fetch(address, copy.data(), bytes);
  return copy;
}

uint64_t Target::number(const std::byte* of, Field field) {
  static_assert(std::endian::native == std::endian::little);  // the low bytes of a wide number come first
  uint64_t value = 0;
  if (field.bytes > sizeof value) throw kDamaged;
  std::memcpy(&value, of + field.offset, field.bytes);
  return value;
}

bool Target::has_our_order() const {
  const uint32_t sample = 0x01020304;
  uint32_t seen = 0;
  calls_->mqs_target_to_host_fp(process_, &sample, &seen, sizeof seen);
  return seen == sample;
}

uint64_t Target::number_at(uint64_t address, uint32_t bytes) const { return number(object(address, bytes), {0, bytes}); }

std::string Target::text(const Object& of, Field field) {
  if (field.offset > of.size() || field.bytes > of.size() - field.offset) throw kDamaged;
  const auto* const first = reinterpret_cast<const char*>(of.data()) + field.offset;
  return {first, strnlen(first, field.bytes)};
}

}  // namespace portunus::mpi::debugger
