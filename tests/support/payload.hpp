// payload.hpp: bytes that tests send, and whether those that came are the same. These loops are compiled with optimization and without
// sanitizers, whatever the tests are: they go over more bytes than everything else that tests do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace portunus::test {

// Bytes that follow from `seed` alone.
void fill_from(uint32_t seed, unsigned char* bytes, size_t size);
// Each byte becomes one that differs.
void invert(unsigned char* bytes, size_t size);

// Byte i is (i * 2654435761 >> 7) + shift, cut to a byte.
void fill_hashed(size_t shift, unsigned char* bytes, size_t size);
bool holds_hashed(size_t shift, const unsigned char* bytes, size_t size);

// Byte i is shift + 7 i + i / 256, cut to a byte.
void fill_ramp(int shift, unsigned char* bytes, size_t size);

}  // namespace portunus::test
