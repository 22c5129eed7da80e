// options.hpp: the command line of ptlsim. Thread: one.
#pragma once

#include <optional>
#include <string>

#include "engine/tools/ptlsim/ranks.hpp"

namespace portunus::ptlsim {

struct Options {
  JobOptions job;
  std::optional<double> explore;  // seconds
  bool same_output = false;       // with it
  std::string record;             // the file, or nothing
};

// Nothing: it has said what there was to say, and the status is in `status`. Throws std::runtime_error with a sentence.
std::optional<Options> read_options(int argc, char** argv, int& status);

}  // namespace portunus::ptlsim
