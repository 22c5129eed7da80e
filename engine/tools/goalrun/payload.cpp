// Patterns of bytes, and finding them again: see payload.hpp.
//
// Thread: one.
#include "engine/tools/goalrun/payload.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace portunus::goalrun {

namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint32_t kFree = 0xffffffff;

// The finalizer of SplitMix64: a permutation of 64-bit numbers that leaves no pattern.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint64_t seed_of(const MessageName& name, uint64_t epoch) {
  const uint64_t ends = mixed(uint64_t{name.source} << 32 | name.target);
  return mixed(mixed(ends ^ (uint64_t{name.tag} << 32 | name.index)) ^ epoch);
}

// Calls f(offset, word, length) for the pieces of a pattern, the last of which may be short, until f returns false.
template <class F>
bool each_word(uint64_t seed, uint64_t size, F&& f) {
  for (uint64_t at = 0; at < size; at += 8) {
    const uint64_t word = mixed(seed + at);
    if (!f(at, word, std::min<uint64_t>(8, size - at))) return false;
  }
  return true;
}

// The places of messages, behind the first that is aligned.
struct Places {
  std::vector<uint64_t> offsets;
  uint64_t bytes = kAlignment;  // UINT64_MAX: no memory is so large
};

Places places_of(const goal::Schedule& schedule, bool checked) {
  Places places;
  std::map<std::tuple<goal::Kind, uint32_t, uint32_t, uint64_t>, uint64_t> alike;
  for (const goal::Vertex& vertex : schedule.vertices()) {
    const uint64_t next = places.bytes - kAlignment;
    places.offsets.push_back(next);
    if (!vertex.is_message() || places.bytes == UINT64_MAX) continue;
    if (!checked) {
      const auto [found, fresh] = alike.try_emplace({vertex.kind, vertex.peer, vertex.tag, vertex.size}, next);
      places.offsets.back() = found->second;
      if (!fresh) continue;
    }
    if (vertex.size > UINT64_MAX / 4 - places.bytes) places.bytes = UINT64_MAX;
    else places.bytes += (vertex.size + kAlignment - 1) / kAlignment * kAlignment;
  }
  return places;
}

}  // namespace

uint64_t Payload::bytes_needed(const goal::Schedule& schedule, bool checked) { return places_of(schedule, checked).bytes; }

Payload::Payload(const goal::GoalFile& file, uint32_t rank, std::span<const goal::Wildcards> wildcards, bool checked)
    : schedule_(file.ranks[rank]), rank_(rank), index_(goal::running_indices(schedule_)) {
  Places places = places_of(schedule_, checked);
  block_.reset(new std::byte[places.bytes]());
  offsets_ = std::move(places.offsets);
  const uint64_t first = kAlignment - reinterpret_cast<uintptr_t>(block_.get()) % kAlignment;
  for (uint64_t& offset : offsets_) offset += first;
  collect_candidates(file, wildcards);
}

void Payload::collect_candidates(const goal::GoalFile& file, std::span<const goal::Wildcards> wildcards) {
  const goal::Wildcards& mine = wildcards[rank_];
  for (goal::VertexId v = 0; v < schedule_.size(); ++v) {
    const goal::Vertex& vertex = schedule_[v];
    const bool wild = vertex.peer == goal::kAnySource || vertex.tag == goal::kAnyTag;
    if (vertex.kind == goal::Kind::recv && (wild || mine.cover(vertex.peer, vertex.tag))) shared_.push_back(v);
  }
  if (shared_.empty()) return;
  for (uint32_t source = 0; source < file.num_ranks; ++source) {
    const goal::Schedule& theirs = file.ranks[source];
    const std::vector<uint32_t> index = goal::running_indices(theirs);
    for (goal::VertexId v = 0; v < theirs.size(); ++v) {
      const goal::Vertex& vertex = theirs[v];
      if (vertex.kind == goal::Kind::send && vertex.peer == rank_ && mine.cover(source, vertex.tag))
        candidates_.push_back({{source, rank_, vertex.tag, index[v]}, vertex.size});
    }
  }
}

