// copies.hpp: a program with its libraries, loaded once for each rank, so that each rank has variables of its own.
//
//   PROGRAM             needs libmpi_abi.so.1, liba.so, libc.so.6
//   copy for rank 7     needs 7/mpi,           7/b,     libc.so.6       7/mpi: libptlsim_rank.so, MPI on a simulated machine
//
// Programs of OpenSHMEM take libptlsim_rank_shmem.so there, which has MPI, too.
//
// The C library alone is shared, and what belongs to it. Copies lie in a temporary folder while they are loaded, and nowhere after that.
// The code of the rank library is not copied: it is mapped from one file for all, before its first function is called.
// Thread: one. Throws std::runtime_error with a sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/tools/ptlsim/elf_image.hpp"
#include "engine/tools/ptlsim/rank_machine.hpp"

namespace portunus::ptlsim {

class Copies {
 public:
  // `recorder`: a library that stands before the calls of the rank library, or nothing.
  Copies(const std::string& program, const std::string& rank_library, const std::string& recorder);
  ~Copies();
  Copies(const Copies&) = delete;

  struct Loaded {
    void (*entry)();
    const std::byte* image;  // where the copy of the program begins
    int* optind;             // the program's own, or null; and so on
    char** optarg;
    int* optopt;
  };
  Loaded load(uint32_t rank, RankMachine& machine);

 private:
  struct Library {
    std::string path, short_name;
    std::unique_ptr<ElfImage> image;
    ElfImage::Beginnings beginnings;
  };
  void find_libraries(const std::string& program, const std::string& rank_library);
  void copy_variables(void* program, const std::vector<void*>& libraries) const;
  void add(const std::string& name, const std::string& path);
  std::string renamed(uint32_t rank, const std::string& name, bool by_recorder) const;
  std::string write(uint32_t rank, const std::string& short_name, ElfImage image, std::vector<int>& files,
                    const std::vector<ElfImage::Part>& left_out = {}) const;

  void* open_all(uint32_t rank, std::vector<void*>& libraries) const;
  void share_constant_parts(const link_map& copy) const;
  static void begin(const link_map& copy, const ElfImage::Beginnings& beginnings);

  ElfImage program_;
  ElfImage rank_library_;
  const bool records_;                    // the last of libraries_ is the one that records
  std::vector<ElfImage::Part> constant_;  // of the rank library
  ElfImage::Beginnings begins_program_{}, begins_library_{};
  int rank_file_ = -1;
  std::vector<std::pair<std::string, Library>> libraries_;  // that are copied, by the names that are needed; each before those it needs
  std::vector<ElfImage::Copied> copied_;
};

}  // namespace portunus::ptlsim
