// Whatever a PMIx server says about the job, a process ends up with a place that makes sense or with a sentence. Four bytes are its rank,
// four the job's size (both little endian), one says whether the node's ranks are told and how long the job's name is; the name and the
// ranks follow.
#include "engine/host/pmix_answers.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/replay.hpp"

namespace {

void check(const portunus::JobView& view, uint32_t rank, uint32_t size) {
  require(view.rank >= 0 && static_cast<uint32_t>(view.rank) == rank, "a process is who it was told");
  require(view.size > view.rank && static_cast<uint32_t>(view.size) == size, "and one of so many");
  require(view.id.find('/') == std::string::npos, "the job's name is fit for a file's");
  const size_t here = view.local_ranks.size();
  require(view.local_rank >= 0 && static_cast<size_t>(view.local_rank) < here, "a process is among those of its node");
  require(view.local_ranks[static_cast<size_t>(view.local_rank)] == view.rank, "and knows which it is");
  for (size_t i = 1; i < here; ++i) require(view.local_ranks[i - 1] < view.local_ranks[i], "the node's ranks ascend, each once");
  require(view.local_ranks.front() >= 0 && view.local_ranks.back() < view.size, "and are of the job");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 9) return 0;
  uint32_t rank, ranks;
  std::memcpy(&rank, data, 4);
  std::memcpy(&ranks, data + 4, 4);
  const std::string_view text(reinterpret_cast<const char*>(data) + 9, size - 9);
  const std::string_view name = text.substr(0, data[8] >> 1), peers = text.substr(name.size());
  try {
    check(portunus::view_of_answers(name, rank, ranks, data[8] & 1 ? std::optional(peers) : std::nullopt), rank, ranks);
  } catch (const std::runtime_error& e) {
    require(std::strstr(e.what(), "PMIx server") != nullptr, "errors have a sentence");
  }
  return 0;
}
