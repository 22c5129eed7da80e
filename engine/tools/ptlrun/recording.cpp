// Recording a job: see recording.hpp.
#include "engine/tools/ptlrun/recording.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/tools/ptlrun/options.hpp"
#include "engine/tools/record/format.hpp"
#include "engine/tools/record/join.hpp"

namespace portunus::launch {
namespace {

std::string find_library(const std::string& name) {
  const std::string found = record::find_library(PTL_LIBRARY_FOLDER, name);
  if (found.empty()) throw Refusal(kNotFound, "the library that records, " + name + ", was not found; install it beside the others");
  return found;
}

// LD_PRELOAD ends a path at a space or a colon.
bool can_be_preloaded(const std::string& path) { return path.find_first_of(" :") == std::string::npos; }

// A path of the library that can be preloaded.
std::string preloadable(const std::string& name, const std::string& job_folder) {
  const std::string library = find_library(name);
  if (can_be_preloaded(library)) return library;
  const std::string link = job_folder + "/" + name;
  if (!can_be_preloaded(link))
    throw Refusal(kBadUse,
                  "--record cannot load " + library + " from " + job_folder + "; set TMPDIR to a folder without spaces and colons");
  if (symlink(library.c_str(), link.c_str()) != 0 && errno != EEXIST)
    throw Refusal(1, "the link " + link + " cannot be made (" + std::strerror(errno) + "); set TMPDIR to a folder that can be written");
  return link;
}

std::string find_goalc() {
  const std::string beside = record::find_goalc();
  return beside.empty() ? find_program("goalc", "") : beside;
}

}  // namespace

Recording::Recording(const std::string& file, const std::string& job_folder, bool joins)
    : file_(file), job_folder_(job_folder), folder_(job_folder + "/record"), goalc_(joins ? find_goalc() : "") {
  const int fd = joins ? open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (joins && fd < 0)
    throw Refusal(kBadUse, "--record " + file + " cannot be written (" + std::strerror(errno) + "); give a path that can");
  if (joins) close(fd);
  if (mkdir(folder_.c_str(), 0700) != 0)
    throw Refusal(1, "the folder " + folder_ + " cannot be made (" + std::strerror(errno) + "); set TMPDIR to one that has space");
}

const std::string& Recording::libraries_of(const std::string& program) {
  std::string& libraries = libraries_[program];
  if (libraries.empty())
    for (const std::string& name : record::libraries_for(program))
      libraries += (libraries.empty() ? "" : ":") + preloadable(name, job_folder_);
  return libraries;
}

void Recording::prepare(const std::string& program, std::map<std::string, std::string>& environment) {
  const std::string& libraries = libraries_of(program);
  std::string& loaded = environment["LD_PRELOAD"];
  loaded = loaded.empty() ? libraries : libraries + ":" + loaded;
  environment[record::kVariable] = folder_;
}

bool Recording::join() const { return record::join(goalc_, folder_, file_); }

}  // namespace portunus::launch
