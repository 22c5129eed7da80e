// node_program.cpp: see node_program.hpp.
#include "engine/goal/node/node_program.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <tuple>

#include "engine/client/objects.hpp"
#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/library.hpp"
#include "engine/goal/schedules/compile.hpp"
#include "engine/goal/trace.hpp"
#include "engine/host/clock.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {
namespace {

constexpr size_t kLine = 64;

size_t lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// A list of pieces of which contiguous memory is one.
struct Walk {
  explicit Walk(const ptlx_memory_t& memory, size_t bytes) : one{memory.start, bytes} {
    next = memory.pieces ? static_cast<const ptl_iovec_t*>(memory.start) : &one;
  }
  ptl_iovec_t one;
  const ptl_iovec_t* next;
  size_t used = 0;  // of *next

  [[nodiscard]] size_t here() {
    while (next->iov_len == used) ++next, used = 0;
    return next->iov_len - used;
  }
  [[nodiscard]] std::byte* at() const { return static_cast<std::byte*>(next->iov_base) + used; }
};

void copy(const ptlx_memory_t& to, const ptlx_memory_t& from, size_t bytes) {
  if (bytes == 0) return;
  if (!to.pieces && !from.pieces) [[likely]] {
    copy_run(to.start, from.start, bytes);
    return;
  }
  Walk target(to, bytes), source(from, bytes);
  while (bytes > 0) {
    const size_t some = std::min({bytes, target.here(), source.here()});
    copy_run(target.at(), source.at(), some);
    target.used += some, source.used += some, bytes -= some;
  }
}

}  // namespace

// The programs of this process that run: a list that the lock of the engine guards.
class NodePrograms {
 public:
  struct Item {
    enum class What : uint8_t { begin, give_up, open };
    NodeProgram& program;
    What what;
    VertexId receive = kNoVertex;
  };
  static NodePrograms& instance() {
    static auto& all = *new NodePrograms;  // for threads that outlive main
    return all;
  }
  int run(Item item) { return PtlxStepperRun(&stepper_, &item); }

 private:
  int step(Item* item) {
    int done = 0;
    if (item != nullptr) {
      if (item->what == Item::What::begin) return begin(item->program);
      if (item->what == Item::What::give_up) return give_up(item->program);
      item->program.pass(item->receive);
    }
    for (NodeProgram** at = &first_; *at != nullptr;) {
      NodeProgram& program = **at;
      const int more = program.advance();
      done = std::max(done, more);
      if (more > 1) *at = program.following_;
      else at = &program.following_;
    }
    note();
    return done;
  }
  int begin(NodeProgram& program) {
    program.begin();
    if (const int done = program.advance(); done > 1) return done;
    program.following_ = first_;
    first_ = &program;
    note();
    return 1;
  }
  int give_up(NodeProgram& program) {
    for (NodeProgram** at = &first_; *at != nullptr; at = &(*at)->following_)
      if (*at == &program) {
        *at = program.following_;
        program.fail();
        break;
      }
    note();
    return 1;
  }
  [[nodiscard]] bool is_ready() const {
    for (NodeProgram* program = first_; program != nullptr; program = program->following_)
      if (program->is_ready()) return true;
    return false;
  }
  void note() { pending_.store(first_ != nullptr, std::memory_order_relaxed); }

  NodeProgram* first_ = nullptr;
  std::atomic<uint32_t> pending_{0};
  const ptlx_stepper_t stepper_{[](void* all, void* item) { return static_cast<NodePrograms*>(all)->step(static_cast<Item*>(item)); },
                                [](void* all) { return static_cast<int>(static_cast<NodePrograms*>(all)->is_ready()); }, this,
                                reinterpret_cast<const uint32_t*>(&pending_)};
};

NodeProgram::NodeProgram(const GOAL_Group& group, GOAL_Domain domain) : group_(group), domain_(domain) {
  if (group.ranks) ranks_.assign(group.ranks, group.ranks + group.size);
  group_.ranks = group.ranks ? ranks_.data() : nullptr;
  group_.nodes = nullptr;
}

