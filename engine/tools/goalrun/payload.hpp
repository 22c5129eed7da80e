// The data that messages of a schedule carry when goalrun executes it: a pattern that names the message, so that the
// receiver can tell it from every other one, of this and of other epochs.
//
// Thread: one.
// Invariants: every send and every receive that is checked has memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/goal/schedules/compile.hpp"
#include "engine/goal/schedules/parse.hpp"

namespace portunus::goalrun {

// Names one message of an epoch.
struct MessageName {
  uint32_t source = 0, target = 0, tag = 0;
  uint32_t index = 0;  // among those with equal source, target and tag
};

class Payload {
 public:
  // Each message has memory of its own where `checked`, or else, as in programs, that of all with its peer, tag and size. Throws
  // std::bad_alloc.
  Payload(const goal::GoalFile& file, uint32_t rank, std::span<const goal::Wildcards> wildcards, bool checked);

  [[nodiscard]] static uint64_t bytes_needed(const goal::Schedule& schedule, bool checked);
  [[nodiscard]] std::byte* buffer(goal::VertexId v) const { return block_.get() + offsets_[v]; }

  // Writes what the sends of this epoch carry.
  void fill(uint64_t epoch);
  // Empty, or a sentence about the first receive that holds something else than its message.
  [[nodiscard]] std::string check(uint64_t epoch) const;

 private:
  struct Message {
    MessageName name;
    uint64_t size;
  };
  void collect_candidates(const goal::GoalFile& file, std::span<const goal::Wildcards> wildcards);
  [[nodiscard]] bool holds(goal::VertexId v, const Message& message, uint64_t epoch) const;
  [[nodiscard]] bool eligible(goal::VertexId v, const Message& message) const;
  [[nodiscard]] std::string check_shared(uint64_t epoch) const;
  [[nodiscard]] std::string complaint(goal::VertexId v, const MessageName& name, uint64_t epoch) const;

  const goal::Schedule& schedule_;
  uint32_t rank_;
  std::vector<uint32_t> index_;
  std::vector<uint64_t> offsets_;
  std::unique_ptr<std::byte[]> block_;
  std::vector<goal::VertexId> shared_;  // receives that a message of several may end in ..
  std::vector<Message> candidates_;     // .. and these messages
};

}  // namespace portunus::goalrun
