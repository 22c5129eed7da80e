// See host_records.hpp.
#include "engine/tools/ptlrun/hosts/host_records.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "engine/tools/record/format.hpp"

namespace portunus::launch {
namespace {

constexpr int kQuestions = 8;  // for the clock; the answer that took the shortest counts
constexpr uint64_t kPiece = 4 << 20;
constexpr std::chrono::seconds kSilence{10};
constexpr uint32_t kNoRank = UINT32_MAX;

// By the clock of the records.
uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Writes into a file of records, which this disk has no room for, what a rank writes that has none: goalc tells it.
void say_cut(const std::string& path) {
  record::Header header;
  header.state = record::State::no_space;
  const auto at = reinterpret_cast<const char*>(&header.state) - reinterpret_cast<const char*>(&header);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at);
  file.write(reinterpret_cast<const char*>(&header.state), sizeof header.state);
}

}  // namespace

void HostRecords::begin() {
  last_news_ = Clock::now();
  if (plan_.host_id != 0) ask_for_clock();
}

void HostRecords::go_on() {
  if (sends_ && !all_sent_ && !link_.is_sending()) send_piece();
}

bool HostRecords::is_over() const {
  if (Clock::now() - last_news_ > kSilence) return true;
  if (plan_.host_id != 0) return !link_.leads_to(0) || (all_sent_ && !link_.is_sending());
  for (int host = 1; host < static_cast<int>(plan_.hosts.size()); ++host)
    if (!complete_.contains(host) && link_.leads_to(host)) return false;
  return true;
}

bool HostRecords::take(const Message& message) {
  last_news_ = Clock::now();
  return message.word == Word::clock ? take_clock(message) : take_piece(message);
}

void HostRecords::ask_for_clock() {
  asked_at_ = now_ns();
  link_.send(Word::clock, 0, "");
}

bool HostRecords::take_clock(const Message& message) {
  Reader reader(message.body);
  if (plan_.host_id == 0) {
    std::string body;
    const uint64_t now = now_ns();
    put_number(body, static_cast<uint32_t>(now >> 32));
    put_number(body, static_cast<uint32_t>(now));
    if (message.body.empty()) link_.send(Word::clock, message.from, std::move(body));
    return message.body.empty();
  }
  const uint64_t high = reader.number(), theirs = high << 32 | reader.number(), now = now_ns(), trip = now - asked_at_;
  if (!reader.complete() || message.from != 0 || asked_ >= kQuestions) return false;
  if (trip < least_trip_) {
    least_trip_ = trip;
    ahead_ns_ = static_cast<int64_t>(asked_at_ + trip / 2 - theirs);
  }
  if (++asked_ < kQuestions) ask_for_clock();
  else sends_ = true;
  return true;
}

// False: there is none left. A rank that has recorded nothing has none.
bool HostRecords::open_next_file() {
  const HostShare& here = plan_.here();
  for (rank_ = std::max(rank_ + 1, here.first_rank); rank_ < here.first_rank + here.ranks; ++rank_) {
    file_ = std::ifstream(record::file_of(folder_, rank_), std::ios::binary | std::ios::ate);
    if (!file_ || file_.tellg() < static_cast<std::streamoff>(record::kHeaderBytes)) continue;
    left_ = static_cast<uint64_t>(file_.tellg());
    file_.seekg(0);
    at_begin_ = true;
    return true;
  }
  return false;
}

void HostRecords::say_ahead(std::string& piece) const {
  record::Header header;
  static_assert(sizeof header.ahead_ns == sizeof ahead_ns_);
  const auto at = reinterpret_cast<const char*>(&header.ahead_ns) - reinterpret_cast<const char*>(&header);
  std::memcpy(piece.data() + at, &ahead_ns_, sizeof ahead_ns_);
}

void HostRecords::send_piece() {
  last_news_ = Clock::now();
  std::string body;
  if (left_ == 0 && !open_next_file()) {
    all_sent_ = true;
    put_number(body, kNoRank);
    put_text(body, "");
    return link_.send(Word::record, 0, std::move(body));
  }
  std::string piece(std::min(left_, kPiece), '\0');
  file_.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  left_ = file_ ? left_ - piece.size() : 0;  // what cannot be read is missing there
  if (!file_) return;
  if (at_begin_) say_ahead(piece);
  at_begin_ = false;
  put_number(body, static_cast<uint32_t>(rank_));
  put_text(body, piece);
  link_.send(Word::record, 0, std::move(body));
}

bool HostRecords::take_piece(const Message& message) {
  Reader reader(message.body);
  const uint32_t rank = reader.number();
  const std::string piece = reader.text();
  if (!reader.complete() || plan_.host_id != 0) return false;
  if (rank == kNoRank) return complete_.insert(message.from).second;
  if (plan_.host_of(static_cast<int>(rank)) != message.from || complete_.contains(message.from)) return false;
  if (cut_.contains(rank)) return true;
  const std::string path = record::file_of(folder_, static_cast<int>(rank));
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  file.close();
  if (!file) {
    cut_.insert(rank);
    say_cut(path);
  }
  return true;
}

}  // namespace portunus::launch
