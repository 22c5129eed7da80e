// strided.cpp: a loop of copies on the node, of operations off it.
#include "shmem/strided.hpp"

#include <complex>
#include <cstdint>
#include <cstring>

#include "shmem/graph/capture.hpp"
#include "shmem/rma.hpp"

namespace portunus::shmem {

namespace {

// From the first byte to behind the last one of a side with this stride.
size_t extent(const char* function, const Strided& shape, ptrdiff_t stride) {
  if (stride < 1) misuse("%s: a stride of %td; strides are 1 or more", function, stride);
  size_t steps, elements, bytes;
  if (__builtin_mul_overflow(shape.blocks - 1, static_cast<size_t>(stride), &steps) ||
      __builtin_add_overflow(steps, shape.block, &elements) || __builtin_mul_overflow(elements, shape.element, &bytes))
    misuse_length(function, shape.blocks, shape.element);
  return bytes;
}

struct Sides {
  std::byte* to;
  const std::byte* from;
  size_t to_step, from_step, blocks;
};

// A constant size makes the copy one load and one store. Several are loaded before the first is stored, as the compiler cannot know
// that the sides do not overlap.
template <class Word>
void copy_each(const Sides& sides) {
  constexpr size_t kAtOnce = 4;
  std::byte* to = sides.to;
  const std::byte* from = sides.from;
  size_t left = sides.blocks;
  for (; left >= kAtOnce; left -= kAtOnce, to += kAtOnce * sides.to_step, from += kAtOnce * sides.from_step) {
    Word words[kAtOnce];
    for (size_t k = 0; k < kAtOnce; ++k) memcpy(&words[k], from + k * sides.from_step, sizeof(Word));
    for (size_t k = 0; k < kAtOnce; ++k) memcpy(to + k * sides.to_step, &words[k], sizeof(Word));
  }
  for (; left != 0; --left, to += sides.to_step, from += sides.from_step) memcpy(to, from, sizeof(Word));
}

void copy_blocks(const Sides& sides, size_t bytes) {
  switch (bytes) {
    case 1: return copy_each<uint8_t>(sides);
    case 2: return copy_each<uint16_t>(sides);
    case 4: return copy_each<uint32_t>(sides);
    case 8: return copy_each<uint64_t>(sides);
    case 16: return copy_each<std::complex<double>>(sides);
    default:
      for (size_t i = 0; i < sides.blocks; ++i) memcpy(sides.to + i * sides.to_step, sides.from + i * sides.from_step, bytes);
  }
}

Sides sides_of(void* to, const void* from, const Strided& shape) {
  return {static_cast<std::byte*>(to), static_cast<const std::byte*>(from), static_cast<size_t>(shape.dst) * shape.element,
          static_cast<size_t>(shape.sst) * shape.element, shape.blocks};
}

}  // namespace

void put_strided(const char* function, shmem_ctx_t context, void* dest, const void* source, const Strided& shape, int pe) {
  const Target target = target_of(function, context, pe);
  if (shape.blocks == 0 || shape.block == 0) return;
  check_alignment(function, dest, shape.element, pe);
  const size_t size = extent(function, shape, shape.dst);
  const Place place = locate(function, dest, size, pe);
  extent(function, shape, shape.sst);
  const size_t bytes = shape.block * shape.element;
  if (is_captured()) [[unlikely]]
    return graph::put_strided(function, target, place, source, shape);
  at_memory<true>(
      target.peer, place, size, [&](void* there) { copy_blocks(sides_of(there, source, shape), bytes); },
      [&] {
        const Sides sides = sides_of(nullptr, source, shape);
        target.channel.put_blocks(target.pe, place, sides.to_step, sides.from, sides.from_step, bytes, shape.blocks);
      });
}

void get_strided(const char* function, shmem_ctx_t context, void* dest, const void* source, const Strided& shape, int pe) {
  const Target target = target_of(function, context, pe);
  if (shape.blocks == 0 || shape.block == 0) return;
  check_alignment(function, source, shape.element, pe);
  const size_t size = extent(function, shape, shape.sst);
  const Place place = locate(function, source, size, pe);
  extent(function, shape, shape.dst);
  const size_t bytes = shape.block * shape.element;
  if (is_captured()) [[unlikely]]
    return graph::get_strided(function, target, place, dest, shape);
  at_memory<false>(
      target.peer, place, size, [&](const void* there) { copy_blocks(sides_of(dest, there, shape), bytes); },
      [&] {
        const Sides sides = sides_of(dest, nullptr, shape);
        target.channel.get_blocks(target.pe, place, sides.from_step, dest, sides.to_step, bytes, shape.blocks);
      });
}

}  // namespace portunus::shmem
