// trace.cpp: see trace.hpp.
#include "engine/tools/ptlsim/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/tools/ptlsim/real.hpp"

namespace portunus::ptlsim {
namespace {

constexpr size_t kBuffer = 1 << 16, kEvent = 1 << 10;
constexpr uint64_t kOneWait = 100;  // ns between waits that are one: less than a message takes
constexpr uint64_t kShown = 1000;   // ns: shorter ones are not shown
constexpr size_t kWords = 200;      // of a program's, in one event

std::string quoted(const std::string& text) {
  return nlohmann::json(text.substr(0, kWords)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

Trace::Trace(const std::string& path, uint32_t ranks) : waits_(ranks), sent_until_(ranks) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) throw std::runtime_error("--trace " + path + " cannot be written (" + std::strerror(errno) + "); give a path that can");
  buffer_.reserve(kBuffer + kEvent);
  buffer_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"virtual\"},\"traceEvents\":[\n";
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string number = std::to_string(rank);
    const auto name = [&](const char* what, Track track, const std::string& text) {
      const std::string event = "{\"ph\":\"M\",\"name\":\"" + std::string(what) + "\",\"pid\":" + number +
                                ",\"tid\":" + std::to_string(track) + ",\"args\":{\"name\":\"" + text + "\"}}";
      put(event.data(), event.size());
    };
    name("process_name", does, "rank " + number);
    name("thread_name", does, "program");
    name("thread_name", sends, "card, out");
    name("thread_name", receives, "card, in");
  }
}

void Trace::put(const char* text, size_t size) {
  if (file_ < 0) return;
  if (!std::exchange(first_, false)) buffer_ += ",\n";
  buffer_.append(text, size);
  if (buffer_.size() >= kBuffer) write_out();
}

void Trace::write_out() {
  for (size_t done = 0; done < buffer_.size() && !failed_;) {
    const ssize_t now = real::write(file_, buffer_.data() + done, buffer_.size() - done);
    if (now > 0) done += static_cast<size_t>(now);
    else failed_ = errno != EINTR;
  }
  buffer_.clear();
}

bool Trace::close() {
  if (file_ < 0) return !failed_;
  buffer_ += "\n]}\n";
  write_out();
  if (::close(std::exchange(file_, -1)) != 0) failed_ = true;
  return !failed_;
}

void Trace::slice(uint32_t rank, Track track, uint64_t begin, uint64_t end, const char* name, const char* arguments) {
  char text[kEvent];
  const int size = std::snprintf(text, sizeof text, R"({"ph":"X","name":"%s","pid":%u,"tid":%u,"ts":%.3f,"dur":%.3f,"args":%s})", name,
                                 rank, static_cast<unsigned>(track), microseconds(begin), microseconds(end - begin), arguments);
  if (size > 0 && static_cast<size_t>(size) < sizeof text) put(text, static_cast<size_t>(size));
}

void Trace::arrow(char phase, uint64_t number, uint32_t rank, Track track, uint64_t at) {
  char text[kEvent];
  const int size =
      std::snprintf(text, sizeof text, R"({"ph":"%c","name":"message","cat":"message","id":%lu,"pid":%u,"tid":%u,"ts":%.3f%s})", phase,
                    number, rank, static_cast<unsigned>(track), microseconds(at), phase == 'f' ? R"(,"bp":"e")" : "");
  put(text, static_cast<size_t>(size));
}

void Trace::end_wait(uint32_t rank) {
  const Wait wait = std::exchange(waits_[rank], {});
  if (wait.end <= wait.begin) return;
  const std::string arguments = wait.call.empty() ? "{}" : "{\"call\":" + quoted(wait.call) + ",\"for\":" + quoted(wait.what) + "}";
  slice(rank, does, wait.begin, wait.end, "waits", arguments.c_str());
}

void Trace::computes(uint32_t rank, uint64_t begin, uint64_t end) {
  if (end - begin < kShown) return;
  end_wait(rank);
  slice(rank, does, begin, end, "computes");
}

void Trace::sleeps(uint32_t rank, uint64_t begin, uint64_t end) {
  end_wait(rank);
  slice(rank, does, begin, end, "sleeps");
}

void Trace::waits(uint32_t rank, uint64_t begin, uint64_t end, const std::string& call, const std::string& what) {
  Wait& wait = waits_[rank];
  if (wait.end == 0 || begin > wait.end + kOneWait) {
    end_wait(rank);
    wait.begin = begin;
  }
  wait.end = end;
  if (!call.empty()) {
    wait.call = call;
    wait.what = what;
  }
}

void Trace::happens(uint32_t rank, uint64_t at, const char* what) {
  end_wait(rank);
  char text[kEvent];
  const int size = std::snprintf(text, sizeof text, R"({"ph":"i","s":"p","name":"%s","pid":%u,"tid":%u,"ts":%.3f})", what, rank,
                                 static_cast<unsigned>(does), microseconds(at));
  put(text, static_cast<size_t>(size));
}

void Trace::leaves(uint64_t number, uint32_t from, uint32_t to, uint64_t now, uint64_t lasts, size_t bytes, const char* kind) {
  const uint64_t begin = std::max(now, sent_until_[from]);
  sent_until_[from] = begin + lasts;
  char name[80], arguments[80];
  std::snprintf(name, sizeof name, "%s to %u", kind, to);
  std::snprintf(arguments, sizeof arguments, R"({"bytes":%zu,"to":%u})", bytes, to);
  slice(from, sends, begin, begin + lasts, name, arguments);
  arrow('s', number, from, sends, begin);
}

void Trace::arrives(uint64_t number, uint32_t from, uint32_t to, uint64_t due, uint64_t lasts, size_t bytes, const char* kind) {
  char name[80], arguments[80];
  std::snprintf(name, sizeof name, "%s from %u", kind, from);
  std::snprintf(arguments, sizeof arguments, R"({"bytes":%zu,"from":%u})", bytes, from);
  slice(to, receives, due - std::min(lasts, due), due, name, arguments);
  arrow('f', number, to, receives, due);
}

}  // namespace portunus::ptlsim
