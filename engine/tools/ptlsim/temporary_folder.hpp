// temporary_folder.hpp: a folder that is there while an object lives. Thread: one.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace portunus::ptlsim {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* const place = std::getenv("TMPDIR");
    path_ = std::string(place && *place ? place : "/tmp") + "/ptlsim-XXXXXX";
    if (!mkdtemp(path_.data())) throw std::runtime_error("no folder can be made in " + path_.substr(0, path_.rfind('/')));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace portunus::ptlsim
