// pe.hpp: what the tests that run on several PEs share. Every PE runs the same tests in the same order; a test is a
// collective, so it checks with EXPECT and goes on: a PE that left early would keep the others waiting.
#pragma once

#include <gtest/gtest.h>
#include <shmem.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/payload.hpp"

inline int me() { return shmem_my_pe(); }
inline int count() { return shmem_n_pes(); }
inline int right() { return (me() + 1) % count(); }
inline int left() { return (me() + count() - 1) % count(); }

// A symmetric array that goes at the end of the scope, on all PEs together.
template <class T>
class Symmetric {
 public:
  explicit Symmetric(size_t count) : data_(static_cast<T*>(shmem_calloc(count, sizeof(T)))) {
    if (!data_) shmem_global_exit(90);
  }
  ~Symmetric() { shmem_free(data_); }
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;
  T* get() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }
  operator T*() const { return data_; }

 private:
  T* data_;
};

// How often to repeat what takes some ten nanoseconds on the node and a message off it: the same on all PEs, also
// where a PE has some of the others on its node.
inline int rounds(int on_node) {
  static int word;
  for (int pe = 0; pe < count(); ++pe)
    if (!shmem_ptr(&word, pe)) return on_node / 10;
  return on_node;
}

// Byte i of the pattern that PE `pe` sends as its message number `number`.
inline size_t pattern_shift(int pe, size_t number) { return static_cast<size_t>(pe) * 17 + number * 29 + 1; }
inline unsigned char pattern(int pe, size_t number, size_t i) {
  return static_cast<unsigned char>((i * 2654435761u >> 7) + pattern_shift(pe, number));
}
inline std::vector<unsigned char> pattern_of(int pe, size_t number, size_t size) {
  std::vector<unsigned char> bytes(size);
  portunus::test::fill_hashed(pattern_shift(pe, number), bytes.data(), size);
  return bytes;
}
inline bool holds_pattern(const unsigned char* bytes, int pe, size_t number, size_t size) {
  return portunus::test::holds_hashed(pattern_shift(pe, number), bytes, size);
}

// EXPECT_EQ for bodies that are repeated for every type: a call instead of a page of code.
template <class T>
[[gnu::noinline]] void expect_same(const T& left, const T& right, const char* what, const char* file, int line) {
  if (!(left == right)) ADD_FAILURE_AT(file, line) << what << ": " << left << " is not " << right;
}
#define EXPECT_SAME(T, left, right) expect_same<T>(left, right, #left, __FILE__, __LINE__)
