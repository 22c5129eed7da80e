// shared_words.hpp: two words that the ranks of a file on one node map together: its shared pointer, where an addition costs
// no message. Elsewhere the engines add (wire.hpp).
//
// Thread: any, but for make, open and forget_name, which the opener calls. Invariants: the name is gone when the file is
// open.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus::mpi::io {

class SharedWords {
 public:
  using Word = std::atomic<int64_t>;
  static constexpr unsigned kWords = 2;

  SharedWords() = default;
  ~SharedWords();
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;

  // Zeroed ones, under a name made of this number and the process's own, which the others need; false: there is no memory.
  bool make(unsigned number);
  int64_t maker() const { return maker_; }
  bool open(int64_t maker, unsigned number);
  void forget_name(unsigned number);
  // nullptr: none are mapped.
  Word* words() const { return words_; }

 private:
  bool map(int descriptor);
  int64_t maker_ = 0;
  Word* words_ = nullptr;
};
static_assert(SharedWords::Word::is_always_lock_free);

}  // namespace portunus::mpi::io
