// join.hpp: tools that have ranks recorded find here the library that records, and make one file of what each rank has written.
//
// Thread: one.
#pragma once

#include <string>

namespace portunus::record {

inline constexpr char kLibrary[] = "libportunus_record.so.0";

// The path of the library in a build folder, or in `libraries`, a path from the folder of this program; empty where it is in neither.
std::string find_library(const std::string& libraries);
// The path of goalc as it lies in a build folder, or beside this program; empty where it is in neither.
std::string find_goalc();

// Writes `file` from the records in `folder`. False if that failed, after goalc has said why on stderr.
[[nodiscard]] bool join(const std::string& goalc, const std::string& folder, const std::string& file);

}  // namespace portunus::record
