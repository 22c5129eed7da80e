// Writing and reading blocks: see block.hpp for the layout.
//
// Thread: any; pure.
#include "engine/goal/schedules/block.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

namespace portunus::goal {

namespace {

using Words = std::vector<uint32_t>;

constexpr uint32_t kMagic[2] = {0x4c414f47, 0x314b4c42};  // "GOALBLK1"
constexpr uint32_t kVersion = 2;
constexpr uint32_t kHasNeeds = 1u << 14, kExact = 1u << 15;
constexpr uint32_t kAnyTagFlag = 1u << 2;

// The header's words.
enum Field : uint32_t {
  kMagicLow,
  kMagicHigh,
  kVersionField,
  kBytes,
  kChecksumLow,
  kChecksumHigh,
  kProcessLow,
  kProcessHigh,
  kScratchLow,
  kScratchHigh,
  kArguments,
  kPieces,
  kIndependent,
  kOperations,
  kEdges,
  kCounters,
  kEntries,
  kTriggered,
  kRelays,
  kOperationsAt,
  kCountersAt,
  kHeaderWords
};

[[noreturn]] void refuse(const std::string& problem) { throw ScheduleError({}, "the block of the compiled schedule " + problem); }

// Different for processes, the same for their forks, where addresses mean the same.
uint64_t process_mark() {
  static const uint64_t mark = [] {
    const auto now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return (now * 0x9e3779b97f4a7c15 ^ static_cast<uint64_t>(getpid()) << 40) | 1;
  }();
  return mark;
}

uint64_t checksum(std::span<const uint32_t> words) {
  uint64_t sum = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == kChecksumLow || i == kChecksumHigh) continue;
    sum = (sum ^ words[i]) * 0xff51afd7ed558ccd;
    sum ^= sum >> 32;
  }
  return sum;
}

bool uses_number(Space space) { return space == Space::argument || space == Space::pieces; }

class Writer {
 public:
  explicit Writer(const Compiled& compiled) : plan_(compiled.plan), program_(compiled.program) {}
  std::vector<std::byte> run();

 private:
  void put(uint32_t word) { words_.push_back(word); }
  void put64(uint64_t value) {
    put(static_cast<uint32_t>(value));
    put(static_cast<uint32_t>(value >> 32));
  }
  void set64(Field low, uint64_t value) {
    words_[low] = static_cast<uint32_t>(value);
    words_[low + 1] = static_cast<uint32_t>(value >> 32);
  }
  [[nodiscard]] uint32_t here() const { return static_cast<uint32_t>(4 * words_.size()); }
  void put_memory(const Memory& m);
  void put_operation(VertexId v);
  void put_action(const Operation& operation);
  void put_relay(const Relay& relay);

  const Plan& plan_;
  const Program& program_;
  Words words_;
  Words offsets_;  // of the operations
  bool has_addresses_ = false;
};

void Writer::put_memory(const Memory& m) {
  if (m.space == Space::user) has_addresses_ = true;
  if (m.space == Space::none) return;
  put64(m.place);
  if (uses_number(m.space)) put(m.number);
}

void Writer::put_operation(VertexId v) {
  const Vertex& vertex = plan_.graph[v];
  const Work& work = plan_.works[v];
  const bool local = vertex.kind == Kind::local;
  const Memory none;
  const Memory& memory = vertex.kind == Kind::calc ? none : work.memory;
  const Memory& a = local && has_a(work.op) ? work.a : none;
  const Memory& b = local && has_b(work.op) ? work.b : none;
  const auto bits = [](const Memory& m, unsigned shift) { return static_cast<uint32_t>(m.space) << shift; };
  uint32_t kinds = bits(memory, 0) | bits(a, 3) | bits(b, 6) | (local ? uint32_t{work.type} << 9 : 0);
  if (vertex.needs != 0) kinds |= kHasNeeds;
  if (vertex.is_message() && work.exact) kinds |= kExact;
  offsets_[v] = here();
  put((static_cast<uint32_t>(vertex.kind) + 1) | (local ? static_cast<uint32_t>(work.op) << 8 : 0) | kinds << 16);
  put(static_cast<uint32_t>(plan_.graph.prerequisites(v).size()));
  put(static_cast<uint32_t>(plan_.graph.dependents(v).size()));
  put64(local ? work.count : vertex.size);
  if (vertex.is_message()) {
    put(vertex.peer);
    put(vertex.tag);
  }
  put_memory(memory);
  put_memory(a);
  put_memory(b);
  if (vertex.needs != 0) put(vertex.needs);
  for (const Edge e : plan_.graph.dependents(v)) put(e.vertex << 1 | e.on_start);  // becomes an offset
}

