// The collective calls: arguments are checked and become a script, which is added to the schedule: see goal_collectives.h.
//
// Thread: as goal.h says.
// Invariants: nothing is added to a schedule before all arguments are found good.
#include "engine/goal/goal_collectives.h"

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/goal/calls.hpp"
#include "engine/goal/collectives/collectives.hpp"
#include "engine/goal/library.hpp"

namespace {

using namespace portunus::goal;
using namespace portunus::goal::collectives;

[[noreturn]] void refuse(const std::string& sentence) { throw ScheduleError({}, sentence); }

uint64_t times(uint64_t a, uint64_t b) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (b != 0 && a > kMost / b) refuse("so many elements are more than memory can hold");
  return a * b;
}

bool in_place(const GOAL_Buffer& buffer) { return buffer.memory == GOAL_USERSPACE && buffer.place == UINTPTR_MAX; }

Memory memory(const GOAL_Buffer& buffer, uint64_t bytes) {
  if (buffer.memory == GOAL_VECTOR) refuse("a collective works on buffers in one piece; copy to and from them with GOAL_Local");
  if (in_place(buffer)) refuse("GOAL_InPlace stands for an input only, and only where MPI has it");
  if (bytes > 0 && buffer.memory == GOAL_USERSPACE && buffer.place == 0) refuse("a buffer has no memory");
  return contiguous(buffer.memory, buffer.number, buffer.place);
}

// One collective call: the group as a team, its nodes, and what is chosen.
class Call {
 public:
  Call(const GOAL_Group& group, const Collective* which) : group_(group), choices_(Choices::environment()) {
    const int job = Library::instance().reach();
    if (group.size < 1 || group.rank < 0 || group.rank >= group.size) {
      refuse("rank " + std::to_string(group.rank) + " is not one of a group of " + std::to_string(group.size));
    }
    if (!group.ranks && group.size > job) {
      refuse("a group of " + std::to_string(group.size) + " ranks is more than the " + std::to_string(job) + " that are known");
    }
    for (int i = 0; group.ranks && i < group.size; ++i) {
      if (group.ranks[i] < 0 || group.ranks[i] >= job)
        refuse("the group names rank " + std::to_string(group.ranks[i]) + ", which this process does not know");
    }
    if (group.tag == kAnyTag) refuse("the tag 4294967295 is reserved");
    if (which ? !choices_.force(*which, group.algorithm) : group.algorithm != GOAL_AUTO) refuse("this collective has no such algorithm");
    if (which && group.nodes && group.algorithm == GOAL_AUTO && choices_.nodes_first())
      nodes_.assign(group.nodes, group.nodes + group.size);
    if (!Levels::worthwhile(nodes_)) nodes_.clear();
    if (which && group.algorithm == GOAL_AUTO) {
      const std::lock_guard lock(Library::instance().guard);
      choices_.take_place(Library::instance().places(group.size, group.ranks));
    }
  }

  [[nodiscard]] uint32_t rank() const { return static_cast<uint32_t>(group_.rank); }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(group_.size); }
  [[nodiscard]] Team team() const { return {rank(), size()}; }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  [[nodiscard]] uint32_t tag() const { return group_.tag; }
  [[nodiscard]] std::span<const int> ranks() const {
    return group_.ranks ? std::span(group_.ranks, static_cast<size_t>(group_.size)) : std::span<const int>();
  }
  [[nodiscard]] bool nodes_first() const { return !nodes_.empty(); }
  [[nodiscard]] Levels levels(uint32_t root = 0) const { return {rank(), nodes_, root}; }

  [[nodiscard]] uint32_t root(int root) const {
    if (root < 0 || root >= group_.size)
      refuse("the root " + std::to_string(root) + " is not one of a group of " + std::to_string(group_.size));
    return static_cast<uint32_t>(root);
  }
  // `from` may be in place; the data is `at` bytes into `to` then.
  [[nodiscard]] static Memory input(const GOAL_Buffer& from, uint64_t bytes, const Memory& to, uint64_t at = 0) {
    return in_place(from) ? to + at : memory(from, bytes);
  }
  [[nodiscard]] static Element element(GOAL_Type type, GOAL_Local_op op) {
    if (static_cast<unsigned>(type) > GOAL_LONG_DOUBLE_LOC) refuse("there is no such type");
    if (static_cast<unsigned>(op) > GOAL_XOR || op == GOAL_SUB || op == GOAL_DIV)
      refuse("ranks are combined with ADD, MULT, MAX, MIN, AND, OR or XOR");
    const Element element{static_cast<ptlx_local_op_t>(op), type_of(type)};
    if (!known(element.op, element.type))
      refuse("the type does not have this operation: bits are those of integers, and complex numbers have no order");
    return element;
  }
  [[nodiscard]] std::vector<Piece> pieces(const GOAL_Buffer& base, const size_t* sizes, const ptrdiff_t* displacements) const {
    if (!sizes || !displacements) refuse("the sizes or the displacements are NULL");
    uint64_t most = 0;
    for (uint32_t i = 0; i < size(); ++i) most = std::max<uint64_t>(most, times(sizes[i], 1));
    const Memory start = memory(base, most);
    std::vector<Piece> all;
    for (uint32_t i = 0; i < size(); ++i) all.push_back({start + static_cast<uint64_t>(displacements[i]), sizes[i]});
    return all;
  }

 private:
  const GOAL_Group& group_;
  Choices choices_;
  std::vector<uint32_t> nodes_;
};

