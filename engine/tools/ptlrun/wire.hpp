// Messages between the processes of ptlrun, on one host and between hosts: messages with a checked length, and the
// numbers and texts inside.
//
// Layout of a message, little-endian:   | body size: 4 | word: 1 | from: 1 | to: 1 | 0 | body ... |
// A number in a body takes 4 bytes; a text takes its size as a number, then its bytes.
//
// Thread: pure; ptlrun's main thread.
// Invariants: input is never trusted: a Reader that ran out of bytes says so and gives zeros and empty texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace portunus::launch {

inline constexpr size_t kHeadBytes = 8;
inline constexpr size_t kMaxBody = 256u << 20;
inline constexpr int kEveryOther = 255;  // as `to`: all hosts but the sender

enum class Word : uint8_t {
  // Between the ptlruns of one job:
  hello = 1,     // magic, hosts, host id, ranks, name: a host wants to join
  welcome,       // nspace, then name and ranks of each host: the job is complete
  refused,       // sentence: this host cannot join
  fence,         // key, count of hosts, hosts, data: the ranks of one host have arrived
  fence_done,    // key, data of all hosts
  modex,         // id, rank, key: what has this rank put, in particular under this key?
  modex_reply,   // id, good, data
  signal,        // number: pass it to your ranks
  finished,      // the sender's ranks have all ended well
  all_finished,  // so have those of all hosts
  end,           // status, sentence, how: end the job
  absent,        // rank: it has ended without joining the job; also to and from the process that serves PMIx
  clock,         // nothing: what time is it there? The answer: the two halves of CLOCK_MONOTONIC, in ns
  record,        // rank, the next piece of its records; the last message of a host has no rank
  // Between ptlrun and the process that serves PMIx:
  ready,    // for each rank of this host: count of variables, NAME=VALUE each
  broken,   // sentence: the server could not be started
  aborted,  // rank, status
  gather,   // id, key, count of hosts, hosts, data: all local ranks have arrived at a fence
  seek,     // id, rank, key: what has this rank of another host put?
  answer,   // id, good, data: to gather or seek
  fetch,    // id, rank: what has this rank of ours put?
  fetched,  // id, good, data
  ended,    // rank: it has ended
  spawn,    // id, rank that asks, note, count, then of each program: ranks, folder, path, hosts, count of words, words
  left,     // rank, whether it has left the job or come back
  over,     // name of a job that a rank of this one has asked for: all its ranks have ended
};
inline constexpr Word kFirstWord = Word::hello;
inline constexpr Word kLastWord = Word::over;

struct Message {
  Word word;
  int from = 0;
  int to = 0;
  std::string body;
};

inline void put_number(std::string& body, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) body.push_back(static_cast<char>(value >> shift & 0xff));
}

inline void put_text(std::string& body, std::string_view text) {
  put_number(body, static_cast<uint32_t>(text.size()));
  body.append(text);
}

inline uint32_t number_at(const char* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

inline std::string framed(const Message& message) {
  std::string bytes;
  put_number(bytes, static_cast<uint32_t>(message.body.size()));
  bytes.push_back(static_cast<char>(message.word));
  bytes.push_back(static_cast<char>(message.from));
  bytes.push_back(static_cast<char>(message.to));
  bytes.push_back('\0');
  return bytes + message.body;
}

class Reader {
 public:
  explicit Reader(std::string_view body) : left_(body) {}

  uint32_t number() {
    const std::string_view bytes = take(4);
    return bytes.size() == 4 ? number_at(bytes.data()) : 0;
  }
  std::string text() { return std::string(take(number())); }

  // True when everything asked for was there and nothing is left.
  bool complete() const { return good_ && left_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view take(size_t size) {
    if (size > left_.size()) {
      good_ = false;
      left_ = {};
      return {};
    }
    const std::string_view bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return bytes;
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace portunus::launch
