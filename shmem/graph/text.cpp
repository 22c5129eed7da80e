// text.cpp: see text.hpp.
#include "shmem/graph/text.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shmem/collectives.hpp"
#include "shmem/graph/build.hpp"
#include "shmem/graph/sentence.hpp"
#include "shmem/include/shmemx.h"

namespace portunus::shmem::graph {
namespace {

constexpr uint32_t kAccessTag = 2, kAnswerTag = 3;  // beside that of collectives

// An operation of a PE, as all others hear of it. Those of one node follow one another.
struct Told {
  uint32_t node;
  int pe;  // where it goes, in the world
  Place at;
  size_t bytes, answer;  // that go there, and come back
  ptl_op_t op;           // PTL_SUM: the value is added; PTL_SWAP: it is stored
  bool is_known;         // the value is
  int64_t value;
};
static_assert(std::is_trivially_copyable_v<Told>);

int64_t value_of(const Access::Message& message) {
  int64_t value = 0;
  if (message.bytes == sizeof(int32_t)) {
    int32_t small;
    memcpy(&small, message.from, sizeof small);
    return small;
  }
  memcpy(&value, message.from, std::min(message.bytes, sizeof value));
  return value;
}

Told told_of(uint32_t node, int pe, const Access::Message& message) {
  using Verb = Access::Message::Verb;
  const bool gets = message.verb == Verb::get, fetches = message.verb == Verb::fetch && message.op != PTL_SWAP;
  const bool is_atomic = message.verb == Verb::update || message.verb == Verb::fetch;
  Told told{};
  told.node = node;
  told.pe = pe;
  told.at = message.at;
  told.bytes = gets ? 0 : message.bytes;
  told.answer = gets || fetches ? message.bytes : 0;
  told.op = is_atomic && message.op == PTL_SUM ? PTL_SUM : PTL_SWAP;
  told.is_known = is_atomic && (message.op == PTL_SUM || message.op == PTL_SWAP);
  if (told.is_known) told.value = value_of(message);
  return told;
}

// A word that is waited for, as the run changes it.
struct WaitedWord {
  struct Update {
    size_t turn;  // of its PE, for this word
    int from;
    GOAL_Op receive;
    Told what;
  };
  std::vector<Update> updates{};  // of others
  size_t next = 0;
  int64_t value = 0;

  void apply(const Told& what) { value = what.op == PTL_SUM ? value + what.value : what.value; }
};

bool holds(const Await& await, int64_t value) {
  const auto wanted = static_cast<int64_t>(await.value);
  switch (await.comparison) {
    case PTLX_EQUAL: return value == wanted;
    case PTLX_NOT_EQUAL: return value != wanted;
    case PTLX_GREATER: return value > wanted;
    case PTLX_GREATER_EQUAL: return value >= wanted;
    case PTLX_LESS: return value < wanted;
    default: return value <= wanted;
  }
}

class TextBuilder final : public ScheduleBuilder {
 public:
  TextBuilder(const Plan& plan, GOAL_Schedule schedule, const std::vector<std::vector<Told>>& told)
      : ScheduleBuilder(plan, schedule), told_(told) {}

 private:
  // Operations of others are received here, whenever they come, and answered.
  int prepare() override {
    int code = GOAL_SUCCESS;
    for (size_t from = 0; from < told_.size() && code == GOAL_SUCCESS; ++from) {
      const int pe = group().ranks[from];
      if (pe != self()) code = receive_all(pe, told_[from]);
    }
    for (auto& [at, word] : words_)
      std::ranges::sort(word.updates, {}, [](const WaitedWord::Update& one) { return std::pair(one.turn, one.from); });
    return code;
  }

  int receive_all(int from, const std::vector<Told>& all) {
    std::map<const void*, size_t> turns;
    for (size_t i = 0, end; i < all.size(); i = end) {
      size_t bytes = 0, answer = 0;
      for (end = i; end < all.size() && all[end].node == all[i].node; ++end) bytes += all[end].bytes, answer += all[end].answer;
      if (all[i].pe != self()) continue;
      GOAL_Op received, answered;
      int code = GOAL_Recv(schedule(), room(bytes), bytes, from, kAccessTag, &received);
      if (code == GOAL_SUCCESS) code = GOAL_Send(schedule(), room(answer), answer, from, kAnswerTag, &answered);
      if (code == GOAL_SUCCESS) code = GOAL_Requires(schedule(), answered, received);
      if (code != GOAL_SUCCESS) return code;
      for (; i < end; ++i) note_update(from, received, all[i], turns);
    }
    return GOAL_SUCCESS;
  }

  void note_update(int from, GOAL_Op received, const Told& what, std::map<const void*, size_t>& turns) {
    const auto begin = runtime.segment[what.at.segment].start + what.at.offset;
    for (const Node& node : nodes()) {
      if (!node.await || what.bytes == 0) continue;
      const auto word = reinterpret_cast<uintptr_t>(node.await->word);
      if (word < begin || word >= begin + what.bytes) continue;
      WaitedWord& waited = words_[node.await->word];
      const bool is_noted = !waited.updates.empty() && waited.updates.back().receive == received && waited.updates.back().from == from;
      if (!is_noted) waited.updates.push_back({turns[node.await->word]++, from, received, what});
    }
  }

