// symmetric_size.cpp: how SHMEM_SYMMETRIC_SIZE is read.
#include "shmem/memory/symmetric_size.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace portunus::shmem {

namespace {

constexpr int kAddressBits = 48;  // no process can map more than this

// The power of two that a suffix stands for; nothing if the text starts with none.
std::optional<int> scale_bits(std::string_view suffix) {
  if (suffix.empty()) return 0;
  switch (suffix.front()) {
    case 'k':
    case 'K': return 10;
    case 'm':
    case 'M': return 20;
    case 'g':
    case 'G': return 30;
    case 't':
    case 'T': return 40;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<size_t> parse_symmetric_size(std::string_view text) {
  // from_chars takes a minus sign and the words for infinity, which a size is not.
  if (text.empty() || (text.front() != '.' && (text.front() < '0' || text.front() > '9'))) return std::nullopt;
  long double number = 0;  // 64 bits of mantissa: exact for every whole number of bytes
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::optional<int> bits = scale_bits(text.substr(static_cast<size_t>(end - text.data())));
  if (!bits) return std::nullopt;
  const long double bytes = std::ceil(std::ldexp(number, *bits));
  if (!(bytes <= std::ldexp(1.0L, kAddressBits))) return std::nullopt;
  return static_cast<size_t>(bytes);
}

}  // namespace portunus::shmem
