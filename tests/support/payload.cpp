// payload.cpp: see payload.hpp.
#include "tests/support/payload.hpp"

namespace portunus::test {

void fill_from(uint32_t seed, unsigned char* bytes, size_t size) {
  uint32_t state = seed;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<unsigned char>(state >> 24);
  }
}

void invert(unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(~bytes[i]);
}

namespace {
unsigned char hashed(size_t shift, size_t i) { return static_cast<unsigned char>((i * 2654435761u >> 7) + shift); }
}  // namespace

void fill_hashed(size_t shift, unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[i] = hashed(shift, i);
}

bool holds_hashed(size_t shift, const unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (bytes[i] != hashed(shift, i)) return false;
  return true;
}

void fill_ramp(int shift, unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(shift + static_cast<int>(i) * 7 + static_cast<int>(i >> 8));
}

}  // namespace portunus::test
