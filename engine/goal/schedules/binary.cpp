// Reading and writing the simulators' binary form: see binary.hpp.
//
// Thread: any; pure.
#include "engine/goal/schedules/binary.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

namespace portunus::goal {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kCookie = 4223, kSpoilt = 2342;
constexpr size_t kBase = 8;  // what offsets are counted from
constexpr size_t kRanges = 14;
constexpr size_t kNodeBytes = 39;

struct __attribute__((packed)) Node {
  uint32_t dependencies;
  uint8_t type;
  uint32_t peer;
  uint64_t size;
  uint32_t tag;
  uint8_t cpu, nic;
  uint32_t dependents, first, start_dependents, first_start;
};
static_assert(sizeof(Node) == kNodeBytes);

template <class T>
T load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void store(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

[[noreturn]] void refuse_file(const std::string& problem) { throw ScheduleError({}, "the binary GOAL file " + problem); }

class RankReader {
 public:
  RankReader(std::string_view bytes, uint32_t rank) : bytes_(bytes), rank_(rank) {}
  Schedule run();

 private:
  [[noreturn]] void fail(const std::string& problem) const { refuse_file("is wrong in rank " + std::to_string(rank_) + ": " + problem); }
  [[nodiscard]] Node node(uint32_t i) const { return load<Node>(bytes_, nodes_at_ + kNodeBytes * i); }
  void vertex(const Node& node, uint32_t i, Schedule& schedule) const;
  void edges(const Node& node, uint32_t i, Schedule& schedule, std::vector<uint32_t>& waits_for) const;

  std::string_view bytes_;
  uint32_t rank_;
  uint32_t count_ = 0;
  size_t nodes_at_ = 0, edges_at_ = 0;
};

void RankReader::vertex(const Node& node, uint32_t i, Schedule& schedule) const {
  if (node.type < 1 || node.type > 3) fail("operation " + std::to_string(i) + " is neither send nor recv nor calc");
  Vertex v;
  v.kind = static_cast<Kind>(node.type - 1);
  v.size = node.size;
  v.peer = v.kind == Kind::calc ? 0 : node.peer;
  v.tag = v.kind == Kind::calc ? 0 : node.tag;
  v.cpu = node.cpu;
  v.nic = node.nic;
  schedule.add(v, {});
}

void RankReader::edges(const Node& node, uint32_t i, Schedule& schedule, std::vector<uint32_t>& waits_for) const {
  const size_t total = (bytes_.size() - edges_at_) / 4;
  const auto list = [&](uint32_t first, uint32_t count, After after) {
    if (first > total || count > total - first) fail("operation " + std::to_string(i) + " has dependents beyond the end of the rank");
    for (uint32_t k = 0; k < count; ++k) {
      const auto dependent = load<uint32_t>(bytes_, edges_at_ + 4 * (size_t{first} + k));
      if (dependent >= count_)
        fail("operation " + std::to_string(i) + " has the dependent " + std::to_string(dependent) + ", which is none");
      schedule.add_dependency(dependent, i, after);
      ++waits_for[dependent];
    }
  };
  list(node.dependents == 0 ? 0 : node.first, node.dependents, After::finish);
  list(node.start_dependents == 0 ? 0 : node.first_start, node.start_dependents, After::start);
}

Schedule RankReader::run() {
  if (bytes_.size() < 8) fail("it is too short to say how many operations it has");
  count_ = load<uint32_t>(bytes_, 0);
  const uint64_t roots = load<uint32_t>(bytes_, 4);
  const uint64_t needed = 8 + 4 * roots + kNodeBytes * uint64_t{count_};
  if (needed > bytes_.size() || (bytes_.size() - needed) % 4 != 0) {
    fail(std::to_string(count_) + " operations and " + std::to_string(roots) + " roots do not fit into its " +
         std::to_string(bytes_.size()) + " bytes");
  }
  nodes_at_ = 8 + 4 * roots;
  edges_at_ = needed;
  Schedule schedule;
  std::vector<uint32_t> waits_for(count_);
  uint64_t edge_count = 0;
  for (uint32_t i = 0; i < count_; ++i) vertex(node(i), i, schedule);
  for (uint32_t i = 0; i < count_; ++i) {
    edge_count += uint64_t{node(i).dependents} + node(i).start_dependents;
    if (edge_count > (bytes_.size() - edges_at_) / 4) fail("its operations have more dependents than it holds");
    edges(node(i), i, schedule, waits_for);
  }
  uint32_t free = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (waits_for[i] != node(i).dependencies) {
      fail("operation " + std::to_string(i) + " says that it waits for " + std::to_string(node(i).dependencies) + " others, but " +
           std::to_string(waits_for[i]) + " name it");
    }
    if (waits_for[i] != 0) continue;
    if (free >= roots || load<uint32_t>(bytes_, 8 + 4 * size_t{free}) != i)
      fail("operation " + std::to_string(i) + " is missing in the list of roots");
    ++free;
  }
  if (free != roots) fail("its list of roots is too long");
  try {
    schedule.finish();
  } catch (const ScheduleError& error) {
    fail(error.message);
  }
  return schedule;
}

void write_rank(std::string& bytes, const Schedule& schedule) {
  std::vector<uint32_t> roots, edges;
  for (VertexId v = 0; v < schedule.size(); ++v) {
    if (schedule.prerequisites(v).empty()) roots.push_back(v);
  }
  store(bytes, schedule.size());
  store(bytes, static_cast<uint32_t>(roots.size()));
  for (const uint32_t root : roots) store(bytes, root);
  for (VertexId v = 0; v < schedule.size(); ++v) {
    const Vertex& vertex = schedule[v];
    const bool message = vertex.is_message();
    Node node{};
    node.dependencies = static_cast<uint32_t>(schedule.prerequisites(v).size());
    node.type = static_cast<uint8_t>(message ? static_cast<unsigned>(vertex.kind) + 1 : 3);
    node.peer = message ? vertex.peer : 0;
    node.size = vertex.kind == Kind::local ? 0 : message ? std::max<uint64_t>(vertex.size, 1) : vertex.size;
    node.tag = message ? vertex.tag : 0;
    node.cpu = vertex.cpu;
    node.nic = vertex.nic;
    node.first = static_cast<uint32_t>(edges.size());
    for (const Edge e : schedule.dependents(v)) {
      if (!e.on_start) edges.push_back(e.vertex);
    }
    node.dependents = static_cast<uint32_t>(edges.size()) - node.first;
    node.first_start = static_cast<uint32_t>(edges.size());
    for (const Edge e : schedule.dependents(v)) {
      if (e.on_start) edges.push_back(e.vertex);
    }
    node.start_dependents = static_cast<uint32_t>(edges.size()) - node.first_start;
    store(bytes, node);
  }
  bytes.append(reinterpret_cast<const char*>(edges.data()), 4 * edges.size());
}

}  // namespace

