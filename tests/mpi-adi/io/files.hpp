// files.hpp: what the tests of files share: names of their own, removed at the end, in the directory that MPI_IO_TEST_DIR
// names.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../ranks.hpp"

// Equal on all ranks: rank 0's choice.
inline std::string file_name(const char* stem) {
  const char* directory = std::getenv("MPI_IO_TEST_DIR");
  char name[512] = "";
  if (rank() == 0) std::snprintf(name, sizeof name, "%s/portunus-io-%d-%s", directory ? directory : "/dev/shm", getpid(), stem);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  return name;
}

// A file that exists while this does: opened by all ranks, deleted when closed.
class Opened {
 public:
  explicit Opened(const char* stem, MPI_Info info = MPI_INFO_NULL, int amode = MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_Comm comm = MPI_COMM_WORLD)
      : name(file_name(stem) + (comm == MPI_COMM_SELF ? "-" + std::to_string(rank()) : "")) {
    EXPECT_EQ(MPI_File_open(comm, name.c_str(), amode | MPI_MODE_DELETE_ON_CLOSE, info, &file), MPI_SUCCESS);
  }
  ~Opened() {
    if (file != MPI_FILE_NULL) {
      EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
    }
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  operator MPI_File() const { return file; }

  std::string name;
  MPI_File file = MPI_FILE_NULL;
};

class Hints {
 public:
  Hints(std::initializer_list<std::pair<const char*, const char*>> pairs) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : pairs) MPI_Info_set(info_, key, value);
  }
  ~Hints() { MPI_Info_free(&info_); }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_;
};

inline std::string content(const std::string& name) {
  std::string bytes;
  if (std::FILE* file = std::fopen(name.c_str(), "rb")) {
    char piece[65536];
    for (size_t count; (count = std::fread(piece, 1, sizeof piece, file)) > 0;) bytes.append(piece, count);
    std::fclose(file);
  }
  return bytes;
}
