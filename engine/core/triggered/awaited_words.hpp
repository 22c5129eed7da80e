// awaited_words.hpp: words of memory that the engine looks at in each step until they satisfy a comparison (E12).
//
// Others may store to them without a message: application threads that sleep set the bits of the words in the process's watch, so that who
// stores may ring; and whoever sleeps looks again after look_again_ns().
//
// Thread: the baton holder. Callers: Engine and LocalOperations alone.
// Invariant: what is given up is looked at no more, so its memory may go. Cost: a step pays one load for each word.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/reports.hpp"
#include "engine/shared/command.hpp"

namespace portunus {

class AwaitedWords {
 public:
  AwaitedWords(Core& core, Reports& reports) : core_(core), reports_(reports) {}

  // Begins to look, or reports at once.
  void begin(const Command& command);
  // Looks at all. Returns how many were reported.
  int look();
  // Whether a look would report one.
  bool is_one_there() const;
  bool any() const { return !words_.empty(); }
  // The bits of all.
  uint32_t watched() const;
  // Those that would report there end unreported.
  void give_up(uint32_t ct) {
    std::erase_if(words_, [ct](const Word& word) { return word.ct == ct; });
  }
  void close(uint32_t ni) {
    std::erase_if(words_, [ni](const Word& word) { return word.ni == ni; });
  }
  // How long who sleeps may wait before the next look: longer each time that it is asked while nothing comes.
  int64_t look_again_ns();

 private:
  struct Word {
    const void* at;
    uint64_t value;
    uint32_t ct;
    uint32_t watched;
    uint8_t datatype, comparison, ni;
    bool holds() const;
  };
  static constexpr int64_t kFirstNap = 50'000, kLastNap = 1'000'000;

  Core& core_;
  Reports& reports_;
  std::vector<Word> words_;
  int64_t nap_ns_ = kFirstNap;
};

}  // namespace portunus
