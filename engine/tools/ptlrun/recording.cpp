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

std::string find_library() {
  const std::string found = record::find_library(PTL_LIBRARY_FOLDER);
  if (found.empty())
    throw Refusal(kNotFound,
                  std::string("the library that records, ") + record::kLibrary + ", was not found; install it beside the others");
  return found;
}

// LD_PRELOAD ends a path at a space or a colon.
bool can_be_preloaded(const std::string& path) { return path.find_first_of(" :") == std::string::npos; }

// A path of the library that can be preloaded.
std::string preloadable(const std::string& library, const std::string& job_folder) {
  if (can_be_preloaded(library)) return library;
  const std::string link = job_folder + "/" + record::kLibrary;
  if (!can_be_preloaded(link))
    throw Refusal(kBadUse,
                  "--record cannot load " + library + " from " + job_folder + "; set TMPDIR to a folder without spaces and colons");
  if (symlink(library.c_str(), link.c_str()) != 0)
    throw Refusal(1, "the link " + link + " cannot be made (" + std::strerror(errno) + "); set TMPDIR to a folder that can be written");
  return link;
}

std::string find_goalc() {
  const std::string beside = record::find_goalc();
  return beside.empty() ? find_program("goalc", "") : beside;
}

}  // namespace

Recording::Recording(const std::string& file, const std::string& job_folder)
    : file_(file), folder_(job_folder + "/record"), library_(preloadable(find_library(), job_folder)), goalc_(find_goalc()) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) throw Refusal(kBadUse, "--record " + file + " cannot be written (" + std::strerror(errno) + "); give a path that can");
  close(fd);
  if (mkdir(folder_.c_str(), 0700) != 0)
    throw Refusal(1, "the folder " + folder_ + " cannot be made (" + std::strerror(errno) + "); set TMPDIR to one that has space");
}

void Recording::prepare(std::map<std::string, std::string>& environment) const {
  std::string& loaded = environment["LD_PRELOAD"];
  loaded = loaded.empty() ? library_ : library_ + ":" + loaded;
  environment[record::kVariable] = folder_;
}

bool Recording::join() const { return record::join(goalc_, folder_, file_); }

}  // namespace portunus::launch