// Everything of the script comes between two operations that do nothing.
void enclose(Builder& builder, const Script& script, GOAL_Span& span) {
  const VertexId end = builder.plan().graph.size();
  span.begin = builder.join();
  span.end = builder.join();
  builder.after(span.end, span.begin);
  for (VertexId v = script.first(); v < end; ++v) {
    if (!script.waits(v)) builder.after(v, span.begin);
    if (!script.is_waited_for(v)) builder.after(span.end, v);
  }
}

// prepare(call) checks the arguments and returns what adds the steps to a script.
template <class Prepare>
int add_collective(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Span* span, const Collective* which, Prepare&& prepare) {
  if (!schedule || !group) return fail(GOAL_ERR_ARG, "the place of the schedule or the group is NULL");
  const bool alone = *schedule == nullptr;
  if (alone && span) return fail(GOAL_ERR_ARG, "a schedule of one collective has no span");
  if (!alone) {
    if (const int code = must_be_open(*schedule); code != GOAL_SUCCESS) return code;
  } else if (Library::instance().users() == 0) {
    return fail(GOAL_ERR_STATE, "GOAL is not initialised; call GOAL_Init first");
  }
  int code = guarded([&] {
    const Call call(*group, which);
    const auto write = prepare(call);
    if (alone) {
      if (const int created = GOAL_Create(schedule); created != GOAL_SUCCESS) return created;
    }
    (*schedule)->closed = true;  // if there is no memory for all of it
    (*schedule)->scratch_divided = true;
    Script script((*schedule)->builder, call.tag(), call.ranks());
    write(script);
    (*schedule)->collectives.emplace_back(script.first(), (*schedule)->builder.plan().graph.size());
    if (span) enclose((*schedule)->builder, script, *span);
    (*schedule)->closed = false;
    return int{GOAL_SUCCESS};
  });
  if (!alone || !*schedule) return code;
  if (code == GOAL_SUCCESS) code = GOAL_Compile(*schedule);
  if (code != GOAL_SUCCESS) {
    const std::string sentence = GOAL_Explain();
    GOAL_Free(schedule);
    return fail(code, sentence);
  }
  return code;
}

template <class Prepare>
int add_collective(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Span* span, Collective which, Prepare&& prepare) {
  return add_collective(schedule, group, span, &which, std::forward<Prepare>(prepare));
}

constexpr const Collective* kNoChoice = nullptr;

using Prefix = void (*)(Script&, const Team&, const Reduction&);

int add_prefix(Prefix prefix, GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t count,
               GOAL_Type type, GOAL_Local_op op, GOAL_Span* span) {
  return add_collective(schedule, group, span, kNoChoice, [=](const Call& call) {
    const Element element = Call::element(type, op);
    const uint64_t bytes = times(count, element.width());
    const bool unused = prefix == exscan && call.rank() == 0;
    const Memory target = unused ? Memory{} : memory(to, bytes);
    const Memory source = unused && in_place(from) ? memory(to, bytes) : Call::input(from, bytes, target);
    return [=](Script& script) { prefix(script, call.team(), {source, target, count, element}); };
  });
}

int add_reduce_scatter(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, const size_t* counts,
                       size_t count, GOAL_Type type, GOAL_Local_op op, GOAL_Span* span) {
  return add_collective(schedule, group, span, Collective::reduce_scatter, [=](const Call& call) {
    const Element element = Call::element(type, op);
    std::vector<uint64_t> shares;
    uint64_t total = 0;
    for (uint32_t i = 0; i < call.size(); ++i) {
      shares.push_back(counts ? counts[i] : count);
      if (__builtin_add_overflow(total, shares.back(), &total)) refuse("so many elements are more than memory can hold");
    }
    const uint64_t bytes = times(total, element.width());
    const Memory target = memory(to, in_place(from) ? bytes : shares[call.rank()] * element.width());
    const Memory source = Call::input(from, bytes, target);
    return [=, &call](Script& script) {
      reduce_scatter(script, call.team(), {source, target, 0, element}, Cuts::of(shares), call.choices());
    };
  });
}

}  // namespace

