// join.cpp: see join.hpp.
#include "engine/tools/record/join.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "engine/tools/needed_libraries.hpp"

namespace portunus::record {
namespace {

std::string own_folder() {
  std::array<char, PATH_MAX> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  const std::string self(path.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return self.substr(0, self.rfind('/') + 1);
}

// None of a program whose libraries are not found: it will say so itself.
std::vector<NeededLibrary> libraries_of(const std::string& program) {
  const std::string interpreter = interpreter_of(program);
  try {
    return interpreter.empty() ? std::vector<NeededLibrary>() : needed_libraries(interpreter, program);
  } catch (const std::runtime_error&) {
    return {};
  }
}

}  // namespace

Interfaces interfaces_of(const std::string& program) {
  Interfaces found;
  for (const NeededLibrary& each : libraries_of(program)) {
    found.mpi = found.mpi || each.name.starts_with("libmpi");
    found.shmem = found.shmem || each.name.starts_with("libshmem.") || each.name.starts_with("libsma.");
    found.portals = found.portals || each.name.starts_with("libportals.");
  }
  return found;
}

std::vector<std::string> libraries_for(const std::string& program) {
  const Interfaces uses = interfaces_of(program);
  if (!uses.mpi && !uses.shmem && uses.portals) return {kPortalsLibrary};
  if (uses.mpi == uses.shmem) return {kMpiLibrary, kShmemLibrary};
  return {uses.mpi ? kMpiLibrary : kShmemLibrary};
}

std::string find_library(const std::string& libraries, const std::string& name) {
  const std::string here = own_folder();
  for (const std::string& folder : {here + "record/", here + "../record/", here + libraries + "/"})
    if (access((folder + name).c_str(), R_OK) == 0) return folder + name;
  return "";
}

std::string find_goalc() {
  const std::string here = own_folder();
  for (const std::string& path : {here + "goalc", here + "../goalc"})
    if (access(path.c_str(), X_OK) == 0) return path;
  return "";
}

bool join(const std::string& goalc, const std::string& folder, const std::string& file) {
  std::string name = "goalc", records = "--records", from = folder, output = "--output", to = file;
  std::array<char*, 6> words{name.data(), records.data(), from.data(), output.data(), to.data(), nullptr};
  pid_t child = -1;
  if (const int error = posix_spawn(&child, goalc.c_str(), nullptr, nullptr, words.data(), environ); error != 0) {
    std::fprintf(stderr, "%s cannot be started (%s), so nothing is in %s\n", goalc.c_str(), std::strerror(error), file.c_str());
    return false;
  }
  int status = 1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace portunus::record