  int add_access(const Node& node, GOAL_Span& span) override {
    const Access& access = *node.access;
    size_t bytes = 0, answer = 0;
    for (const Access::Message& one : access.messages) {
      const Told told = told_of(0, access.pe, one);
      bytes += told.bytes, answer += told.answer;
      if (access.pe == self()) note_own(told);
    }
    if (access.pe == self()) return add_join(span);
    GOAL_Op answered;
    int code = GOAL_Send(schedule(), room(bytes), bytes, access.pe, kAccessTag, &span.begin);
    if (code == GOAL_SUCCESS) code = GOAL_Recv(schedule(), room(answer), answer, access.pe, kAnswerTag, &answered);
    GOAL_Span end;
    if (code == GOAL_SUCCESS) code = add_join(end);
    span.end = end.begin;
    if (code == GOAL_SUCCESS) code = GOAL_Requires(schedule(), span.end, span.begin);
    return code == GOAL_SUCCESS ? GOAL_Requires(schedule(), span.end, answered) : code;
  }

  void note_own(const Told& told) {
    const auto word = words_.find(reinterpret_cast<const void*>(runtime.segment[told.at.segment].start + told.at.offset));
    if (word != words_.end() && told.is_known) word->second.apply(told);
  }

  int add_await(const Node& node, GOAL_Span& span) override {
    int code = add_join(span);
    WaitedWord& word = words_[node.await->word];
    for (bool satisfied = holds(*node.await, word.value); !satisfied && word.next < word.updates.size() && code == GOAL_SUCCESS;) {
      const WaitedWord::Update& update = word.updates[word.next++];
      code = GOAL_Requires(schedule(), span.begin, update.receive);
      if (update.what.is_known) word.apply(update.what);
      else word.value = static_cast<int64_t>(node.await->value);
      satisfied = !update.what.is_known || holds(*node.await, word.value);
    }
    return code;
  }

  int add_gate(const Node&, GOAL_Span& span) override { return add_join(span); }

  // Memory of its own for each message: addresses that nobody looks at, as the schedule is not run.
  GOAL_Buffer room(size_t bytes) {
    constexpr size_t kLine = 64;
    const uintptr_t at = next_room_;
    next_room_ += (bytes + kLine - 1) / kLine * kLine;
    return {GOAL_USERSPACE, 0, bytes > 0 ? at : 0};
  }

  const std::vector<std::vector<Told>>& told_;
  std::map<const void*, WaitedWord> words_;
  uintptr_t next_room_ = uintptr_t{1} << 46;
};

// The operations of each PE, in the order of the team.
std::vector<std::vector<Told>> tell_all(Team& team, const Recording& recording) {
  std::vector<Told> mine;
  for (NodeId id = 0; id < recording.nodes().size(); ++id)
    if (const Access* const access = recording.nodes()[id].access.get())
      for (const Access::Message& one : access->messages) mine.push_back(told_of(id, access->pe, one));
  const auto n = static_cast<size_t>(team.size());
  const size_t count = mine.size();
  std::vector<size_t> counts(n);
  team.collectives->fcollect(counts.data(), &count, sizeof count);
  size_t total = 0;
  for (const size_t one : counts) total += one;
  std::vector<Told> flat(total + 1);
  mine.resize(count + 1);
  team.collectives->collect(flat.data(), mine.data(), count * sizeof(Told));
  std::vector<std::vector<Told>> all(n);
  auto at = flat.cbegin();
  for (size_t i = 0; i < n; ++i) {
    all[i].assign(at, at + static_cast<ptrdiff_t>(counts[i]));
    at += static_cast<ptrdiff_t>(counts[i]);
  }
  return all;
}

// The part of this PE; empty: the text has no words for it.
std::string text_of(const GOAL_Group& group, const Recording& recording, const std::vector<std::vector<Told>>& told) {
  std::map<int, uint64_t> signals;
  std::map<int, GraphGate> gates;
  const Plan plan{group, recording, signals, gates};
  GOAL_Schedule schedule = nullptr;
  std::string written;
  size_t bytes = 0;
  int code = GOAL_Create(&schedule);
  if (code == GOAL_SUCCESS) {
    TextBuilder builder(plan, schedule, told);
    code = builder.build();
    if (code == GOAL_SUCCESS) code = GOAL_Text(schedule, &group, nullptr, &bytes);
    if (code == GOAL_SUCCESS) {
      written.resize(bytes);
      code = GOAL_Text(schedule, &group, written.data(), &bytes);
    }
  }
  if (schedule) GOAL_Free(&schedule);
  return code == GOAL_SUCCESS ? written : std::string();
}

}  // namespace

int write_text(const char* function, Team& team, const GOAL_Group& group, const Recording& recording, const char* path) {
  std::string mine = text_of(group, recording, tell_all(team, recording));
  const size_t bytes = mine.size();
  std::vector<size_t> sizes(static_cast<size_t>(team.size()));
  team.collectives->fcollect(sizes.data(), &bytes, sizeof bytes);
  size_t total = 0;
  for (const size_t one : sizes) {
    if (one == 0)
      return refused(SHMEMX_ERR_UNSUPPORTED, function,
                     "the text has no words for a type of a reduction, other than integers, float and double");
    total += one;
  }
  std::string whole(total, '\0');
  team.collectives->collect(whole.data(), mine.data(), bytes);
  uint8_t is_written = 1;
  if (team.my_pe == 0) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << "num_ranks " << team.size() << "\n" << whole;
    file.close();
    is_written = file ? 1 : 0;
  }
  team.collectives->share(&is_written, sizeof is_written, 0);
  return is_written ? 0 : refused(SHMEMX_ERR_ARG, function, "the first PE of the team cannot write the file");
}

}  // namespace portunus::shmem::graph
