// names.cpp: MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name, for the processes of one job, and of the jobs that it has spawned, on
// one node.
//
// A published name is a small file in the node's shared memory, whose name is made of the job's and the service's. Its publisher holds
// a lock on it: a name whose publisher has died means nothing any more, and a launcher sweeps it away.
// Thread: any. Source: MPI-5.0, 11.9.4; flock(2).
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi {
namespace {

const std::string& family_name() {
  static const std::string& name = *new std::string([] {  // names are withdrawn at exit
    ptlx_job_t job;
    if (PtlxJobInit(&job) != PTL_OK) return std::string();
    std::string id = job.family_id;
    PtlxJobFini();
    return id;
  }());
  return name;
}

// Different services have different files but for one case in 2^64, which is found out by the content.
std::string file_of(const char* service) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char* letter = service; *letter != '\0'; ++letter) hash = (hash ^ static_cast<unsigned char>(*letter)) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return "/dev/shm/portunus." + family_name() + ".name-" + digits;
}

// The names that this process has published, and the descriptors by which it holds them.
class Published {
 public:
  ~Published() {
    for (const auto& [service, fd] : held_) withdraw(service, fd);
  }

  // MPI_SUCCESS, MPI_ERR_SERVICE: somebody has published it, or MPI_ERR_OTHER: there is no room.
  int publish(const char* service, const char* port) {
    const std::string path = file_of(service), fresh = path + "." + std::to_string(getpid());
    const std::string content = std::string(service) + '\n' + port;
    const std::lock_guard lock(mutex_);
    const int fd = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return MPI_ERR_OTHER;
    int result = MPI_ERR_OTHER;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size())) {
      if (abandoned(path)) unlink(path.c_str());
      result = link(fresh.c_str(), path.c_str()) == 0 ? MPI_SUCCESS : errno == EEXIST ? MPI_ERR_SERVICE : MPI_ERR_OTHER;
    }
    unlink(fresh.c_str());
    if (result == MPI_SUCCESS) held_[service] = fd;
    else ::close(fd);
    return result;
  }

  bool unpublish(const char* service) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(service);
    if (found == held_.end()) return false;
    withdraw(found->first, found->second);
    held_.erase(found);
    return true;
  }

  // False when nobody who lives has published it.
  static bool look_up(const char* service, std::string& port) {
    const std::string path = file_of(service);
    if (abandoned(path)) return false;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    char bytes[4096];
    const ssize_t got = read(fd, bytes, sizeof bytes);
    ::close(fd);
    const std::string content(bytes, got > 0 ? static_cast<size_t>(got) : 0), head = std::string(service) + '\n';
    if (content.compare(0, head.size(), head) != 0) return false;
    port = content.substr(head.size());
    return true;
  }

 private:
  static bool abandoned(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    const bool dead = flock(fd, LOCK_SH | LOCK_NB) == 0;
    ::close(fd);
    return dead;
  }
  static void withdraw(const std::string& service, int fd) {
    unlink(file_of(service.c_str()).c_str());
    ::close(fd);
  }

  std::mutex mutex_;
  std::map<std::string, int> held_;
};

Published& published() {
  static Published names;
  return names;
}

constexpr size_t kLongestService = 1024;
bool is_service(const char* name) { return name != nullptr && *name != '\0' && strnlen(name, kLongestService) < kLongestService; }

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Publish_name(const char* service_name, MPI_Info info, const char* port_name) try {
  static constexpr char kName[] = "MPI_Publish_name";
  if (int error = check_running(kName)) return error;
  if (int error = check_info(kName, nullptr, info)) return error;
  if (!is_service(service_name)) return raise(kName, nullptr, MPI_ERR_SERVICE, "a service needs a name of 1 to 1023 characters");
  if (port_name == nullptr || strnlen(port_name, MPI_MAX_PORT_NAME) == MPI_MAX_PORT_NAME)
    return raise(kName, nullptr, MPI_ERR_PORT, "the port's name is missing or too long");
  const int result = published().publish(service_name, port_name);
  if (result == MPI_ERR_SERVICE) return raise(kName, nullptr, result, "the service '%s' has been published already", service_name);
  if (result != MPI_SUCCESS) return raise(kName, nullptr, result, "there is no room for the name (%s)", std::strerror(errno));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Publish_name)

extern "C" int PMPI_Unpublish_name(const char* service_name, MPI_Info info, const char*) try {
  static constexpr char kName[] = "MPI_Unpublish_name";
  if (int error = check_running(kName)) return error;
  if (int error = check_info(kName, nullptr, info)) return error;
  if (!is_service(service_name) || !published().unpublish(service_name))
    return raise(kName, nullptr, MPI_ERR_SERVICE, "this process has not published such a service");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Unpublish_name)

extern "C" int PMPI_Lookup_name(const char* service_name, MPI_Info info, char* port_name) try {
  static constexpr char kName[] = "MPI_Lookup_name";
  if (int error = check_running(kName)) return error;
  if (int error = check_info(kName, nullptr, info)) return error;
  if (int error = check_results(kName, nullptr, {port_name})) return error;
  std::string port;
  if (!is_service(service_name) || !Published::look_up(service_name, port) || port.size() >= MPI_MAX_PORT_NAME)
    return raise(kName, nullptr, MPI_ERR_NAME, "nobody on this node has published that service in this job");
  std::memcpy(port_name, port.c_str(), port.size() + 1);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Lookup_name)
