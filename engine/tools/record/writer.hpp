// The file of records of this rank, and the clock that tells time computed from time in calls.
//
// A call that is recorded holds a Call while it runs. Without a file, as in programs that a rank starts, nothing is written.
//
// Thread: any; with several threads (serialise()) their records stand in the order of time.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "engine/host/clock.hpp"
#include "engine/tools/record/format.hpp"

namespace portunus::record {

class Writer {
 public:
  static Writer& instance();

  // Begins the file of this rank. Does nothing where no folder is named, or another process has begun it.
  void open(int rank, int size, Interface interface = Interface::mpi);
  void finish();
  void serialise();

  [[nodiscard]] bool is_serialised() const { return threads_; }
  [[nodiscard]] bool is_open() const { return header_ != nullptr; }
  void append(const Record& record, std::span<const uint64_t> numbers = {});

 private:
  friend class Call;
  static constexpr uint64_t kWindow = 256 << 10;

  bool map_next(uint64_t bytes);
  void stop();

  int fd_ = -1;
  Header* header_ = nullptr;
  char* window_ = nullptr;
  uint64_t window_at_ = 0, window_bytes_ = 0;  // the part of the file that is mapped
  uint64_t used_ = 0;
  uint64_t left_ns_ = 0;      // when the last call ended
  uint64_t computed_ns_ = 0;  // not written yet
  bool threads_ = false, polled_ = false;
  std::recursive_mutex mutex_;
};

// One call of the program, from its begin to its end.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // A call that waits appends when its wait has ended.
  void append(Record record, std::span<const uint64_t> numbers = {});
  // The call looked for something that was not there: what passes until the next look is waiting.
  void found_nothing() { nothing_ = true; }
  [[nodiscard]] uint64_t begin_ns() const { return begin_ns_; }

 private:
  std::unique_lock<std::recursive_mutex> locked() const;

  Writer& writer_ = Writer::instance();
  uint64_t begin_ns_;
  bool nothing_ = false;
};

}  // namespace portunus::record
