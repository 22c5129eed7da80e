// program.cpp: keeps loops side by side.
#include "shmem/distribution/copy/program.hpp"

namespace portunus::distribution {

void Program::add(int64_t to, int64_t from, Nest nest) {
  if (nest.empty() || full_) return;
  if (steps_.size() == kMost) {
    *this = Program();
    full_ = true;
    return;
  }
  const Loops loops = nest.ordered();
  steps_.push_back({to, from, loops.bytes, static_cast<uint32_t>(loops_.size()), static_cast<int16_t>(loops.depth), loops.tiled});
  loops_.insert(loops_.end(), loops.loop, loops.loop + loops.depth);
  constexpr int64_t kLine = 64;
  shares_lines_ |= loops.depth > 0 && loops.bytes < kLine && loops.loop[loops.depth - 1].to != loops.bytes;
}

void Program::copy(std::byte* to, const std::byte* from, Stores stores) const {
  for (const Step& step : steps_) loops_of(step).copy(to + step.to, from + step.from, stores);
}

void Program::copy_part(std::byte* to, const std::byte* from, int64_t part, int64_t parts, Stores stores) const {
  for (const Step& step : steps_) loops_of(step).copy_part(to + step.to, from + step.from, part, parts, stores);
}

}  // namespace portunus::distribution
