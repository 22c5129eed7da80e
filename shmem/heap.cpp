// heap.cpp: allocation of symmetric memory and the barriers that go with it.
#include "shmem/heap.hpp"

#include <bit>
#include <cstring>
#include <optional>

#include "shmem/allocator.hpp"
#include "shmem/define.hpp"
#include "shmem/sync.hpp"

namespace portunus::shmem {

namespace {

std::optional<Allocator> heap;
size_t max_alignment = 0;

void* at(size_t offset) { return reinterpret_cast<void*>(runtime.segment[kHeap].start + offset); }

// The offset of a block that the program names.
size_t offset_of(const char* function, const void* block) {
  const size_t offset = reinterpret_cast<uintptr_t>(block) - runtime.segment[kHeap].start;
  if (!heap->room(offset)) misuse("%s: %p is not the start of a block of the symmetric heap", function, block);
  return offset;
}

// Every successful or failed allocation of some bytes ends with a barrier: on return all PEs may use the block.
void* allocate(const char* function, size_t size, size_t alignment) {
  require_init(function);
  if (size == 0) return nullptr;
  const std::optional<size_t> offset = heap->allocate(size, alignment);
  barrier_all();
  return offset ? at(*offset) : nullptr;
}

void release(const char* function, void* block) {
  require_init(function);
  if (block == nullptr) return;
  const size_t offset = offset_of(function, block);
  barrier_all();
  heap->release(offset);
}

void* reallocate(const char* function, void* block, size_t size) {
  if (block == nullptr) return allocate(function, size, Allocator::kGranule);
  if (size == 0) {
    release(function, block);
    return nullptr;
  }
  require_init(function);
  const size_t old = offset_of(function, block);
  barrier_all();
  void* result = block;
  if (!heap->resize(old, size)) {
    const std::optional<size_t> moved = heap->allocate(size);
    result = moved ? at(*moved) : nullptr;
    if (moved) {
      memcpy(result, block, *heap->room(old));
      heap->release(old);
    }
  }
  barrier_all();
  return result;
}

}  // namespace

void heap_open(size_t size, size_t alignment) {
  heap.emplace(size);
  max_alignment = alignment;
}

void heap_close() { heap.reset(); }

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(void*, malloc, (size_t size)) { return allocate("shmem_malloc", size, Allocator::kGranule); }

// The hints name uses that the default already serves.
SHMEMI_DEFINE(void*, malloc_with_hints, (size_t size, long)) {
  return allocate("shmem_malloc_with_hints", size, Allocator::kGranule);
}

SHMEMI_DEFINE(void*, calloc, (size_t count, size_t size)) {
  require_init("shmem_calloc");
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes == 0) return nullptr;
  const std::optional<size_t> offset = heap->allocate(bytes);
  if (offset) memset(at(*offset), 0, bytes);
  barrier_all();
  return offset ? at(*offset) : nullptr;
}

SHMEMI_DEFINE(void*, align, (size_t alignment, size_t size)) {
  require_init("shmem_align");
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return nullptr;
  if (alignment > max_alignment) return nullptr;
  return allocate("shmem_align", size, alignment);
}

SHMEMI_DEFINE(void*, realloc, (void* block, size_t size)) { return reallocate("shmem_realloc", block, size); }

SHMEMI_DEFINE(void, free, (void* block)) { release("shmem_free", block); }
