// Writing the records of a rank: see writer.hpp.
#include "engine/tools/record/writer.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "engine/tools/record/packed.hpp"

namespace portunus::record {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPoll_ns = 1000;  // what passes between two looks, at most, where the program only waits
constexpr unsigned kMany = 4;        // records of one call, whose writing is no computing
constexpr uint64_t kBrief_ns = 250;  // of a brief call and what the program does before the next
constexpr unsigned kUntimed = 64;    // brief calls, at most

}  // namespace

constinit Writer Writer::only_;

void Writer::open(int rank, int size, Interface interface) {
  const char* const folder = std::getenv(kVariable);
  if (folder == nullptr || *folder == '\0' || is_open()) return;
  fd_ = ::open(file_of(folder, rank).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0) return;
  void* const page =
      posix_fallocate(fd_, 0, kHeaderBytes) == 0 ? mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0) : MAP_FAILED;
  if (page == MAP_FAILED) {
    close(fd_);
    return;
  }
  header_ = new (page) Header;
  header_->magic = kMagic;
  header_->rank = rank;
  header_->size = size;
  header_->interface = interface;
  header_->used = used_ = kHeaderBytes;
  left_ns_ = recorded_ns_ = header_->begun_ns = now_ns();
  computed_ns_ = 0;                                                        // before the start
  pthread_atfork(nullptr, nullptr, [] { instance().header_ = nullptr; });  // a child that is forked is no rank
}

void Writer::serialise() {
  threads_ = true;
  if (header_ != nullptr) header_->threads = 1;
}

void Writer::finish() {
  if (!is_open()) return;
  header_->state.store(State::finished, std::memory_order_release);
  stop();
}

void Writer::stop() {
  if (window_ != nullptr) munmap(window_, window_bytes_);
  munmap(header_, kHeaderBytes);
  close(fd_);
  header_ = nullptr;
  window_ = nullptr;
}

// Room for `bytes` behind what is written. Space is reserved first: a page that the disk has no room for would end the program.
bool Writer::map_next(uint64_t bytes) {
  if (window_ != nullptr) munmap(window_, window_bytes_);
  window_at_ = used_ / kPage * kPage;
  window_bytes_ = (std::max(kWindow, bytes + kPage) + kPage - 1) / kPage * kPage;
  int cause;
  while ((cause = posix_fallocate(fd_, static_cast<off_t>(window_at_), static_cast<off_t>(window_bytes_))) == EINTR) {
  }
  void* memory = MAP_FAILED;
  if (cause == 0)
    memory = mmap(nullptr, window_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, static_cast<off_t>(window_at_));
  window_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  return window_ != nullptr;
}

void Writer::append(const Record& record, std::span<const uint64_t> numbers, uint64_t time_ns) {
  const uint64_t most = packed_most(numbers.size());
  if ((window_ == nullptr || used_ + most > window_at_ + window_bytes_) && !map_next(most)) {
    header_->state.store(State::no_space, std::memory_order_release);
    return stop();
  }
  const char* const end = pack(window_ + (used_ - window_at_), record, numbers, std::exchange(computed_ns_, 0),
                               static_cast<int64_t>(time_ns - std::exchange(recorded_ns_, time_ns)));
  used_ = window_at_ + static_cast<uint64_t>(end - window_);
  header_->used.store(used_, std::memory_order_release);
}

std::unique_lock<std::recursive_mutex> Call::locked() {
  return writer().threads_ ? std::unique_lock(writer().mutex_) : std::unique_lock<std::recursive_mutex>();
}

void Call::begin() {
  const auto lock = locked();
  Writer& all = writer();
  begin_ns_ = now_ns();
  const uint64_t gap = begin_ns_ > all.left_ns_ ? begin_ns_ - all.left_ns_ : 0;
  const bool quick = gap < all.brief_ * kBrief_ns;
  if (!quick && (!all.polled_ || gap >= kPoll_ns)) all.computed_ns_ += gap;
  all.polled_ = false;
  all.left_ns_ = std::max(all.left_ns_, begin_ns_);
  is_timed_ = !brief_ || !quick;
  all.untimed_ = is_timed_ || all.threads_ ? 0 : std::min(2 * all.brief_, kUntimed);
  all.brief_ = is_timed_ ? 0 : 1;
}

void Call::end() {
  const auto lock = locked();
  Writer& all = writer();
  all.polled_ = nothing_;
  all.left_ns_ = end_ns_ != 0 && appended_ < kMany ? end_ns_ : now_ns();
  if (brief_ && !all.threads_ && all.left_ns_ - begin_ns_ < kBrief_ns) all.untimed_ = 1;
}

uint64_t Call::end_ns() {
  if (end_ns_ == 0) end_ns_ = now_ns();
  return end_ns_;
}

void Call::append(const Record& record, std::span<const uint64_t> numbers) {
  const auto lock = locked();
  if (!writer().is_open()) return;
  ++appended_;
  writer().append(record, numbers, record.time_ns != 0 ? record.time_ns : begin_ns_);
}

}  // namespace portunus::record
