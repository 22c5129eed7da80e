// simulate.cpp: see simulate.hpp.
//
// Thread: one.
#include "engine/tools/goalc/simulate.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>

namespace portunus::goalc {

namespace {

using goal::Kind;
using goal::VertexId;

// The first that fits, taken off the list.
template <class Fits>
std::optional<uint32_t> take_first(std::deque<uint32_t>& list, Fits&& fits) {
  const auto found = std::ranges::find_if(list, fits);
  if (found == list.end()) return std::nullopt;
  const uint32_t taken = *found;
  list.erase(found);
  return taken;
}

class Simulation {
 public:
  Simulation(std::span<const goal::Plan> ranks, const ptlsim::NetworkModel& model, Costs& costs);
  Simulated run();

 private:
  // A message arrives with its first byte at the target's card, and is there with its last; what was announced is asked for at the
  // source's card, comes to the target's, and is pulled when all of it is there.
  enum class What : uint8_t { ready, ends, arrives, there, asked, comes, pulled };
  struct Event {
    uint64_t at, order;
    What what;
    uint32_t rank;
    uint32_t which;  // operation of the rank; of messages the place in messages_
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Message {
    uint32_t source, target, tag;
    VertexId send;
    uint64_t bytes;
    bool is_announced;  // the data travel when the receive is posted
    VertexId receive;
    ptlsim::Wires::Flight flight;
  };
  enum class State : uint8_t { waits, begun, ended };
  struct Rank {
    std::vector<uint32_t> open;  // prerequisites that have to happen yet, of each operation
    std::vector<State> states;
    std::map<uint8_t, uint64_t> busy_until;  // of each processor
    std::deque<VertexId> posted;             // receives without a message
    std::deque<uint32_t> unexpected;         // messages without a receive
  };

  void plan(uint64_t at, What what, uint32_t rank, uint32_t which) { events_.push({at, ++last_order_, what, rank, which}); }
  const goal::Vertex& vertex(uint32_t rank, VertexId v) const { return plans_[rank].graph[v]; }
  uint64_t occupy(uint32_t rank, VertexId v, uint64_t from, uint64_t ns);
  uint64_t overhead(uint64_t bytes) const;
  void begin(uint64_t now, uint32_t rank, VertexId v);
  void happened(uint64_t now, uint32_t rank, VertexId v, bool is_start);
  void send(uint64_t now, uint32_t rank, VertexId v);
  void post(uint64_t now, uint32_t rank, VertexId v);
  void take(uint64_t now, uint32_t message);
  void match(uint64_t now, VertexId receive, uint32_t message);
  void receive(uint64_t now, uint32_t rank, VertexId v);
  void travel(const Event& event);
  bool fits(VertexId receive, const Message& message) const;
  void refuse_waiting() const;

