// output.cpp: see output.hpp.
#include "engine/tools/ptlsim/output.hpp"

#include <cerrno>
#include <new>

#include "engine/tools/ptlsim/real.hpp"

namespace portunus::ptlsim {
namespace {

void write_all(int target, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t now = real::write(target, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return;
    done += static_cast<size_t>(now);
  }
}

}  // namespace

Output::Output(uint32_t rank, bool tagged) : tag_(tagged ? "[" + std::to_string(rank) + "] " : ""), parts_{{this, 1, {}}, {this, 2, {}}} {
  for (int i = 0; i < 2; ++i) {
    streams[i] = fopencookie(&parts_[i], "w", {.read = nullptr, .write = &Output::write, .seek = nullptr, .close = nullptr});
    if (!streams[i]) throw std::bad_alloc();
    setvbuf(streams[i], nullptr, i == 0 ? _IOLBF : _IONBF, 0);
  }
}

ssize_t Output::write(void* stream, const char* text, size_t size) {
  const Stream& part = *static_cast<Stream*>(stream);
  part.output->add(part.target, text, size);
  return static_cast<ssize_t>(size);
}

void Output::add(int target, const char* text, size_t size) {
  Stream& part = parts_[target - 1];
  part.line.append(text, size);
  if (const size_t end = part.line.rfind('\n'); end != std::string::npos) put(part, end + 1);
}

void Output::put(Stream& stream, size_t size) {
  std::string text;
  for (size_t at = 0; at < size;) {
    const size_t end = stream.line.find('\n', at) + 1;
    text += tag_;
    text.append(stream.line, at, end - at);
    at = end;
  }
  stream.line.erase(0, size);
  write_all(stream.target, text);
}

void Output::finish() {
  for (int i = 0; i < 2; ++i) {
    std::fflush(streams[i]);
    if (parts_[i].line.empty()) continue;
    parts_[i].line += '\n';
    put(parts_[i], parts_[i].line.size());
  }
}

}  // namespace portunus::ptlsim