void Payload::fill(uint64_t epoch) {
  for (goal::VertexId v = 0; v < schedule_.size(); ++v) {
    const goal::Vertex& vertex = schedule_[v];
    if (vertex.kind != goal::Kind::send) continue;
    std::byte* to = buffer(v);
    each_word(seed_of({rank_, vertex.peer, vertex.tag, index_[v]}, epoch), vertex.size, [to](uint64_t at, uint64_t word, uint64_t length) {
      std::memcpy(to + at, &word, length);
      return true;
    });
  }
}

bool Payload::holds(goal::VertexId v, const Message& message, uint64_t epoch) const {
  if (message.size > schedule_[v].size) return false;  // it was cut
  const std::byte* from = buffer(v);
  return each_word(seed_of(message.name, epoch), message.size,
                   [from](uint64_t at, uint64_t word, uint64_t length) { return std::memcmp(from + at, &word, length) == 0; });
}

bool Payload::eligible(goal::VertexId v, const Message& message) const {
  const goal::Vertex& vertex = schedule_[v];
  return (vertex.peer == goal::kAnySource || vertex.peer == message.name.source) &&
         (vertex.tag == goal::kAnyTag || vertex.tag == message.name.tag);
}

std::string Payload::check(uint64_t epoch) const {
  size_t next_shared = 0;
  for (goal::VertexId v = 0; v < schedule_.size(); ++v) {
    if (next_shared < shared_.size() && shared_[next_shared] == v) {
      ++next_shared;
      continue;
    }
    const goal::Vertex& vertex = schedule_[v];
    if (vertex.kind != goal::Kind::recv) continue;
    const MessageName name{vertex.peer, rank_, vertex.tag, index_[v]};
    if (!holds(v, {name, vertex.size}, epoch)) return complaint(v, name, epoch);
  }
  return check_shared(epoch);
}

// Each of these receives must hold another one of the candidates. Short messages may look alike, so who holds what is
// found as a bipartite matching by augmenting paths.
std::string Payload::check_shared(uint64_t epoch) const {
  std::vector<uint32_t> holder(candidates_.size(), kFree);
  std::vector<uint32_t> asked_by(candidates_.size(), kFree);
  uint32_t round = 0;
  const std::function<bool(uint32_t)> assign = [&](uint32_t receive) {
    for (size_t c = 0; c < candidates_.size(); ++c) {
      const Message& message = candidates_[c];
      const goal::VertexId v = shared_[receive];
      if (asked_by[c] == round || !eligible(v, message) || !holds(v, message, epoch)) continue;
      asked_by[c] = round;
      if (holder[c] != kFree && !assign(holder[c])) continue;
      holder[c] = receive;
      return true;
    }
    return false;
  };
  for (; round < shared_.size(); ++round) {
    if (assign(round)) continue;
    return "the " + schedule_.describe(shared_[round]) + " holds none of the messages that it may take, in epoch " + std::to_string(epoch);
  }
  return {};
}

std::string Payload::complaint(goal::VertexId v, const MessageName& name, uint64_t epoch) const {
  uint64_t first = 0;
  unsigned expected = 0;
  const std::byte* from = buffer(v);
  each_word(seed_of(name, epoch), schedule_[v].size, [&](uint64_t at, uint64_t word, uint64_t length) {
    for (uint64_t i = 0; i < length; ++i) {
      first = at + i;
      expected = static_cast<unsigned>(word >> 8 * i & 0xff);
      if (std::to_integer<unsigned>(from[first]) != expected) return false;
    }
    return true;
  });
  return "the " + schedule_.describe(v) + " got wrong data in epoch " + std::to_string(epoch) + ": of message " +
         std::to_string(name.index) + " from rank " + std::to_string(name.source) + " with tag " + std::to_string(name.tag) + ", byte " +
         std::to_string(first) + " of " + std::to_string(schedule_[v].size) + " is " +
         std::to_string(std::to_integer<unsigned>(from[first])) + " instead of " + std::to_string(expected);
}

}  // namespace portunus::goalrun