  std::span<const goal::Plan> plans_;
  Costs& costs_;
  ptlsim::Wires wires_;
  std::vector<Rank> ranks_;
  std::vector<Message> messages_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t last_order_ = 0;
  Simulated result_;
};

Simulation::Simulation(std::span<const goal::Plan> ranks, const ptlsim::NetworkModel& model, Costs& costs)
    : plans_(ranks), costs_(costs), wires_(model, static_cast<uint32_t>(ranks.size()), 0), ranks_(ranks.size()) {
  result_.ranks.resize(ranks.size());
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    const goal::Schedule& graph = ranks[r].graph;
    ranks_[r].open.resize(graph.size());
    ranks_[r].states.resize(graph.size());
    for (VertexId v = 0; v < graph.size(); ++v) {
      const auto before = static_cast<uint32_t>(graph.prerequisites(v).size());
      ranks_[r].open[v] = graph.is_choice(v) ? graph[v].needs : before;
      if (ranks_[r].open[v] == 0) plan(0, What::ready, r, v);
    }
  }
}

// From when on the processor that an operation runs on is its own, for so long: when it is done.
uint64_t Simulation::occupy(uint32_t rank, VertexId v, uint64_t from, uint64_t ns) {
  uint64_t& until = ranks_[rank].busy_until[vertex(rank, v).cpu];
  until = std::max(until, from) + ns;
  return until;
}

uint64_t Simulation::overhead(uint64_t bytes) const {
  return static_cast<uint64_t>(wires_.model.overhead + wires_.model.byte_overhead * static_cast<double>(bytes));
}

void Simulation::begin(uint64_t now, uint32_t rank, VertexId v) {
  const Kind kind = vertex(rank, v).kind;
  if (kind == Kind::send) return send(now, rank, v);
  if (kind == Kind::recv) return post(now, rank, v);
  const auto work = static_cast<uint64_t>(costs_.work_ns(plans_[rank], v));
  const uint64_t end = work ? occupy(rank, v, now, work) : now;
  result_.ranks[rank].computes_ns += static_cast<double>(work);
  happened(end - work, rank, v, true);
  plan(end, What::ends, rank, v);
}

void Simulation::happened(uint64_t now, uint32_t rank, VertexId v, bool is_start) {
  for (const goal::Edge e : plans_[rank].graph.dependents(v)) {
    Rank& of = ranks_[rank];
    if ((e.on_start == 1) != is_start || of.states[e.vertex] != State::waits || --of.open[e.vertex] > 0) continue;
    plan(now, What::ready, rank, e.vertex);
  }
}

void Simulation::send(uint64_t now, uint32_t rank, VertexId v) {
  const goal::Vertex& what = vertex(rank, v);
  const bool is_announced = wires_.model.rendezvous != 0 && what.size > wires_.model.rendezvous;
  const uint64_t takes = overhead(is_announced ? 0 : what.size), leaves = occupy(rank, v, now, takes);
  result_.ranks[rank].overhead_ns += static_cast<double>(takes);
  result_.bytes += what.size;
  ++result_.messages;
  result_.announced += is_announced;
  const auto flight = wires_.leave(leaves, rank, what.peer, is_announced ? 0 : what.size);
  messages_.push_back({rank, what.peer, what.tag, v, what.size, is_announced, goal::kNoVertex, flight});
  plan(flight.arrives, What::arrives, what.peer, static_cast<uint32_t>(messages_.size() - 1));
  happened(leaves - takes, rank, v, true);
  if (!is_announced) plan(leaves, What::ends, rank, v);
}

bool Simulation::fits(VertexId receive, const Message& message) const {
  const goal::Vertex& wanted = vertex(message.target, receive);
  return (wanted.peer == goal::kAnySource || wanted.peer == message.source) && (wanted.tag == goal::kAnyTag || wanted.tag == message.tag);
}

void Simulation::post(uint64_t now, uint32_t rank, VertexId v) {
  happened(now, rank, v, true);
  const auto message = take_first(ranks_[rank].unexpected, [&](uint32_t each) { return fits(v, messages_[each]); });
  if (message) match(now, v, *message);
  else ranks_[rank].posted.push_back(v);
}

void Simulation::take(uint64_t now, uint32_t message) {
  const uint32_t rank = messages_[message].target;
  const auto receive = take_first(ranks_[rank].posted, [&](VertexId each) { return fits(each, messages_[message]); });
  if (receive) match(now, *receive, message);
  else ranks_[rank].unexpected.push_back(message);
}

// Data that were announced are asked for, and come.
void Simulation::match(uint64_t now, VertexId v, uint32_t number) {
  Message& message = messages_[number];
  if (!message.is_announced) return receive(now, message.target, v);
  message.receive = v;
  const uint64_t asks = occupy(message.target, v, now, overhead(0));
  plan(wires_.pass(asks, message.target, message.source), What::asked, message.target, number);
}

void Simulation::receive(uint64_t now, uint32_t rank, VertexId v) {
  const uint64_t takes = overhead(vertex(rank, v).size);
  result_.ranks[rank].overhead_ns += static_cast<double>(takes);
  plan(occupy(rank, v, now, takes), What::ends, rank, v);
}

void Simulation::travel(const Event& event) {
  Message& message = messages_[event.which];
  switch (event.what) {
    case What::arrives: return plan(wires_.land(message.flight, message.target), What::there, message.target, event.which);
    case What::there: return take(event.at, event.which);
    case What::asked:
      message.flight = wires_.leave(event.at, message.source, message.target, message.bytes);
      return plan(message.flight.arrives, What::comes, message.target, event.which);
    case What::comes: return plan(wires_.land(message.flight, message.target), What::pulled, message.target, event.which);
    default: plan(event.at, What::ends, message.source, message.send); return receive(event.at, message.target, message.receive);
  }
}

void Simulation::refuse_waiting() const {
  for (uint32_t r = 0; r < ranks_.size(); ++r)
    for (VertexId v = 0; v < ranks_[r].states.size(); ++v)
      if (ranks_[r].states[v] == State::begun)
        throw std::runtime_error("rank " + std::to_string(r) + ": " + plans_[r].graph.describe(v) + " waits for ever");
}

Simulated Simulation::run() {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    switch (event.what) {
      case What::ready: {
        State& state = ranks_[event.rank].states[event.which];
        if (state != State::waits) break;
        state = State::begun;
        begin(event.at, event.rank, event.which);
        break;
      }
      case What::ends:
        ranks_[event.rank].states[event.which] = State::ended;
        result_.ranks[event.rank].ends_ns = static_cast<double>(event.at);
        happened(event.at, event.rank, event.which, false);
        break;
      default: travel(event);
    }
  }
  refuse_waiting();
  return std::move(result_);
}

}  // namespace

Simulated simulate(std::span<const goal::Plan> ranks, const ptlsim::NetworkModel& network, Costs& costs) {
  return Simulation(ranks, network, costs).run();
}

}  // namespace portunus::goalc