NodeProgram::~NodeProgram() {
  cancel();
  for (const ptlx_watch_t& watch : watches_) PtlxNodeUnwatch(&watch);
}

uint32_t NodeProgram::member_of(uint32_t rank) const {
  if (group_.ranks == nullptr) return rank < size() ? rank : kNoVertex;
  for (uint32_t i = 0; i < size(); ++i)
    if (group_.ranks[i] == static_cast<int>(rank)) return i;
  return kNoVertex;
}

// Whether each operation is one that is done at once, and there are not too many.
bool NodeProgram::can_run(const Plan& plan) const {
  if (size() < 2 || size() > kMostRanks || plan.graph.size() > kMostOperations || domain_ == nullptr || Trace::of_process()) return false;
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    const Vertex& vertex = plan.graph[v];
    const Work& work = plan.works[v];
    if (plan.graph.is_choice(v)) return false;
    switch (vertex.kind) {
      case Kind::send:
      case Kind::recv:
        if (vertex.size > kMostBytes || vertex.tag == kAnyTag || member_of(vertex.peer) == kNoVertex) return false;
        break;
      case Kind::calc:
        if (vertex.size > 0) return false;
        break;
      case Kind::local:
        if (plan.bytes(v) > kMostComputed || work.op == PTLX_DIV) return false;
        if (work.op < PTLX_COPY && (work.memory.space == Space::pieces || work.a.space == Space::pieces || work.b.space == Space::pieces))
          return false;
        break;
      case Kind::parked: return false;
    }
  }
  return true;
}

bool NodeProgram::find_watches() {
  const ptl_handle_ni_t ni = Library::instance().port().ni();
  for (size_t i = 0; i < size(); ++i) {
    const ptl_process_t member = client::process(group_.ranks ? group_.ranks[i] : static_cast<int>(i));
    ptlx_watch_t watch;
    if (PtlxNodeWatch(ni, member, &watch) != PTL_OK) return false;
    watches_.push_back(watch);
    if (i != rank() && PtlxTransport(ni, member, nullptr) != PTLX_TRANSPORT_NODE) return false;
  }
  return true;
}

// Bytes of this rank's memory; `mine`: its messages in the order of the vertices.
size_t NodeProgram::lay_out(const Plan& plan, std::vector<Entry>& mine) const {
  const std::vector<uint32_t> index = running_indices(plan.graph);
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    const Vertex& vertex = plan.graph[v];
    if (vertex.kind == Kind::send)
      mine.push_back({member_of(vertex.peer), vertex.tag, index[v], static_cast<uint32_t>(vertex.size), 0, 0, 0});
  }
  size_t bytes = kLine + lines(mine.size() * sizeof(Entry));
  for (uint32_t receiver = 0; receiver < size(); ++receiver) {
    size_t block = 0;
    for (Entry& entry : mine) {
      if (entry.receiver != receiver) continue;
      entry.at = bytes + block;
      block += (sizeof(Place) + entry.bytes + sizeof(Place) - 1) / sizeof(Place) * sizeof(Place);
    }
    for (Entry& entry : mine)
      if (entry.receiver == receiver) entry.stride = lines(block);
    bytes += depth_ * lines(block);
  }
  return bytes;
}

