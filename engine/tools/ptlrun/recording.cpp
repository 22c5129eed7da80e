// Recording a job: see recording.hpp.
#include "engine/tools/ptlrun/recording.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "engine/tools/ptlrun/options.hpp"
#include "engine/tools/record/format.hpp"

namespace portunus::launch {
namespace {

constexpr char kLibrary[] = "libportunus_record.so.0";

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
  return self.substr(0, self.rfind('/') + 1);
}

// As it lies in a build folder, and as it is installed.
std::string find_library() {
  const std::string here = own_folder();
  for (const std::string& folder : {here + "record/", here + PTL_LIBRARY_FOLDER "/"})
    if (access((folder + kLibrary).c_str(), R_OK) == 0) return folder + kLibrary;
  throw Refusal(kNotFound, std::string("the library that records, ") + kLibrary + ", was not found; install it beside the others");
}

// LD_PRELOAD ends a path at a space or a colon.
bool can_be_preloaded(const std::string& path) { return path.find_first_of(" :") == std::string::npos; }

// A path of the library that can be preloaded.
std::string preloadable(const std::string& library, const std::string& job_folder) {
  if (can_be_preloaded(library)) return library;
  const std::string link = job_folder + "/" + kLibrary;
  if (!can_be_preloaded(link))
    throw Refusal(kBadUse,
                  "--record cannot load " + library + " from " + job_folder + "; set TMPDIR to a folder without spaces and colons");
  if (symlink(library.c_str(), link.c_str()) != 0)
    throw Refusal(1, "the link " + link + " cannot be made (" + std::strerror(errno) + "); set TMPDIR to a folder that can be written");
  return link;
}

std::string find_goalc() {
  const std::string beside = own_folder() + "goalc";
  return access(beside.c_str(), X_OK) == 0 ? beside : find_program("goalc", "");
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

bool Recording::join() const {
  const pid_t pid = fork();
  if (pid == 0) {
    execl(goalc_.c_str(), "goalc", "--records", folder_.c_str(), "--output", file_.c_str(), static_cast<char*>(nullptr));
    _exit(kNotExecutable);
  }
  int status = 1;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace portunus::launch
