// replay.hpp: what fuzz targets share: require(), and the main program of a fuzz target that is not built with libFuzzer (-DFUZZ_REPLAY):
// runs the files of the folders named on its command line, every prefix of each, and then, after `--random N`, N inputs of chance made from
// them.
//
// Thread: one. Included once, by a target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// A state that no input may bring about ends the program here.
inline void require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", invariant);
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#ifdef FUZZ_REPLAY
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const auto run = [](const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()); };
  std::vector<std::string> corpus;
  size_t chance = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--random") && i + 1 < argc) {
      chance = std::strtoul(argv[++i], nullptr, 10);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream in(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  for (const std::string& each : corpus)
    for (size_t n = 0; n <= each.size(); ++n) run(each.substr(0, n));
  std::mt19937_64 random(1);
  for (size_t i = 0; i < chance && !corpus.empty(); ++i) {
    std::string bytes = corpus[random() % corpus.size()];
    for (size_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    run(bytes);
  }
  std::printf("%zu files, %zu inputs of chance\n", corpus.size(), chance);
  return corpus.empty() ? 1 : 0;
}
#endif
