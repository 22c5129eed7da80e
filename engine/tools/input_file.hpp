// input_file.hpp: reading a whole file that a user named. Thread: one.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

namespace portunus {

// 0, or why not. A device has no end, so it is no file (ENODEV).
inline int read_input(const std::string& path, std::string& bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  struct stat status {};
  if (!file || fstat(fileno(file.get()), &status) != 0) return errno;
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return ENODEV;
  char block[1 << 16];
  for (size_t got; (got = std::fread(block, 1, sizeof block, file.get())) > 0;) bytes.append(block, got);
  return std::ferror(file.get()) != 0 ? errno : 0;
}

}  // namespace portunus