void Writer::put_action(const Operation& operation) {
  const bool message = operation.action == Action::put || operation.action == Action::append;
  const auto head = static_cast<uint32_t>(operation.action) | (operation.any_tag ? kAnyTagFlag : 0u);
  put(head | static_cast<uint32_t>(operation.match_bits >> 56 & 0xf0) | static_cast<uint32_t>(operation.match_bits >> 32 & 0xf) << 8);
  put(operation.when.counter);
  put(operation.when.threshold);
  put(operation.counter);
  put(offsets_[operation.vertex]);
  if (message) put(static_cast<uint32_t>(operation.match_bits));
}

void Writer::put_relay(const Relay& relay) {
  put(relay.when.counter);
  put(relay.when.threshold);
  put(relay.counter);
}

std::vector<std::byte> Writer::run() {
  words_.assign(kHeaderWords, 0);
  offsets_.assign(plan_.graph.size(), 0);
  for (const uint64_t bytes : plan_.argument_bytes) put64(bytes);
  for (const Piece& piece : plan_.pieces) {
    if (piece.at.space == Space::user) has_addresses_ = true;
    put(static_cast<uint32_t>(piece.at.space));
    put(piece.at.number);
    put64(piece.at.place);
    put64(piece.bytes);
  }
  const size_t independent_at = words_.size();
  uint32_t independent = 0;
  for (VertexId v = 0; v < plan_.graph.size(); ++v) independent += plan_.graph.prerequisites(v).empty() ? 1 : 0;
  words_.resize(words_.size() + independent);
  words_[kOperationsAt] = here();
  for (VertexId v = 0; v < plan_.graph.size(); ++v) put_operation(v);
  if (words_.size() > 0x3fffffff - 10 * (program_.early.size() + program_.triggered.size() + program_.relays.size()))
    refuse("would be larger than 4 GiB; divide the schedule");
  size_t next = independent_at;
  for (VertexId v = 0; v < plan_.graph.size(); ++v) {
    if (plan_.graph.prerequisites(v).empty()) words_[next++] = offsets_[v];
    const size_t end = v + 1 < plan_.graph.size() ? offsets_[v + 1] / 4 : words_.size();
    for (size_t i = end - plan_.graph.dependents(v).size(); i < end; ++i) words_[i] = offsets_[words_[i] >> 1] | (words_[i] & 1);
  }
  words_[kCountersAt] = here();
  words_.insert(words_.end(), program_.increments.begin(), program_.increments.end());
  for (const Operation& operation : program_.early) put_action(operation);
  for (const Operation& operation : program_.triggered) put_action(operation);
  for (const Relay& relay : program_.relays) put_relay(relay);
  words_[kMagicLow] = kMagic[0];
  words_[kMagicHigh] = kMagic[1];
  words_[kVersionField] = kVersion;
  words_[kBytes] = here();
  set64(kProcessLow, has_addresses_ ? process_mark() : 0);
  set64(kScratchLow, plan_.scratch_bytes);
  words_[kArguments] = static_cast<uint32_t>(plan_.argument_bytes.size());
  words_[kPieces] = static_cast<uint32_t>(plan_.pieces.size());
  words_[kIndependent] = independent;
  words_[kOperations] = plan_.graph.size();
  words_[kEdges] = static_cast<uint32_t>(plan_.graph.num_edges());
  words_[kCounters] = static_cast<uint32_t>(program_.increments.size());
  words_[kEntries] = static_cast<uint32_t>(program_.early.size());
  words_[kTriggered] = static_cast<uint32_t>(program_.triggered.size());
  words_[kRelays] = static_cast<uint32_t>(program_.relays.size());
  set64(kChecksumLow, checksum(words_));
  std::vector<std::byte> bytes(4 * words_.size());
  std::memcpy(bytes.data(), words_.data(), bytes.size());
  return bytes;
}

