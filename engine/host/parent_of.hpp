// parent_of.hpp: which process has started another.
//
// Thread: any.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <cstring>

namespace portunus {

// -1: there is no such process, or it may not be asked for.
inline pid_t parent_of(pid_t process) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return -1;
  char line[512];
  const size_t size = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[size] = '\0';
  const char* after_name = std::strrchr(line, ')');  // the name may contain anything
  int parent = -1;
  if (after_name == nullptr || std::sscanf(after_name, ") %*c %d", &parent) != 1) return -1;
  return parent;
}

}  // namespace portunus
