// Sharing a value with all ranks, alike for all kinds of job: see bootstrap.hpp.
//
// Thread: as bootstrap.hpp says.
#include "engine/host/bootstrap.hpp"

namespace portunus {

namespace {

constexpr int kFewRanks = 8;  // of a node, each of which asks for the values of all

}  // namespace

std::vector<std::byte> Bootstrap::share(const std::string& key, std::span<const std::byte> mine) {
  put(key, mine);
  fence();
  std::vector<std::byte> all;
  const bool many = local_size() > kFewRanks, asks = !many || local_rank() == 0;
  for (int i = 0; asks && i < size(); ++i) {
    const std::vector<std::byte> value = get(i, key);
    all.insert(all.end(), value.begin(), value.end());
    if (value.size() != mine.size())
      throw std::runtime_error("rank " + std::to_string(i) + " shares " + std::to_string(value.size()) + " bytes under '" + key +
                               "', and rank " + std::to_string(rank()) + " " + std::to_string(mine.size()) +
                               "; do all ranks run the same program and library?");
  }
  if (!many) return all;
  // The launcher answers each question by itself: the first rank of a node asks for all values, and the others ask that one for them.
  const std::string of_all = key + ".all";
  if (asks) put(of_all, all);
  fence(false);
  if (!asks) all = get(local_ranks().front(), of_all);
  if (all.size() != mine.size() * static_cast<size_t>(size()))
    throw std::runtime_error("rank " + std::to_string(local_ranks().front()) + " tells of " + std::to_string(all.size()) +
                             " bytes under '" + key + "' in all; do all ranks run the same library?");
  return all;
}

}  // namespace portunus
