// Asking the dynamic linker what it would load: see needed_libraries.hpp.
#include "engine/tools/needed_libraries.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace portunus {
namespace {

std::vector<NeededLibrary> lines_of(const std::string& text) {
  std::vector<NeededLibrary> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    NeededLibrary each;
    std::string arrow;
    words >> each.name >> arrow >> each.path;
    if (arrow == "=>") all.push_back(each);
  }
  return all;
}

template <class T>
bool read_at(std::ifstream& file, uint64_t offset, T& into) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&into), sizeof into));
}

}  // namespace

std::string interpreter_of(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return "";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) return "";
    if (segment.p_type != PT_INTERP || segment.p_filesz < 2 || segment.p_filesz > 4096) continue;
    std::string path(segment.p_filesz - 1, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    return file.read(path.data(), static_cast<std::streamsize>(path.size())) ? path : "";
  }
  return "";
}

std::vector<NeededLibrary> needed_libraries(const std::string& interpreter, const std::string& program) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::string list = "--list", path = program, loader = interpreter;
  std::array<char*, 4> words{loader.data(), list.data(), path.data(), nullptr};
  pid_t child = -1;
  const int failed = posix_spawn(&child, interpreter.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; !failed && (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  if (failed || waitpid(child, &status, 0) != child || status != 0)
    throw std::runtime_error("the libraries of '" + program + "' cannot be found: see 'ldd " + program + "'");
  return lines_of(text);
}

}  // namespace portunus
