// record.hpp: what one rank of a file tells the others at a time.
#pragma once

#include <array>
#include <cstdint>

namespace portunus::mpi::io {

struct Record {
  std::array<int64_t, 8> word{};
};

}  // namespace portunus::mpi::io