extern "C" {

int GOAL_World(GOAL_Group* group) try {
  if (!group) return fail(GOAL_ERR_ARG, "the group is NULL");
  Library& library = Library::instance();
  if (library.users() == 0) return fail(GOAL_ERR_STATE, "GOAL is not initialised; call GOAL_Init first");
  const std::lock_guard lock(library.guard);
  return guarded([&] {
    *group = {library.job().rank, library.job().size, nullptr, library.nodes(), 0, GOAL_AUTO};
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

int GOAL_Barrier(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::barrier, [](const Call& call) {
    return [&call](Script& script) {
      if (call.nodes_first()) barrier(script, call.levels(), call.choices());
      else barrier(script, call.team(), call.choices());
    };
  });
}
GOAL_BARRIER

int GOAL_Bcast(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer buffer, size_t bytes, int root, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::bcast, [=](const Call& call) {
    const uint32_t from = call.root(root);
    const Memory place = memory(buffer, times(bytes, 1));
    return [=, &call](Script& script) {
      if (call.nodes_first()) bcast(script, call.levels(from), place, bytes, call.choices());
      else bcast(script, call.team(), from, place, bytes, call.choices());
    };
  });
}
GOAL_BARRIER

int GOAL_Reduce(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t count, GOAL_Type type,
                GOAL_Local_op op, int root, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::reduce, [=](const Call& call) {
    const uint32_t where = call.root(root);
    const Element element = Call::element(type, op);
    const uint64_t bytes = times(count, element.width());
    const bool gets = call.rank() == where;
    const Memory target = gets ? memory(to, bytes) : Memory{};
    const Memory source = gets ? Call::input(from, bytes, target) : memory(from, bytes);
    return [=, &call](Script& script) {
      const Reduction reduction{source, target, count, element};
      if (call.nodes_first()) reduce(script, call.levels(where), reduction, call.choices());
      else reduce(script, call.team(), where, reduction, call.choices());
    };
  });
}
GOAL_BARRIER

int GOAL_Allreduce(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t count, GOAL_Type type,
                   GOAL_Local_op op, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::allreduce, [=](const Call& call) {
    const Element element = Call::element(type, op);
    const uint64_t bytes = times(count, element.width());
    const Memory target = memory(to, bytes), source = Call::input(from, bytes, target);
    return [=, &call](Script& script) {
      const Reduction reduction{source, target, count, element};
      if (call.nodes_first()) allreduce(script, call.levels(), reduction, call.choices());
      else allreduce(script, call.team(), reduction, call.choices());
    };
  });
}
GOAL_BARRIER

int GOAL_Reduce_scatter(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, const size_t* counts,
                        GOAL_Type type, GOAL_Local_op op, GOAL_Span* span) try {
  if (!counts) return fail(GOAL_ERR_ARG, "the counts are NULL");
  return add_reduce_scatter(schedule, group, from, to, counts, 0, type, op, span);
}
GOAL_BARRIER

int GOAL_Reduce_scatter_block(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t count,
                              GOAL_Type type, GOAL_Local_op op, GOAL_Span* span) try {
  return add_reduce_scatter(schedule, group, from, to, nullptr, count, type, op, span);
}
GOAL_BARRIER

int GOAL_Scan(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t count, GOAL_Type type,
              GOAL_Local_op op, GOAL_Span* span) try {
  return add_prefix(scan, schedule, group, from, to, count, type, op, span);
}
GOAL_BARRIER

int GOAL_Exscan(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t count, GOAL_Type type,
                GOAL_Local_op op, GOAL_Span* span) try {
  return add_prefix(exscan, schedule, group, from, to, count, type, op, span);
}
GOAL_BARRIER

int GOAL_Gather(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes, int root,
                GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::gather, [=](const Call& call) {
    const uint32_t where = call.root(root);
    const uint64_t all = times(bytes, call.size());
    const bool gets = call.rank() == where;
    const Memory target = gets ? memory(to, all) : Memory{};
    const Memory source = gets ? Call::input(from, bytes, target, where * bytes) : memory(from, bytes);
    return [=, &call](Script& script) { gather(script, call.team(), where, source, target, bytes, call.choices()); };
  });
}
GOAL_BARRIER

int GOAL_Scatter(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes, int root,
                 GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::scatter, [=](const Call& call) {
    const uint32_t where = call.root(root);
    const uint64_t all = times(bytes, call.size());
    const bool gives = call.rank() == where;
    const Memory source = gives ? memory(from, all) : Memory{};
    const Memory target = gives ? Call::input(to, bytes, source, where * bytes) : memory(to, bytes);
    return [=, &call](Script& script) { scatter(script, call.team(), where, source, target, bytes, call.choices()); };
  });
}
GOAL_BARRIER

