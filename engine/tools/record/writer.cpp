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

namespace portunus::record {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPoll_ns = 1000;  // what passes between two looks, at most, where the program only waits

}  // namespace

Writer& Writer::instance() {
  static Writer& writer = *new Writer;  // calls may come when static objects are gone
  return writer;
}

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
  left_ns_ = header_->begun_ns = now_ns();
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

void Writer::append(const Record& record, std::span<const uint64_t> numbers) {
  const uint64_t bytes = sizeof record + numbers.size_bytes();
  if ((window_ == nullptr || used_ + bytes > window_at_ + window_bytes_) && !map_next(bytes)) {
    header_->state.store(State::no_space, std::memory_order_release);
    return stop();
  }
  char* const place = window_ + (used_ - window_at_);
  std::memcpy(place, &record, sizeof record);
  if (!numbers.empty()) std::memcpy(place + sizeof record, numbers.data(), numbers.size_bytes());
  used_ += bytes;
  header_->used.store(used_, std::memory_order_release);
}

std::unique_lock<std::recursive_mutex> Call::locked() const {
  return writer_.threads_ ? std::unique_lock(writer_.mutex_) : std::unique_lock<std::recursive_mutex>();
}

Call::Call() : begin_ns_(now_ns()) {
  const auto lock = locked();
  const uint64_t gap = begin_ns_ > writer_.left_ns_ ? begin_ns_ - writer_.left_ns_ : 0;
  if (!writer_.polled_ || gap >= kPoll_ns) writer_.computed_ns_ += gap;
  writer_.polled_ = false;
  writer_.left_ns_ = std::max(writer_.left_ns_, begin_ns_);
}

Call::~Call() {
  const auto lock = locked();
  writer_.polled_ = nothing_;
  writer_.left_ns_ = now_ns();
}

void Call::append(Record record, std::span<const uint64_t> numbers) {
  const auto lock = locked();
  if (!writer_.is_open()) return;
  record.compute_ns = writer_.computed_ns_;
  writer_.computed_ns_ = 0;
  if (record.time_ns == 0) record.time_ns = begin_ns_;
  record.numbers = static_cast<uint32_t>(numbers.size());
  writer_.append(record, numbers);
}

}  // namespace portunus::record
