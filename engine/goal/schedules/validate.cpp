// Matching of messages and freedom from deadlock over all ranks: see validate.hpp.
//
// Thread: any; pure.
// Invariants: operations of all ranks are numbered through, rank by rank, so that sorting by number is
// sorting by program order.
#include "engine/goal/schedules/validate.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "engine/goal/schedules/cycle.hpp"

namespace portunus::goal {

namespace {

// One end of a message. Sends and receives of one message class agree in the first three.
struct End {
  uint32_t target, source, tag, number;
  auto operator<=>(const End&) const = default;
  [[nodiscard]] bool same_class(const End& other) const { return source == other.source && tag == other.tag; }
};
using Ends = std::span<const End>;

// The messages that receives of any source or any tag of one rank can take, and how much room is left for them.
struct WildReceives {
  std::map<uint32_t, uint64_t> by_tag, by_source;  // receives: any source, any tag
  std::map<uint32_t, uint64_t> left_by_tag, left_by_source;
  uint64_t both = 0, total = 0, left = 0;

  [[nodiscard]] uint64_t covering(const End& e) const {
    const auto count = [](const auto& map, uint32_t key) {
      const auto found = map.find(key);
      return found == map.end() ? 0 : found->second;
    };
    return total == 0 ? 0 : both + count(by_tag, e.tag) + count(by_source, e.source);
  }
};

class Validator {
 public:
  Validator(std::span<const Schedule> ranks, uint64_t eager_limit);
  void run();

 private:
  [[nodiscard]] uint32_t rank_of(uint32_t number) const;
  [[nodiscard]] const Vertex& vertex(uint32_t number) const;
  [[nodiscard]] std::string describe(uint32_t number) const;
  [[noreturn]] void fail(uint32_t number, const std::string& problem) const;

  void collect_ends();
  void match_target(Ends sends, Ends recvs, Ends wild);
  void match_class(Ends sends, Ends recvs, WildReceives& wildcards);
  void check_wildcards(Ends sends, Ends wild, const WildReceives& wildcards) const;
  void check_progress() const;
  template <class Visit>
  void successors(uint32_t event, Visit&& visit) const;