// Reads the graph back; everything else is only compared.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> block);
  Plan plan(uint32_t ranks);

 private:
  uint32_t get() {
    if (at_ >= end_) refuse("ends in the middle of an operation");
    return words_[at_++];
  }
  uint64_t get64() {
    const uint64_t low = get();
    return low | uint64_t{get()} << 32;
  }
  [[nodiscard]] uint64_t field64(Field low) const { return words_[low] | uint64_t{words_[low + 1]} << 32; }
  Memory memory(uint32_t kinds, unsigned shift);
  Piece piece();
  void operation(Builder& builder, uint32_t ranks);
  void edges(Builder& builder) const;

  struct Dependents {
    size_t at;
    uint32_t count;
  };
  Words words_;
  size_t at_ = kHeaderWords, end_ = 0;
  std::vector<uint32_t> offsets_;  // of the operations, ascending
  std::vector<Dependents> dependents_;
};

Reader::Reader(std::span<const std::byte> block) : words_(block.size() / 4) {
  if (block.size() < 4 * kHeaderWords) refuse("has only " + std::to_string(block.size()) + " bytes; it was cut, or is none");
  std::memcpy(words_.data(), block.data(), 4 * words_.size());
  if (words_[kMagicLow] != kMagic[0] || words_[kMagicHigh] != kMagic[1]) refuse("does not begin as one does; give what GOAL_Save wrote");
  if (words_[kVersionField] != kVersion) {
    refuse("is of version " + std::to_string(words_[kVersionField]) + ", but this library reads version " + std::to_string(kVersion) +
           "; save it anew");
  }
  if (words_[kBytes] != block.size() || block.size() % 4 != 0) {
    refuse("says that it has " + std::to_string(words_[kBytes]) + " bytes, but has " + std::to_string(block.size()) +
           "; it was cut or joined");
  }
  if (field64(kChecksumLow) != checksum(words_)) refuse("is damaged: its checksum is wrong; copy or save it again");
  if (field64(kProcessLow) != 0 && field64(kProcessLow) != process_mark()) {
    refuse("holds addresses of another process; name memory by GOAL_Arg and GOAL_Pad instead of GOAL_User");
  }
  end_ = words_[kCountersAt] / 4;
  if (end_ > words_.size() || words_[kOperationsAt] / 4 > end_) refuse("has offsets beyond its end");
}

Memory Reader::memory(uint32_t kinds, unsigned shift) {
  Memory m;
  const uint32_t space = kinds >> shift & 7;
  if (space > static_cast<uint32_t>(Space::pieces)) refuse("names memory of an unknown kind");
  m.space = static_cast<Space>(space);
  if (m.space == Space::none) return m;
  m.place = get64();
  if (uses_number(m.space)) m.number = get();
  return m;
}

Piece Reader::piece() {
  Piece p;
  const uint32_t space = get();
  if (space >= static_cast<uint32_t>(Space::pieces)) refuse("names memory of an unknown kind");
  p.at.space = static_cast<Space>(space);
  p.at.number = get();
  p.at.place = get64();
  p.bytes = get64();
  return p;
}

