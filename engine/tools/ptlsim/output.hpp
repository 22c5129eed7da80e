// output.hpp: what a rank prints, with its number before each line. Thread: one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace portunus::ptlsim {

class Output {
 public:
  Output(uint32_t rank, bool tagged);
  Output(const Output&) = delete;

  void add(int target, const char* text, size_t size);  // 1 or 2
  // Lines that have no end get one.
  void finish();

  FILE* streams[2];  // the rank's stdout and stderr

 private:
  struct Stream {
    Output* output;
    int target;
    std::string line;
  };
  static ssize_t write(void* stream, const char* text, size_t size);
  void put(Stream& stream, size_t size);

  const std::string tag_;
  Stream parts_[2];
};

}  // namespace portunus::ptlsim