bool is_binary_goal(std::string_view bytes) {
  return bytes.size() >= 8 && (load<uint64_t>(bytes, 0) == kCookie || load<uint64_t>(bytes, 0) == kSpoilt);
}

GoalFile read_binary_goal(std::string_view bytes) {
  if (!is_binary_goal(bytes)) refuse_file("does not begin as one does; give a file that txt2bin or goalc wrote");
  if (load<uint64_t>(bytes, 0) == kSpoilt) refuse_file("was used up by a simulation with --save-mem; make it again");
  if (bytes.size() < kRanges) refuse_file("ends in its header");
  GoalFile file;
  file.num_ranks = load<uint32_t>(bytes, kBase);
  if (file.num_ranks == 0) refuse_file("has no ranks");
  if ((bytes.size() - kRanges) / 16 < file.num_ranks)
    refuse_file("ends before the places of its " + std::to_string(file.num_ranks) + " ranks");
  for (uint32_t r = 0; r < file.num_ranks; ++r) {
    const auto begin = load<uint64_t>(bytes, kRanges + 16 * size_t{r}), end = load<uint64_t>(bytes, kRanges + 16 * size_t{r} + 8);
    if (begin > end || end > bytes.size() - kBase) refuse_file("says that rank " + std::to_string(r) + " lies beyond its end; it was cut");
    file.ranks.push_back(RankReader(bytes.substr(kBase + begin, end - begin), r).run());
  }
  return file;
}

GoalFile read_goal(std::string_view bytes) { return is_binary_goal(bytes) ? read_binary_goal(bytes) : parse_goal(bytes); }

std::string write_binary_goal(std::span<const Schedule> ranks) {
  std::string bytes;
  uint8_t cpu = 0, nic = 0;
  for (const Schedule& schedule : ranks) {
    for (const Vertex& vertex : schedule.vertices()) {
      cpu = std::max(cpu, vertex.cpu);
      nic = std::max(nic, vertex.nic);
    }
  }
  store(bytes, kCookie);
  store(bytes, static_cast<uint32_t>(ranks.size()));
  store(bytes, cpu);
  store(bytes, nic);
  bytes.resize(bytes.size() + 16 * ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    const uint64_t begin = bytes.size() - kBase;
    write_rank(bytes, ranks[r]);
    const uint64_t range[2] = {begin, bytes.size() - kBase};
    std::memcpy(bytes.data() + kRanges + 16 * r, range, sizeof range);
  }
  return bytes;
}

}  // namespace portunus::goal