int NodeProgram::make(const Plan* plan, std::span<const Binding> bindings, unsigned context) {
  static constexpr AbortPredicate kPatient{};
  static constexpr uint32_t kTag = 32768;
  const size_t least = std::max<size_t>(8, std::bit_ceil(size() + 1));
  bool may = plan != nullptr && can_run(*plan) && find_watches();
  std::vector<Entry> mine;
  depth_ = 1;
  const size_t wanted = may ? lay_out(*plan, mine) : 0;
  may = may && least * wanted <= kMostMemory;
  GOAL_Group group = group_;
  group.tag = kTag;
  Agreement agreement(group, context, kPatient);
  if (const int code = agreement.tell({.well = may, .memory = static_cast<int64_t>(wanted)}); code != GOAL_SUCCESS) return code;
  if (!agreement.all_well()) return GOAL_SUCCESS;
  size_t each = 0;
  for (const Record& one : agreement.all) each = std::max(each, static_cast<size_t>(one.memory));
  for (depth_ = least; depth_ < kMostAhead && 2 * depth_ * each <= kFewMemory;) depth_ *= 2;
  each *= depth_;
  mine.clear();
  [[maybe_unused]] const size_t used = lay_out(*plan, mine);
  assert(used <= each);
  if (const int code = memory_.make(agreement, group, each, true); code != GOAL_SUCCESS || !memory_.made()) return code;
  std::ranges::copy(mine, directory(rank()));
  head(rank()).messages = mine.size();
  if (const int code = agreement.tell({.well = true}); code != GOAL_SUCCESS) return code;
  compile(*plan, bindings);
  const bool found = find_places(*plan, mine);
  const int code = agreement.tell({.well = found});
  const Entry* entry = directory(rank());
  for (Operation& operation : operations_)
    if (operation.what == What::send) operation.urgent = entry++->waited_for != 0;
  made_ = code == GOAL_SUCCESS && agreement.all_well();
  return code;
}

void NodeProgram::compile(const Plan& plan, std::span<const Binding> bindings) {
  const Schedule& graph = plan.graph;
  operations_.resize(graph.size());
  for (VertexId v = 0; v < graph.size(); ++v) {
    const Binding& binding = bindings[v];
    Operation& operation = operations_[v];
    operation.needs = operation.left = static_cast<uint32_t>(graph.prerequisites(v).size());
    if (operation.needs == 0) roots_.push_back(v);
    operation.started = static_cast<uint32_t>(successors_.size());
    for (const Edge edge : graph.dependents(v))
      if (edge.on_start) successors_.push_back(edge.vertex);
    operation.ended = static_cast<uint32_t>(successors_.size());
    for (const Edge edge : graph.dependents(v))
      if (!edge.on_start) successors_.push_back(edge.vertex);
    operation.end = static_cast<uint32_t>(successors_.size());
    if (graph[v].kind == Kind::calc) continue;
    operation.to = {binding.memory, binding.pieces};
    operation.bytes = static_cast<size_t>(plan.bytes(v));
    if (graph[v].is_message()) {
      operation.what = graph[v].kind == Kind::send ? What::send : What::receive;
      operation.peer = member_of(graph[v].peer);
      if (graph[v].kind == Kind::recv && operation.peer != rank()) senders_ |= 1u << operation.peer;
      continue;
    }
    operation.what = binding.op == PTLX_TIMESTAMP ? What::stamp : binding.op == PTLX_COPY ? What::copy : What::compute;
    operation.from = {const_cast<void*>(binding.a), binding.a_pieces};
    operation.b = binding.b;
    operation.op = binding.op;
    operation.type = binding.type;
    operation.count = static_cast<size_t>(binding.count);
  }
  ready_.resize(graph.size());
  receiving_.reserve(graph.size());
  held_up_.reserve(graph.size());
  seen_.resize(size());
}

// False: a receive has no message, and is no gate.
bool NodeProgram::find_places(const Plan& plan, const std::vector<Entry>& mine) {
  std::map<std::tuple<size_t, uint32_t, uint32_t>, Entry*> coming;  // by sender, tag, index
  for (size_t i = 0; i < size(); ++i)
    for (Entry& entry : std::span(directory(i), head(i).messages))
      if (entry.receiver == rank()) coming[{i, entry.tag, entry.index}] = &entry;
  const std::vector<uint32_t> index = running_indices(plan.graph);
  size_t sent = 0;
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    Operation& operation = operations_[v];
    if (operation.what != What::send && operation.what != What::receive) continue;
    const bool sends = operation.what == What::send;
    const auto found = sends ? coming.end() : coming.find({operation.peer, plan.graph[v].tag, index[v]});
    if (!sends && found == coming.end()) {
      if (operation.peer != rank() || operation.bytes > 0) return false;
      operation.places = reinterpret_cast<std::byte*>(&gates_.emplace_back());
      continue;
    }
    const Entry& entry = sends ? mine[sent++] : *found->second;
    if (!sends && operation.end > operation.ended) found->second->waited_for = 1;
    operation.places = memory_.part(sends ? rank() : operation.peer) + entry.at;
    operation.stride = static_cast<size_t>(entry.stride);
    operation.differs = operation.bytes != entry.bytes;
    operation.bytes = std::min(operation.bytes, static_cast<size_t>(entry.bytes));
  }
  return true;
}