  std::span<const Schedule> ranks_;
  uint64_t eager_limit_;
  std::vector<uint32_t> first_;  // number of each rank's first operation, and the end
  std::vector<End> sends_, recvs_, wild_;
  std::vector<uint32_t> partner_;  // the other end of each message, as far as it is certain
};

Validator::Validator(std::span<const Schedule> ranks, uint64_t eager_limit) : ranks_(ranks), eager_limit_(eager_limit), first_(1, 0) {
  uint64_t count = 0;
  for (const Schedule& schedule : ranks_) {
    count += schedule.size();
    if (count > kMaxVertices) {
      throw ScheduleError({},
                          "all ranks together have more than 2147483647 operations, too many to check at once; "
                          "use a smaller schedule");
    }
    first_.push_back(static_cast<uint32_t>(count));
  }
  partner_.assign(count, kNoVertex);
}

uint32_t Validator::rank_of(uint32_t number) const {
  return static_cast<uint32_t>(std::upper_bound(first_.begin(), first_.end(), number) - first_.begin() - 1);
}

const Vertex& Validator::vertex(uint32_t number) const {
  const uint32_t rank = rank_of(number);
  return ranks_[rank][number - first_[rank]];
}

std::string Validator::describe(uint32_t number) const {
  const uint32_t rank = rank_of(number);
  return ranks_[rank].describe(number - first_[rank]) + " of rank " + std::to_string(rank);
}

void Validator::fail(uint32_t number, const std::string& problem) const {
  throw ScheduleError(vertex(number).where, "the " + describe(number) + " " + problem);
}

void Validator::run() {
  collect_ends();
  Ends sends = sends_, recvs = recvs_, wild = wild_;
  const auto cut = [](Ends& ends, uint32_t target) {
    size_t n = 0;
    while (n < ends.size() && ends[n].target == target) ++n;
    const Ends mine = ends.first(n);
    ends = ends.subspan(n);
    return mine;
  };
  for (uint32_t target = 0; target < ranks_.size(); ++target) {
    const Ends my_sends = cut(sends, target), my_recvs = cut(recvs, target), my_wild = cut(wild, target);
    match_target(my_sends, my_recvs, my_wild);
  }
  check_progress();
}

void Validator::collect_ends() {
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    for (VertexId v = 0; v < ranks_[rank].size(); ++v) {
      const Vertex& vertex = ranks_[rank][v];
      const uint32_t number = first_[rank] + v;
      if (!vertex.is_message()) continue;
      const bool any_source = vertex.kind == Kind::recv && vertex.peer == kAnySource;
      if (!any_source && vertex.peer >= ranks_.size()) {
        fail(number, "names the peer " + std::to_string(vertex.peer) + ", but ranks go from 0 to " + std::to_string(ranks_.size() - 1) +
                         "; correct the peer or raise num_ranks");
      }
      if (vertex.kind == Kind::send) {
        sends_.push_back({vertex.peer, rank, vertex.tag, number});
      } else {
        (any_source || vertex.tag == kAnyTag ? wild_ : recvs_).push_back({rank, vertex.peer, vertex.tag, number});
      }
    }
  }
  for (std::vector<End>* ends : {&sends_, &recvs_, &wild_}) std::sort(ends->begin(), ends->end());
}

// Matches what arrives at one rank, class by class.
void Validator::match_target(Ends sends, Ends recvs, Ends wild) {
  WildReceives wildcards;
  wildcards.total = wild.size();
  for (const End& w : wild) {
    if (w.source == kAnySource && w.tag == kAnyTag) ++wildcards.both;
    else if (w.source == kAnySource) ++wildcards.by_tag[w.tag];
    else ++wildcards.by_source[w.source];
  }
  const auto cut = [](Ends& ends, const End& key) {
    size_t n = 0;
    while (n < ends.size() && ends[n].same_class(key)) ++n;
    const Ends mine = ends.first(n);
    ends = ends.subspan(n);
    return mine;
  };
  const Ends all_sends = sends;
  while (!sends.empty() || !recvs.empty()) {
    const bool send_first =
        recvs.empty() || (!sends.empty() && std::pair(sends[0].source, sends[0].tag) < std::pair(recvs[0].source, recvs[0].tag));
    const End key = send_first ? sends[0] : recvs[0];
    const Ends class_sends = cut(sends, key), class_recvs = cut(recvs, key);
    match_class(class_sends, class_recvs, wildcards);
  }
  check_wildcards(all_sends, wild, wildcards);
}

// Matches the messages of one source and tag in program order; leaves surplus sends to the wildcards.
void Validator::match_class(Ends sends, Ends recvs, WildReceives& wildcards) {
  const auto counts = [&] {
    const End& e = sends.empty() ? recvs[0] : sends[0];
    return "with tag " + std::to_string(e.tag) + " rank " + std::to_string(e.source) + " sends " + std::to_string(sends.size()) +
           " and rank " + std::to_string(e.target) + " receives " + std::to_string(recvs.size());
  };
  if (recvs.size() > sends.size()) {
    fail(recvs[sends.size()].number, "has no matching send: " + counts() + "; add the send or remove this receive");
  }
  const uint64_t surplus = sends.size() - recvs.size();
  const uint64_t covering = sends.empty() ? 0 : wildcards.covering(sends[0]);
  if (surplus > covering) {
    fail(sends[recvs.size() + covering].number, "has no matching receive: " + counts() + "; add the receive or remove this send");
  }
  if (wildcards.total != 0 && surplus != 0) {
    wildcards.left += surplus;
    wildcards.left_by_tag[sends[0].tag] += surplus;
    wildcards.left_by_source[sends[0].source] += surplus;
  }
  if (covering != 0) return;  // a wildcard may take any of these: which pairs form is not certain
  for (size_t i = 0; i < sends.size(); ++i) {
    const uint64_t size = vertex(sends[i].number).size;
    if (vertex(recvs[i].number).size != size) {
      fail(recvs[i].number, "expects " + std::to_string(vertex(recvs[i].number).size) + " bytes, but the message it gets, the " +
                                describe(sends[i].number) + ", has " + std::to_string(size) +
                                "; make the sizes equal or give the messages different tags");
    }
    partner_[sends[i].number] = recvs[i].number;
    partner_[recvs[i].number] = sends[i].number;
  }
}

// Every wildcard needs a message that the exact receives leave over, and every such message a wildcard.
void Validator::check_wildcards(Ends sends, Ends wild, const WildReceives& wildcards) const {
  const auto left = [](const auto& map, uint32_t key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
  };
  for (const End& w : wild) {
    const bool starved = (w.source == kAnySource && w.tag != kAnyTag && wildcards.by_tag.at(w.tag) > left(wildcards.left_by_tag, w.tag)) ||
                         (w.source != kAnySource && wildcards.by_source.at(w.source) > left(wildcards.left_by_source, w.source)) ||
                         wildcards.total > wildcards.left;
    if (starved) {
      fail(w.number, "has no message left: the receives of rank " + std::to_string(w.target) +
                         " are more than the sends that can match them; add the send or remove this receive");
    }
  }
  if (wildcards.left > wildcards.total) {
    fail(sends.back().number, "or another one to rank " + std::to_string(sends.back().target) +
                                  " has no matching receive: " + std::to_string(wildcards.left) + " messages are left for its " +
                                  std::to_string(wildcards.total) + " receives of any source or tag; add a receive or remove a send");
  }
}

// Event 2n is the start of operation n, 2n+1 its end. Visits what the event allows to happen.
template <class Visit>
void Validator::successors(uint32_t event, Visit&& visit) const {
  const uint32_t number = event / 2;
  const bool done = event % 2 != 0;
  const uint32_t rank = rank_of(number);
  for (const Edge e : ranks_[rank].dependents(number - first_[rank])) {
    // A vertex that needs only some of its prerequisites may start without this one.
    if (done != (e.on_start != 0) && !ranks_[rank].is_choice(e.vertex)) visit(2 * (first_[rank] + e.vertex));
  }
  if (done) return;
  visit(event + 1);
  const Vertex& v = ranks_[rank][number - first_[rank]];
  const bool releases = v.kind == Kind::send || (v.kind == Kind::recv && v.size > eager_limit_);
  if (releases && partner_[number] != kNoVertex) visit(2 * partner_[number] + 1);
}

void Validator::check_progress() const {
  const std::vector<uint32_t> cycle = find_cycle(2 * first_.back(), [&](uint32_t event, auto&& visit) { successors(event, visit); });
  if (cycle.empty()) return;
  std::vector<uint32_t> operations;  // the circle again, each operation once, from the one that waits
  for (auto event = cycle.rbegin(); event != cycle.rend(); ++event) {
    if (operations.empty() || operations.back() != *event / 2) operations.push_back(*event / 2);
  }
  if (operations.size() > 1 && operations.front() == operations.back()) operations.pop_back();
  std::string problem = "can never end: it waits for the ";
  for (size_t i = 1; i < std::min(operations.size(), kCycleNames); ++i) {
    problem += describe(operations[i]) + ", that one for the ";
  }
  if (operations.size() > kCycleNames) {
    problem += "next " + std::to_string(operations.size() - kCycleNames) + " in turn, and these for the ";
  }
  fail(operations[0], problem + "first; remove a dependency or reorder the messages");
}

}  // namespace

void validate(std::span<const Schedule> ranks, uint64_t eager_limit) { Validator(ranks, eager_limit).run(); }

}  // namespace portunus::goal