void Reader::operation(Builder& builder, uint32_t ranks) {
  offsets_.push_back(static_cast<uint32_t>(4 * at_));
  const uint32_t head = get(), kinds = head >> 16;
  if ((head & 0xff) < 1 || (head & 0xff) > 4) refuse("has an operation of an unknown type");
  Vertex vertex;
  vertex.kind = static_cast<Kind>((head & 0xff) - 1);
  Work work;
  get();  // the number of dependencies, compared later
  const uint32_t dependents = get();
  (vertex.kind == Kind::local ? work.count : vertex.size) = get64();
  if (vertex.is_message()) {
    vertex.peer = get();
    vertex.tag = get();
    if (vertex.peer >= ranks) {
      refuse("has a message for rank " + std::to_string(vertex.peer) + ", but the job has only " + std::to_string(ranks) + " ranks");
    }
  }
  if (vertex.kind == Kind::local) {
    work.op = static_cast<ptlx_local_op_t>(head >> 8 & 0xff);
    work.type = static_cast<ptl_datatype_t>(kinds >> 9 & 0x1f);
  }
  work.exact = (kinds & kExact) != 0;
  work.memory = memory(kinds, 0);
  work.a = memory(kinds, 3);
  work.b = memory(kinds, 6);
  if (kinds & kHasNeeds) vertex.needs = get();
  if (dependents > end_ - at_) refuse("ends in the middle of an operation");
  dependents_.push_back({at_, dependents});
  at_ += dependents;
  builder.add(vertex, {}, work);
}

void Reader::edges(Builder& builder) const {
  for (VertexId v = 0; v < dependents_.size(); ++v) {
    for (uint32_t i = 0; i < dependents_[v].count; ++i) {
      const uint32_t word = words_[dependents_[v].at + i];
      const auto found = std::ranges::lower_bound(offsets_, word & ~1u);
      if (found == offsets_.end() || *found != (word & ~1u)) refuse("has a dependency on something that is no operation");
      const auto dependent = static_cast<VertexId>(found - offsets_.begin());
      if (word & 1) builder.after_start(dependent, v);
      else builder.after(dependent, v);
    }
  }
}

Plan Reader::plan(uint32_t ranks) {
  Builder builder;
  builder.scratch_bytes(field64(kScratchLow));
  for (uint64_t skip = words_[kArguments]; skip > 0; --skip) get64();
  std::vector<Piece> pieces;
  for (uint64_t left = words_[kPieces]; left > 0; --left) pieces.push_back(piece());
  (void)builder.pieces(pieces);
  for (uint64_t skip = words_[kIndependent]; skip > 0; --skip) get();
  if (4 * at_ != words_[kOperationsAt]) refuse("has its operations at another place than it says");
  for (uint64_t left = words_[kOperations]; left > 0; --left) operation(builder, ranks);
  edges(builder);
  return builder.finish();
}

}  // namespace

std::vector<std::byte> save(const Compiled& compiled) { return Writer(compiled).run(); }

void seal(std::span<std::byte> block) {
  if (block.size() < 4 * kHeaderWords) return;
  Words words(block.size() / 4);
  std::memcpy(words.data(), block.data(), 4 * words.size());
  words[kBytes] = static_cast<uint32_t>(block.size());
  const uint64_t sum = checksum(words);
  words[kChecksumLow] = static_cast<uint32_t>(sum);
  words[kChecksumHigh] = static_cast<uint32_t>(sum >> 32);
  std::memcpy(block.data(), words.data(), 4 * words.size());
}

std::shared_ptr<const Compiled> load(std::span<const std::byte> block, uint32_t ranks) {
  std::shared_ptr<const Compiled> compiled = compile(Reader(block).plan(ranks), 0);
  const std::vector<std::byte> again = save(*compiled);
  if (!std::ranges::equal(again, block)) refuse("is not what its graph compiles to; it was changed, or made by another version");
  return compiled;
}

}  // namespace portunus::goal
