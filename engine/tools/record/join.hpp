// join.hpp: tools that have ranks recorded find here the libraries that record, and make one file of what each rank has written.
//
// Thread: one.
#pragma once

#include <string>
#include <vector>

namespace portunus::record {

// Each records the calls of one interface.
inline constexpr char kMpiLibrary[] = "libportunus_record.so.0", kShmemLibrary[] = "libportunus_record_shmem.so.0",
                      kPortalsLibrary[] = "libportunus_record_portals.so.0";

// The interfaces whose libraries a program needs; those need Portals, too. None of scripts and of what cannot be read.
struct Interfaces {
  bool mpi = false, shmem = false, portals = false;
};
[[nodiscard]] Interfaces interfaces_of(const std::string& program);

// The libraries that record what a program calls: of MPI and OpenSHMEM, else of Portals. A script may start anything that uses the former
// two.
[[nodiscard]] std::vector<std::string> libraries_for(const std::string& program);

// The path of a library in a build folder, or in `libraries`, a path from the folder of this program; empty where it is in neither.
std::string find_library(const std::string& libraries, const std::string& name);
// The path of goalc as it lies in a build folder, or beside this program; empty where it is in neither.
std::string find_goalc();

// Writes `file` from the records in `folder`. False if that failed, after goalc has said why on stderr.
[[nodiscard]] bool join(const std::string& goalc, const std::string& folder, const std::string& file);

}  // namespace portunus::record
