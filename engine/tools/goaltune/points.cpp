// The points of a job: see points.hpp.
//
// Thread: any; pure.
#include "engine/tools/goaltune/points.hpp"

namespace portunus::goaltune {

using goal::collectives::Collective;

namespace {

// How many bytes a rank has for each byte of the size.
uint64_t share(Collective collective, uint32_t ranks) {
  switch (collective) {
    case Collective::gather:
    case Collective::scatter:
    case Collective::alltoall: return ranks;
    default: return 1;
  }
}

// The least size with which each rank has at least a byte.
uint64_t least(Collective collective, uint32_t ranks) {
  return collective == Collective::allgather || collective == Collective::allgatherv ? ranks : 1;
}

std::vector<uint32_t> group_sizes(uint32_t ranks) {
  std::vector<uint32_t> sizes;
  for (uint32_t size = 2; size < ranks; size *= 2) sizes.push_back(size);
  if (ranks >= 2) sizes.push_back(ranks);
  return sizes;
}

}  // namespace

std::vector<Point> points_of(std::span<const Collective> collectives, uint32_t ranks, const Range& range) {
  std::vector<Point> points;
  for (const Collective collective : collectives) {
    for (const uint32_t size : group_sizes(ranks)) {
      if (collective == Collective::barrier) {
        points.push_back({collective, 0, size, {}, {}, {}});
        continue;
      }
      for (uint64_t bytes = range.least; bytes <= range.most / share(collective, size); bytes *= range.step) {
        if (bytes >= least(collective, size)) points.push_back({collective, bytes, size, {}, {}, {}});
      }
    }
  }
  return points;
}

}  // namespace portunus::goaltune
