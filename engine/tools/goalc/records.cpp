// Reading what recorded ranks have written: see records.hpp.
#include "engine/tools/goalc/records.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace portunus::goalc {

RankRecords::RankRecords(const std::string& folder, int rank) {
  const std::string path = record::file_of(folder, rank);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  const auto fail = [&](const std::string& why) {
    if (fd >= 0) close(fd);
    throw std::runtime_error(path + ": the records of rank " + std::to_string(rank) + " cannot be read (" + why + ")");
  };
  if (fd < 0 || fstat(fd, &facts) != 0) fail(std::strerror(errno));
  if (facts.st_size < static_cast<off_t>(record::kHeaderBytes)) fail("the file is cut");
  void* const memory = mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) fail(std::strerror(errno));
  bytes_ = {static_cast<const char*>(memory), static_cast<size_t>(facts.st_size)};
  if (header().magic != record::kMagic || header().rank != rank) {
    munmap(memory, bytes_.size());
    fail("it is none of this version");
  }
  used_ = std::clamp<uint64_t>(header().used.load(std::memory_order_acquire), record::kHeaderBytes, bytes_.size());
  close(fd);
}

RankRecords::~RankRecords() { munmap(const_cast<char*>(bytes_.data()), bytes_.size()); }

int ranks_recorded(const std::string& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank.")) continue;
    return RankRecords(folder, std::atoi(name.c_str() + 5)).header().size;
  }
  throw std::runtime_error("nothing was recorded in " + folder + ": no process has called MPI_Init, shmem_init or PtlNIInit");
}

}  // namespace portunus::goalc
