// network.hpp: the parameters of LogGOPS between two ranks, for `goalc --simulate` and `ptlsim`.
//
// Thread: one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace portunus::goaltune {

struct MeasuredNetwork {
  double latency = 0, overhead = 0, gap = 0, byte_gap = 0;  // L, o, g in ns; G in ns for each byte
};

// Rank 0 and the last one exchange messages of up to `most` bytes, at least 1024; both call this, at once. What rank 0 returns counts, and
// it tells `found` for each size the ns from rank to rank. Throws Failure.
[[nodiscard]] MeasuredNetwork measure_network(int rank, int size, size_t most, const std::function<void(size_t, double)>& found);

// As --network takes it.
[[nodiscard]] std::string network_text(const MeasuredNetwork& network);

}  // namespace portunus::goaltune
