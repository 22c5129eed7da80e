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
  static Writer& instance() { return only_; }

  // Begins the file of this rank. Does nothing where no folder is named, or another process has begun it.
  void open(int rank, int size, Interface interface = Interface::mpi);
  void finish();
  void serialise();

  [[nodiscard]] bool is_serialised() const { return threads_; }
  [[nodiscard]] bool is_open() const { return header_ != nullptr; }

 private:
  friend class Call;
  static constexpr uint64_t kWindow = 256 << 10;

  static Writer only_;  // never ends: calls may come when static objects are gone

  void append(const Record& record, std::span<const uint64_t> numbers, uint64_t time_ns);
  bool map_next(uint64_t bytes);
  void stop();

  int fd_ = -1;
  Header* header_ = nullptr;
  char* window_ = nullptr;
  uint64_t window_at_ = 0, window_bytes_ = 0;  // the part of the file that is mapped
  uint64_t used_ = 0, recorded_ns_ = 0;        // bytes that are written; the time of the last record
  uint64_t left_ns_ = 0;                       // when the last call ended
  uint64_t computed_ns_ = 0;                   // not written yet
  unsigned brief_ = 0;                         // brief calls since left_ns_
  unsigned untimed_ = 0;                       // so many to come are not timed
  bool threads_ = false, polled_ = false;
  std::recursive_mutex mutex_;
};

// One call of the program, from its begin to its end. A brief one waits for nobody and moves a word or two. To read the clock takes longer:
// while brief calls follow one another that quickly, only some are timed, and what passes until then is the library's time. The others have
// the time of the last that was.
class Call {
 public:
  explicit Call(bool brief = false) : brief_(brief) {
    if (brief && writer().untimed_ > 0) {
      --writer().untimed_;
      ++writer().brief_;
      is_timed_ = false;
      begin_ns_ = writer().left_ns_;
    } else begin();
  }
  ~Call() {
    if (is_timed_) end();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // A call that waits appends when its wait has ended. A record without a time has that of the call's begin.
  void append(const Record& record, std::span<const uint64_t> numbers = {});
  // When the program's call had returned, for what its wait has found.
  uint64_t end_ns();
  // The call looked for something that was not there: what passes until the next look is waiting.
  void found_nothing() { nothing_ = true; }
  [[nodiscard]] uint64_t begin_ns() const { return begin_ns_; }

 private:
  static Writer& writer() { return Writer::only_; }
  static std::unique_lock<std::recursive_mutex> locked();
  void begin();
  void end();

  uint64_t begin_ns_ = 0, end_ns_ = 0;
  unsigned appended_ = 0;
  bool nothing_ = false, brief_, is_timed_ = true;
};

}  // namespace portunus::record
