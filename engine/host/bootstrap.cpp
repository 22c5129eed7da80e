// Sharing a value with all ranks, alike for all kinds of job: see bootstrap.hpp.
//
// Thread: as bootstrap.hpp says.
#include "engine/host/bootstrap.hpp"

namespace portunus {

namespace {

constexpr int kFewRanks = 8;  // of a node, each of which asks for the values of all

}  // namespace

std::vector<std::byte> Bootstrap::values_of_all(const std::string& key, size_t bytes) {
  std::vector<std::byte> all;
  for (int i = 0; i < size(); ++i) {
    const std::vector<std::byte> value = get(i, key);
    all.insert(all.end(), value.begin(), value.end());
    if (value.size() != bytes)
      throw std::runtime_error("rank " + std::to_string(i) + " shares " + std::to_string(value.size()) + " bytes under '" + key +
                               "', and rank " + std::to_string(rank()) + " " + std::to_string(bytes) +
                               "; do all ranks run the same program and library?");
  }
  return all;
}

std::vector<std::byte> Bootstrap::share(const std::string& key, std::span<const std::byte> mine) {
  put(key, mine);
  fence();
  if (local_size() <= kFewRanks) return values_of_all(key, mine.size());
  // The launcher answers each question by itself: the first rank of a node asks for all values, and the others ask that one for them. They
  // wait for it even if it has failed.
  const std::string of_all = key + ".all";
  const int first = local_ranks().front();
  std::string problem;
  if (rank() == first) try {
      put(of_all, values_of_all(key, mine.size()));
    } catch (const std::exception& error) {
      problem = error.what();
    }
  fence(false);
  if (!problem.empty()) throw std::runtime_error(problem);
  const std::vector<std::byte> all = get(first, of_all);
  if (all.size() != mine.size() * static_cast<size_t>(size()))
    throw std::runtime_error("rank " + std::to_string(first) + " tells of " + std::to_string(all.size()) + " bytes under '" + key +
                             "' in all; do all ranks run the same program and library?");
  return all;
}

}  // namespace portunus
