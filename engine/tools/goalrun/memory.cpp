// Arguments of annotated files: see memory.hpp.
//
// Thread: one.
#include "engine/tools/goalrun/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/tools/goalrun/rank.hpp"

namespace portunus::goalrun {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string path_of(std::string path, int rank, size_t argument) {
  const auto put = [&path](std::string_view mark, const std::string& number) {
    for (size_t at = 0; (at = path.find(mark, at)) != std::string::npos; at += number.size()) path.replace(at, mark.size(), number);
  };
  put("%r", std::to_string(rank));
  put("%k", std::to_string(argument));
  return path;
}

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Failure(path + ": the file cannot be " + what + " (" + std::strerror(errno) + "); see 'goalrun --help' for the names of files");
}

}  // namespace

ArgumentMemory::ArgumentMemory(const goal::Plan& plan, int rank, const std::string& input) : rank_(rank) {
  for (const uint64_t bytes : plan.argument_bytes) memory_.emplace_back(bytes);
  given_ = memory_;
  for (size_t k = 0; !input.empty() && k < given_.size(); ++k) {
    const std::string path = path_of(input, rank, k);
    const File file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) fail(path, "read");
    if (!given_[k].empty() && std::fread(given_[k].data(), 1, given_[k].size(), file.get()) == 0 && std::ferror(file.get()) != 0)
      fail(path, "read");
  }
}

std::vector<goal::Argument> ArgumentMemory::arguments() {
  std::vector<goal::Argument> all;
  for (std::vector<std::byte>& memory : memory_) all.push_back({memory.data(), memory.size()});
  return all;
}

void ArgumentMemory::fill() {
  for (size_t k = 0; k < memory_.size(); ++k) std::ranges::copy(given_[k], memory_[k].begin());
}

void ArgumentMemory::write(const std::string& output) const {
  for (size_t k = 0; !output.empty() && k < memory_.size(); ++k) {
    const std::string path = path_of(output, rank_, k);
    File file(std::fopen(path.c_str(), "wb"), std::fclose);
    if (!file || std::fwrite(memory_[k].data(), 1, memory_[k].size(), file.get()) != memory_[k].size() || std::fflush(file.get()) != 0)
      fail(path, "written");
  }
}

}  // namespace portunus::goalrun
