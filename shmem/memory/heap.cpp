// heap.cpp: allocation of symmetric memory and the barriers that go with it.
#include "shmem/memory/heap.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/memory/allocator.hpp"
#include "shmem/rma.hpp"
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

// SHMEM_DEBUG: what each PE asks of the heap, at the heap's start. Different calls would silently part the heaps of the PEs.
struct HeapCall {
  char function[32];
  size_t size, alignment, block;  // block: its offset, 1 + to tell it from none
};

void must_be_alike(const char* function, size_t size, size_t alignment, const void* block) {
  if (!runtime.debug) return;
  HeapCall mine{}, first;
  snprintf(mine.function, sizeof mine.function, "%s", function);
  mine.size = size;
  mine.alignment = alignment;
  mine.block = block ? 1 + reinterpret_cast<uintptr_t>(block) - runtime.segment[kHeap].start : 0;
  memcpy(at(0), &mine, sizeof mine);
  barrier_all();
  get_bytes(function, SHMEM_CTX_DEFAULT, &first, at(0), sizeof first, 0);
  barrier_all();
  if (memcmp(&first, &mine, sizeof mine) == 0) return;
  misuse(
      "%s: the PEs ask differently of the symmetric heap: here %zu bytes, alignment %zu, block %#zx; PE 0 calls %s with "
      "%zu bytes, alignment %zu, block %#zx (offsets into the heap)",
      function, size, alignment, mine.block ? mine.block - 1 : 0, first.function, first.size, first.alignment,
      first.block ? first.block - 1 : 0);
}

// SHMEM_DEBUG: why a call answers null; the program may go on.
void* nothing(const char* function, size_t size, const char* why) {
  if (runtime.debug) fprintf(stderr, "shmem: PE %d: %s: %zu bytes cannot be had: %s\n", runtime.my_pe, function, size, why);
  return nullptr;
}

void* block_at(const char* function, std::optional<size_t> offset, size_t size) {
  if (offset) return at(*offset);
  char why[128];
  snprintf(why, sizeof why, "the symmetric heap of %zu bytes has no room for them; set SHMEM_SYMMETRIC_SIZE to more",
           runtime.segment[kHeap].size);
  return nothing(function, size, why);
}

// Every successful or failed allocation of some bytes ends with a barrier: on return all PEs may use the block.
void* allocate(const char* function, size_t size, size_t alignment) {
  require_init(function);
  if (size == 0 || graph::is_refused(function, graph::kNoHeap)) return nullptr;
  must_be_alike(function, size, alignment, nullptr);
  const std::optional<size_t> offset = heap->allocate(size, alignment);
  barrier_all();
  return block_at(function, offset, size);
}

void release(const char* function, void* block) {
  require_init(function);
  if (block == nullptr || graph::is_refused(function, graph::kNoHeap)) return;
  must_be_alike(function, 0, 0, block);
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
  if (graph::is_refused(function, graph::kNoHeap)) return nullptr;
  must_be_alike(function, size, 0, block);
  const size_t old = offset_of(function, block);
  barrier_all();
  void* result = block;
  if (!heap->resize(old, size)) {
    const std::optional<size_t> moved = heap->allocate(size);
    result = block_at(function, moved, size);
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
  if (runtime.debug && !heap->allocate(sizeof(HeapCall)))
    throw std::runtime_error("SHMEM_DEBUG needs some of the symmetric heap; set SHMEM_SYMMETRIC_SIZE to more");
  max_alignment = alignment;
}

void heap_close() { heap.reset(); }

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(void*, malloc, (size_t size)) try { return allocate("shmem_malloc", size, Allocator::kGranule); }
SHMEMI_BARRIER

// The hints name uses that the default already serves.
SHMEMI_DEFINE(void*, malloc_with_hints, (size_t size, long)) try { return allocate("shmem_malloc_with_hints", size, Allocator::kGranule); }
SHMEMI_BARRIER

SHMEMI_DEFINE(void*, calloc, (size_t count, size_t size)) try {
  require_init("shmem_calloc");
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;  // more than there is
  if (bytes == 0 || graph::is_refused("shmem_calloc", graph::kNoHeap)) return nullptr;
  must_be_alike("shmem_calloc", bytes, Allocator::kGranule, nullptr);
  const std::optional<size_t> offset = heap->allocate(bytes);
  if (offset) memset(at(*offset), 0, bytes);
  barrier_all();
  return block_at("shmem_calloc", offset, bytes);
}
SHMEMI_BARRIER

// Alignments that are none are rounded up to the next that is one, as other libraries do.
SHMEMI_DEFINE(void*, align, (size_t alignment, size_t size)) try {
  require_init("shmem_align");
  if (size == 0) return nullptr;
  if (alignment == 0) return nothing("shmem_align", size, "an alignment of 0 is none");
  if (alignment > max_alignment) return nothing("shmem_align", size, "the alignment is larger than that of the heap itself");
  return allocate("shmem_align", size, std::bit_ceil(std::max(alignment, sizeof(void*))));
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void*, realloc, (void* block, size_t size)) try { return reallocate("shmem_realloc", block, size); }
SHMEMI_BARRIER

SHMEMI_DEFINE(void, free, (void* block)) try { release("shmem_free", block); }
SHMEMI_BARRIER
