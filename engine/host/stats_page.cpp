// stats_page.cpp: see stats_page.hpp.
#include "engine/host/stats_page.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace portunus {
namespace {

constexpr char kName[] = "portunus-stats";

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), closedir);
  if (!directory) return names;
  while (const dirent* entry = readdir(directory.get()))
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  return names;
}

// The number that the process has in its innermost namespace, where its library runs.
int32_t own_number(const std::string& folder) {
  std::ifstream status(folder + "/status");
  int32_t number = -1;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    while (numbers >> number) {
    }
  }
  return number;
}

}  // namespace

PublishedStats::PublishedStats() : fd_(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  void* memory = MAP_FAILED;
  if (fd_ >= 0 && fchmod(fd_, 0600) == 0 && ftruncate(fd_, sizeof(StatsPage)) == 0 &&
      fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    memory = mmap(nullptr, sizeof(StatsPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) memory = mmap(nullptr, sizeof(StatsPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    if (fd_ >= 0) close(fd_);
    throw std::system_error(errno, std::generic_category(), "cannot have memory for the engine's counters");
  }
  page_ = new (memory) StatsPage;
  page_->layout = kStatsLayout;
  page_->magic = StatsPage::kMagic;
}

PublishedStats::~PublishedStats() {
  munmap(page_, sizeof *page_);
  if (fd_ >= 0) close(fd_);
}

std::atomic<uint64_t>* PublishedStats::add(const char* name, const char* text) {
  const uint32_t count = page_->added_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i)
    if (std::strcmp(page_->added[i].name, name) == 0) return &page_->added[i].value;
  if (count == StatsPage::kMostAdded) return nullptr;
  AddedCount& fresh = page_->added[count];
  std::strncpy(fresh.name, name, sizeof fresh.name - 1);
  std::strncpy(fresh.text, text, sizeof fresh.text - 1);
  page_->added_count.store(count + 1, std::memory_order_release);
  return &fresh.value;
}

ForeignStats::ForeignStats(pid_t process) : process_(process) {
  const std::string number = std::to_string(process), folder = "/proc/" + number;
  struct stat status;
  if (stat(folder.c_str(), &status) != 0) throw std::runtime_error("there is no process " + number);
  const int files = open((folder + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (files < 0) {
    const int error = errno;
    if (error == EACCES || error == EPERM)
      throw std::runtime_error("process " + number + " belongs to another user (" + std::to_string(status.st_uid) +
                               "), whose counters only that user and root may read");
    throw std::runtime_error("the open files of process " + number + " cannot be listed (" + std::strerror(error) + ")");
  }
  close(files);
  const std::string wanted = std::string("/memfd:") + kName;
  for (const std::string& name : names_in(folder + "/fd")) {
    const std::string path = folder + "/fd/" + name;
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0 || !std::string(target, static_cast<size_t>(length)).starts_with(wanted)) continue;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    const bool whole =
        fstat(fd, &status) == 0 && static_cast<size_t>(status.st_size) == sizeof(StatsPage) && (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK);
    void* memory = whole ? mmap(nullptr, sizeof(StatsPage), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    const auto* page = static_cast<const StatsPage*>(memory);
    if (memory == MAP_FAILED || page->magic != StatsPage::kMagic || page->layout != kStatsLayout) {
      if (memory != MAP_FAILED) munmap(memory, sizeof(StatsPage));
      throw std::runtime_error("process " + number + " runs another version of the library; use that version's ptlstat");
    }
    if (page->ready.load(std::memory_order_acquire) != 1 || page->os_pid != own_number(folder)) {  // pairs with Runtime::publish
      munmap(memory, sizeof(StatsPage));  // still starting, or inherited by a fork: not this process's
      continue;
    }
    page_ = page;
    return;
  }
  throw std::runtime_error("process " + number + " runs no Portals engine; PtlNIInit starts one, and the last PtlFini ends it");
}

ForeignStats::~ForeignStats() { munmap(const_cast<StatsPage*>(page_), sizeof *page_); }

uint64_t ForeignStats::engine_cpu_ns() const {
  const std::string tasks = "/proc/" + std::to_string(process_) + "/task/";
  for (const std::string& task : names_in(tasks)) {
    std::string name;
    std::getline(std::ifstream(tasks + task + "/comm"), name);
    if (name != "portals-engine") continue;
    uint64_t nanoseconds = 0;
    std::ifstream(tasks + task + "/schedstat") >> nanoseconds;
    return nanoseconds;
  }
  return 0;
}

bool ForeignStats::alive() const { return access(("/proc/" + std::to_string(process_) + "/fd").c_str(), R_OK) == 0; }

}  // namespace portunus