int NodeProgram::start() {
  assert(made_ && !running_);
  if (failed_.load(std::memory_order_relaxed) || is_lost()) return PTL_FAIL;
  const int code = NodePrograms::instance().run({*this, NodePrograms::Item::What::begin});
  running_ = code == PTL_OK;
  return code;
}

int NodeProgram::wait() {
  const auto ended = [](void* self) { return static_cast<int>(static_cast<NodeProgram*>(self)->has_ended()); };
  if (!has_ended())
    if (const int code = PtlxWait(ended, this, 0, PTL_TIME_FOREVER); code != PTL_OK) return code;
  return end();
}

int NodeProgram::test(bool& ended) {
  ended = has_ended() || (PtlxProgress() > 0 && has_ended());
  return ended ? end() : int{PTL_OK};
}

int NodeProgram::end() {
  assert(running_ && has_ended());
  running_ = false;
  return failed_.load(std::memory_order_relaxed) ? PTL_FAIL : PTL_OK;
}

void NodeProgram::cancel() {
  if (!running_) return;
  running_ = false;
  NodePrograms::instance().run({*this, NodePrograms::Item::What::give_up});
  failed_.store(true, std::memory_order_relaxed);
}

int NodeProgram::open(VertexId receive) { return NodePrograms::instance().run({*this, NodePrograms::Item::What::open, receive}); }

// ---- under the lock of the engine

void NodeProgram::pass(VertexId receive) { place(operations_[receive]).run.store(runs_, std::memory_order_release); }

void NodeProgram::begin() {
  ++runs_;
  assert(receiving_.empty() && called_ == 0);
  std::ranges::copy(roots_, ready_.begin());
  next_ = 0;
  undone_ = operations_.size();
  filled_ = roots_.size();
}

// Does those of a list that can be done, and takes them off it. True: some were.
template <class Do>
bool NodeProgram::do_waiting(std::vector<uint32_t>& list, Do&& done) {
  const size_t before = list.size();
  for (size_t i = 0; i < list.size();) {
    Operation& operation = operations_[list[i]];
    if (!done(operation)) {
      ++i;
      continue;
    }
    list[i] = list.back();
    list.pop_back();
    finish(operation);
  }
  return list.size() < before;
}

int NodeProgram::advance() {
  bool any = false;
  for (bool more = true; more;) {
    more = next_ < filled_;
    do_ready();
    call_peers();
    more = do_waiting(receiving_, [this](Operation& operation) { return is_there(operation) && (take(operation), true); }) || more;
    if (!held_up_.empty()) [[unlikely]]
      more = do_waiting(held_up_, [this](Operation& operation) { return has_room(operation.peer) && (send(operation), true); }) || more;
    any = any || more;
  }
  if (undone_ == 0) {
    end_run();
    return 2;
  }
  if (any) return 1;
  constexpr uint32_t kLooksApart = 16;  // at what costs more than to look for messages
  if (++idle_ % kLooksApart != 0 || !is_lost()) return 0;
  fail();
  return 2;
}

bool NodeProgram::is_ready() {
  return std::ranges::any_of(receiving_, [this](uint32_t v) { return is_there(operations_[v]); }) ||
         std::ranges::any_of(held_up_, [this](uint32_t v) { return has_room(operations_[v].peer); }) || is_lost();
}

void NodeProgram::count_down(uint32_t first, uint32_t end) {
  for (; first < end; ++first) {
    const uint32_t v = successors_[first];
    Operation& operation = operations_[v];
    if (--operation.left > 0) continue;
    operation.left = operation.needs;
    ready_[filled_++] = v;
  }
}

