// awaited_words.cpp: see awaited_words.hpp.
#include "engine/core/triggered/awaited_words.hpp"

#include <algorithm>
#include <utility>

namespace portunus {
namespace {

template <class T>
bool compares(const void* at, uint8_t comparison, uint64_t bits) {
  const T left = __atomic_load_n(static_cast<const T*>(at), __ATOMIC_ACQUIRE);
  const T right = static_cast<T>(bits);
  switch (comparison) {
    case PTLX_EQUAL: return left == right;
    case PTLX_NOT_EQUAL: return left != right;
    case PTLX_GREATER: return left > right;
    case PTLX_GREATER_EQUAL: return left >= right;
    case PTLX_LESS: return left < right;
    default: return left <= right;
  }
}

}  // namespace

bool AwaitedWords::Word::holds() const {
  switch (datatype) {
    case PTL_INT8_T: return compares<int8_t>(at, comparison, value);
    case PTL_UINT8_T: return compares<uint8_t>(at, comparison, value);
    case PTL_INT16_T: return compares<int16_t>(at, comparison, value);
    case PTL_UINT16_T: return compares<uint16_t>(at, comparison, value);
    case PTL_INT32_T: return compares<int32_t>(at, comparison, value);
    case PTL_UINT32_T: return compares<uint32_t>(at, comparison, value);
    case PTL_INT64_T: return compares<int64_t>(at, comparison, value);
    default: return compares<uint64_t>(at, comparison, value);
  }
}

void AwaitedWords::begin(const Command& command) {
  const Word word{command.source.base, command.extra.awaited.value,
                  command.handle,      command.extra.awaited.watched,
                  command.datatype,    static_cast<uint8_t>(command.extra.awaited.comparison),
                  command.ni};
  nap_ns_ = kFirstNap;
  if (word.holds()) return reports_.count(word.ct, 1, 0);
  words_.push_back(word);
  core_.maybe_busy = core_.is_news = true;
}

// A report arms triggers, and runs none: the list does not change meanwhile.
int AwaitedWords::look() {
  const auto found = static_cast<int>(std::erase_if(words_, [this](const Word& word) {
    const bool there = word.holds();
    if (there) reports_.count(word.ct, 1, 0);
    return there;
  }));
  if (found != 0) nap_ns_ = kFirstNap;
  return found;
}

bool AwaitedWords::is_one_there() const {
  return std::any_of(words_.begin(), words_.end(), [](const Word& word) { return word.holds(); });
}

uint32_t AwaitedWords::watched() const {
  uint32_t bits = 0;
  for (const Word& word : words_) bits |= word.watched;
  return bits;
}

int64_t AwaitedWords::look_again_ns() { return std::exchange(nap_ns_, std::min(2 * nap_ns_, kLastNap)); }

}  // namespace portunus