int GOAL_Gatherv(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, size_t bytes, GOAL_Buffer to, const size_t* sizes,
                 const ptrdiff_t* displacements, int root, GOAL_Span* span) try {
  return add_collective(schedule, group, span, kNoChoice, [=](const Call& call) {
    const uint32_t where = call.root(root);
    const bool gets = call.rank() == where;
    const std::vector<Piece> pieces = gets ? call.pieces(to, sizes, displacements) : std::vector<Piece>();
    const Piece mine = gets && in_place(from) ? pieces[where] : Piece{memory(from, times(bytes, 1)), bytes};
    return [=](Script& script) { gatherv(script, call.team(), where, mine, pieces); };
  });
}
GOAL_BARRIER

int GOAL_Scatterv(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, const size_t* sizes, const ptrdiff_t* displacements,
                  GOAL_Buffer to, size_t bytes, int root, GOAL_Span* span) try {
  return add_collective(schedule, group, span, kNoChoice, [=](const Call& call) {
    const uint32_t where = call.root(root);
    const bool gives = call.rank() == where;
    const std::vector<Piece> pieces = gives ? call.pieces(from, sizes, displacements) : std::vector<Piece>();
    const Piece mine = gives && in_place(to) ? pieces[where] : Piece{memory(to, times(bytes, 1)), bytes};
    return [=](Script& script) { scatterv(script, call.team(), where, mine, pieces); };
  });
}
GOAL_BARRIER

int GOAL_Allgather(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::allgather, [=](const Call& call) {
    const Memory target = memory(to, times(bytes, call.size())), source = Call::input(from, bytes, target, call.rank() * bytes);
    return [=, &call](Script& script) {
      if (call.nodes_first()) allgather(script, call.levels(), source, target, bytes, call.choices());
      else allgather(script, call.team(), source, target, bytes, call.choices());
    };
  });
}
GOAL_BARRIER

int GOAL_Allgatherv(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, const size_t* sizes,
                    const ptrdiff_t* displacements, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::allgatherv, [=](const Call& call) {
    const std::vector<Piece> pieces = call.pieces(to, sizes, displacements);
    const Memory source = Call::input(from, pieces[call.rank()].bytes, pieces[call.rank()].at);
    return [=, &call](Script& script) { allgatherv(script, call.team(), source, pieces, call.choices()); };
  });
}
GOAL_BARRIER

int GOAL_Alltoall(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes, GOAL_Span* span) try {
  return add_collective(schedule, group, span, Collective::alltoall, [=](const Call& call) {
    const uint64_t all = times(bytes, call.size());
    const Memory target = memory(to, all), source = Call::input(from, all, target);
    return [=, &call](Script& script) { alltoall(script, call.team(), source, target, bytes, call.choices()); };
  });
}
GOAL_BARRIER

int GOAL_Alltoallv(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer from, const size_t* out_sizes,
                   const ptrdiff_t* out_displacements, GOAL_Buffer to, const size_t* in_sizes, const ptrdiff_t* in_displacements,
                   GOAL_Span* span) try {
  return add_collective(schedule, group, span, kNoChoice, [=](const Call& call) {
    const std::vector<Piece> in = call.pieces(to, in_sizes, in_displacements);
    const std::vector<Piece> out = in_place(from) ? in : call.pieces(from, out_sizes, out_displacements);
    if (out[call.rank()].bytes != in[call.rank()].bytes) refuse("what a rank sends to itself and what it receives have different sizes");
    return [=](Script& script) { alltoallv(script, call.team(), out, in); };
  });
}
GOAL_BARRIER

int GOAL_Exchange(GOAL_Schedule* schedule, const GOAL_Group* group, const GOAL_Edge* out, int num_out, const GOAL_Edge* in, int num_in,
                  GOAL_Span* span) try {
  return add_collective(schedule, group, span, kNoChoice, [=](const Call& call) {
    const auto links = [&](const GOAL_Edge* edges, int count) {
      if (count < 0 || (count > 0 && !edges)) refuse("the list of edges is NULL, or shorter than empty");
      std::vector<Link> all;
      for (int i = 0; i < count; ++i) {
        if (edges[i].peer < 0 || edges[i].peer >= group->size)
          refuse("an edge leads to rank " + std::to_string(edges[i].peer) + ", which the group does not have");
        all.push_back(
            {static_cast<uint32_t>(edges[i].peer), edges[i].tag, {memory(edges[i].buffer, times(edges[i].bytes, 1)), edges[i].bytes}});
      }
      return all;
    };
    const std::vector<Link> leaving = links(out, num_out), coming = links(in, num_in);
    return [=](Script& script) { exchange(script, call.team(), leaving, coming); };
  });
}
GOAL_BARRIER

}  // extern "C"