void NodeProgram::do_ready() {
  while (next_ < filled_) {
    const uint32_t v = ready_[next_++];
    Operation& operation = operations_[v];
    count_down(operation.started, operation.ended);
    switch (operation.what) {
      case What::nothing: break;
      case What::send:
        if (!has_room(operation.peer)) [[unlikely]] {
          held_up_.push_back(v);
          continue;
        }
        send(operation);
        break;
      case What::receive:
        if (!is_there(operation)) {
          receiving_.push_back(v);
          continue;
        }
        take(operation);
        break;
      case What::copy: copy(operation.to, operation.from, operation.bytes); break;
      case What::compute:
        apply_local(operation.op, operation.type, operation.to.start, operation.from.start, operation.b, operation.count);
        break;
      case What::stamp: std::atomic_ref(*static_cast<uint64_t*>(operation.to.start)).store(now_ns(), std::memory_order_release); break;
    }
    finish(operation);
  }
}

void NodeProgram::finish(Operation& operation) {
  --undone_;
  count_down(operation.ended, operation.end);
}

// One that has none says so, and looks again: either it sees the end of the run there, or who ends it sees that it is waited for.
bool NodeProgram::has_room(size_t receiver) {
  if (runs_ <= seen_[receiver] + depth_ || receiver == rank()) [[likely]]
    return true;
  const auto look = [&] {
    seen_[receiver] = head(receiver).ended.load(std::memory_order_seq_cst);
    return runs_ <= seen_[receiver] + depth_;
  };
  if (look()) return true;
  head(rank()).held_up.fetch_or(uint64_t{1} << receiver, std::memory_order_seq_cst);
  return look();
}

void NodeProgram::end_run() {
  head(rank()).ended.store(runs_, std::memory_order_seq_cst);
  const uint64_t bit = uint64_t{1} << rank();
  for (uint32_t left = senders_; left != 0; left &= left - 1) {
    const auto sender = static_cast<size_t>(std::countr_zero(left));
    if ((head(sender).held_up.load(std::memory_order_seq_cst) & bit) == 0) continue;
    head(sender).held_up.fetch_and(~bit, std::memory_order_seq_cst);
    called_ |= 1u << sender;
    urgently_ |= 1u << sender;
  }
  call_peers();
  tell_end();
}

void NodeProgram::tell_end() {
  ended_.store(runs_, std::memory_order_release);
  if (told_ != nullptr) told_->store(1, std::memory_order_release);
}

void NodeProgram::send(Operation& operation) {
  Place& to = place(operation);
  copy({to.data(), 0}, operation.to, operation.bytes);
  to.run.store(runs_, std::memory_order_release);
  called_ |= 1u << operation.peer;
  if (operation.urgent) urgently_ |= 1u << operation.peer;
}

void NodeProgram::take(Operation& operation) {
  Place& from = place(operation);
  copy(operation.to, {from.data(), 0}, operation.bytes);
  if (operation.differs) std::atomic_ref(mismatches_).fetch_add(1, std::memory_order_relaxed);  // ordered by the end
}

void NodeProgram::call_peers() {
  for (; called_ != 0; called_ &= called_ - 1) {
    const int rank = std::countr_zero(called_);
    PtlxNodeCall(&watches_[static_cast<size_t>(rank)], static_cast<int>(urgently_ >> rank & 1));
  }
  urgently_ = 0;
}

bool NodeProgram::is_lost() const {
  for (size_t i = 0; i < size(); ++i)
    if (head(i).failed.load(std::memory_order_relaxed) != 0) return true;
  return GOAL_Domain_failed(domain_) != 0;
}

void NodeProgram::fail() {
  head(rank()).failed.store(1, std::memory_order_release);
  called_ = urgently_ = (1u << size()) - 1;
  call_peers();
  receiving_.clear();
  held_up_.clear();
  failed_.store(true, std::memory_order_relaxed);
  tell_end();
}

}  // namespace portunus::goal::node
