// Finds the file that a program's name means.
//
// Thread: ptlrun's main thread.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engine/tools/ptlrun/options.hpp"

namespace portunus::launch {
namespace {

bool is_folder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace

std::string find_program(const std::string& name, const std::string& folder, const std::string& path) {
  std::string blocked;
  const auto fits = [&](const std::string& path) {
    if (access(path.c_str(), F_OK) != 0) return false;
    if (access(path.c_str(), X_OK) == 0 && !is_folder(path)) return true;
    blocked = path;
    return false;
  };
  // A program that was found from here is executed from `folder`.
  const auto whole = [&folder](const std::string& path) {
    return folder.empty() || path.starts_with('/') ? path : (std::filesystem::current_path() / path).string();
  };
  const bool in_path = name.find('/') == std::string::npos;
  if (in_path && !name.empty()) {
    const char* usual = std::getenv("PATH");
    const std::string places = !path.empty() ? path : usual != nullptr ? usual : "/usr/bin:/bin";
    for (size_t from = 0; from <= places.size();) {
      const size_t to = std::min(places.find(':', from), places.size());
      const std::string place = to > from ? places.substr(from, to - from) : ".";
      if (fits(place + "/" + name)) return whole(place + "/" + name);
      from = to + 1;
    }
  } else if (!name.empty()) {
    if (!folder.empty() && !name.starts_with('/') && fits(folder + "/" + name)) return whole(folder + "/" + name);
    if (fits(name)) return whole(name);
  }
  if (!blocked.empty())
    throw Refusal(kNotExecutable, "the program '" + blocked + "' " +
                                      (is_folder(blocked) ? "is a folder; name a program" : "is not executable; allow it with chmod +x"));
  throw Refusal(kNotFound, "the program '" + name + "' was not found" +
                               (in_path ? " in PATH; write ./" + name + " for one in the current folder" : "; check the path"));
}

}  // namespace portunus::launch
