// capture.cpp: see capture.hpp and capture_state.hpp.
#include "shmem/graph/capture.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "shmem/graph/capture_state.hpp"
#include "shmem/graph/exposure.hpp"
#include "shmem/graph/sentence.hpp"
#include "shmem/signal.hpp"

namespace portunus::shmem::graph {
namespace {

using Verb = Access::Message::Verb;

thread_local std::unique_ptr<Capture> capture_of_thread;

constexpr char kTooManyPieces[] = "it has more than 4096 pieces";

const std::byte* bytes_at(const void* start, size_t offset) { return static_cast<const std::byte*>(start) + offset; }
std::byte* bytes_at(void* start, size_t offset) { return static_cast<std::byte*>(start) + offset; }
Place operator+(Place place, size_t bytes) { return {place.segment, place.offset + bytes}; }

// Messages of one range.
void add_put(std::vector<Access::Message>& messages, Place to, const void* source, size_t size) {
  for (size_t done = 0, part; done < size; done += part) {
    part = std::min(size - done, Exposure::most());
    messages.push_back({Verb::put, to + done, bytes_at(source, done), nullptr, part});
  }
}
void add_get(std::vector<Access::Message>& messages, Place from, void* dest, size_t size) {
  for (size_t done = 0, part; done < size; done += part) {
    part = std::min(size - done, Exposure::most());
    messages.push_back({Verb::get, from + done, nullptr, bytes_at(dest, done), part});
  }
}

// `step` bytes from block to block, here and there.
struct Steps {
  size_t here, there;
};
template <class AddMessage>
void add_blocks(const char* function, const Target& target, const void* here, Steps steps, const Strided& shape, AddMessage&& add) {
  Capture& capture = *current();
  if (!capture.has(function, target)) return;
  if (shape.blocks > kMostPieces) return capture.refuse(function, kTooManyPieces);
  const size_t bytes = shape.block * shape.element;
  std::vector<Access::Message> messages;
  std::vector<GOAL_Piece> touched;
  for (size_t i = 0; i < shape.blocks; ++i) {
    add(messages, i * steps.there, i * steps.here, bytes);
    touched.push_back(piece(bytes_at(here, i * steps.here), bytes));
  }
  capture.access(target, std::move(messages), std::move(touched), true);
}

ptlx_comparison_t comparison_of(const char* function, int cmp) {
  switch (cmp) {
    case SHMEM_CMP_EQ: return PTLX_EQUAL;
    case SHMEM_CMP_NE: return PTLX_NOT_EQUAL;
    case SHMEM_CMP_GT: return PTLX_GREATER;
    case SHMEM_CMP_GE: return PTLX_GREATER_EQUAL;
    case SHMEM_CMP_LT: return PTLX_LESS;
    case SHMEM_CMP_LE: return PTLX_LESS_EQUAL;
    default: misuse("%s: %d is no comparison; use one of SHMEM_CMP_EQ, NE, GT, GE, LT, LE", function, cmp);
  }
}

ptl_datatype_t type_of(const Word& word) {
  constexpr std::array<ptl_datatype_t, 4> kSigned{PTL_INT8_T, PTL_INT16_T, PTL_INT32_T, PTL_INT64_T};
  constexpr std::array<ptl_datatype_t, 4> kUnsigned{PTL_UINT8_T, PTL_UINT16_T, PTL_UINT32_T, PTL_UINT64_T};
  const auto which = static_cast<size_t>(__builtin_ctzll(word.size));
  return word.has_sign ? kSigned[which] : kUnsigned[which];
}

Node copy_node(std::vector<GOAL_Piece> to, std::vector<GOAL_Piece> from, size_t bytes) {
  Node node;
  node.what = What::copy;
  node.memory = std::move(to);
  node.from = std::move(from);
  node.bytes = bytes;
  return node;
}

Node collective_node(const GOAL_Call& call, const CallFacts& facts) {
  Node node;
  node.what = What::collective;
  node.collective = std::make_unique<Collective>(Collective{call, facts});
  return node;
}

std::vector<GOAL_Piece> pieces_of(const Side& side, size_t count, size_t element) {
  std::vector<GOAL_Piece> pieces;
  if (side.stride == 1) return {piece(side.at, count * element)};
  for (size_t i = 0; i < count; ++i) pieces.push_back(piece(bytes_at(side.at, i * static_cast<size_t>(side.stride) * element), element));
  return pieces;
}

}  // namespace

Capture* current() { return capture_of_thread.get(); }
bool is_capturing() { return current() != nullptr; }

void begin_capture(Team& team) {
  capture_of_thread = std::make_unique<Capture>(team);
  calls_of_thread = 0;
}

std::unique_ptr<Capture> end_capture() {
  calls_of_thread = -kCallsBetweenLooks;
  return std::move(capture_of_thread);
}

void Capture::refuse(const char* function, const char* why) {
  const std::string sentence = std::string(function) + " cannot be part of a graph: " + why;
  explain(function, sentence);
  if (refusal.empty()) refusal = sentence;
}

bool Capture::has(const char* function, const Target& target) {
  if (team.members.number_of(target.pe) >= 0) return true;
  refuse(function, ("PE " + std::to_string(target.pe) + " is not in the team that is captured").c_str());
  return false;
}

bool Capture::has(const char* function, const Team& other) {
  const bool same = &other == &team || (other.size() == team.size() && other.members[0] == team.members[0] &&
                                        other.members[other.size() - 1] == team.members[team.size() - 1] && other.my_pe == team.my_pe);
  if (!same) refuse(function, "its team is not the one that is captured");
  return same;
}

NodeId Capture::access(const Target& target, std::vector<Access::Message> messages, std::vector<GOAL_Piece> touched, bool blocks,
                       NodeId before) {
  const std::pair key{static_cast<const Channel*>(&target.channel), target.pe};
  Node node;
  node.what = What::access;
  for (const GOAL_Piece& one : touched) node.bytes += one.bytes;
  node.memory = std::move(touched);
  node.access = std::make_unique<Access>(Access{target.pe, std::move(messages)});
  if (const auto fenced = fenced_.find(key); fenced != fenced_.end()) node.after = fenced->second;
  if (before != kNothing) node.after.push_back(before);
  const NodeId id = recording.add(std::move(node));
  if (blocks) {
    recording.wait_for({&id, 1});
  } else {
    pending_.push_back({key.first, key.second, id});
    issued_[key].push_back(id);
  }
  return id;
}

NodeId Capture::block(Node node) {
  const NodeId id = recording.add(std::move(node));
  recording.wait_for({&id, 1});
  return id;
}

// Operations at a PE come behind all that were issued to it before, those behind the ones before the last fence.
void Capture::fence(const Channel& channel) {
  for (auto& [key, ends] : issued_)
    if (key.first == &channel && !ends.empty()) fenced_[key] = std::exchange(ends, {});
}

void Capture::quiet(const Channel& channel) {
  std::vector<NodeId> ends;
  for (const Pending& one : pending_)
    if (one.channel == &channel) ends.push_back(one.end);
  std::erase_if(pending_, [&](const Pending& one) { return one.channel == &channel; });
  for (auto* by_pe : {&fenced_, &issued_}) std::erase_if(*by_pe, [&](const auto& entry) { return entry.first.first == &channel; });
  recording.wait_for(ends);
}

void refuse(const char* function, const char* why) { current()->refuse(function, why); }

bool refuse_if_capturing(const char* function, const char* why) {
  refuse(function, why);
  return true;
}

void put(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe, bool blocks) {
  const Target target = target_of(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, dest, size, pe);
  if (!current()->has(function, target)) return;
  std::vector<Access::Message> messages;
  add_put(messages, place, source, size);
  current()->access(target, std::move(messages), {piece(source, size)}, blocks);
}

void get(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe, bool blocks) {
  const Target target = target_of(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, source, size, pe);
  if (!current()->has(function, target)) return;
  std::vector<Access::Message> messages;
  add_get(messages, place, dest, size);
  current()->access(target, std::move(messages), {piece(dest, size)}, blocks);
}

void put_value(const char* function, const Target& target, Place to, const void* value, size_t size) {
  Capture& capture = *current();
  if (!capture.has(function, target)) return;
  const std::byte* const copy = kept(capture.recording, value, size);
  capture.access(target, {{Verb::put, to, copy, nullptr, size}}, {piece(copy, size)}, true);
}

void put_strided(const char* function, const Target& target, Place to, const void* source, const Strided& shape) {
  const Steps steps{static_cast<size_t>(shape.sst) * shape.element, static_cast<size_t>(shape.dst) * shape.element};
  add_blocks(function, target, source, steps, shape, [&](auto& messages, size_t there, size_t here, size_t bytes) {
    add_put(messages, to + there, bytes_at(source, here), bytes);
  });
}

void get_strided(const char* function, const Target& target, Place from, void* dest, const Strided& shape) {
  const Steps steps{static_cast<size_t>(shape.dst) * shape.element, static_cast<size_t>(shape.sst) * shape.element};
  add_blocks(function, target, dest, steps, shape, [&](auto& messages, size_t there, size_t here, size_t bytes) {
    add_get(messages, from + there, bytes_at(dest, here), bytes);
  });
}

namespace {

Place word_at(const char* function, const void* word, size_t size, int pe) {
  if (reinterpret_cast<uintptr_t>(word) % size != 0) misuse_alignment(function, word, size, pe);
  return locate(function, word, size, pe);
}

// The message of an atomic, on memory that lives as long as the graph.
Access::Message atomic_message(Recording& recording, Place at, size_t size, const Atomic& operation) {
  const bool sets = operation.op == PTL_SWAP && operation.fetch == nullptr;
  void* const old = sets ? recording.memory(size) : operation.fetch;
  return {old ? Verb::fetch : Verb::update,
          at,
          kept(recording, operation.value, size),
          old,
          size,
          operation.op,
          operation.expected ? kept(recording, operation.expected, size) : nullptr};
}

}  // namespace

// A short payload and its signal go to the PE side by side, and the signal does not overtake it; a long one has to have arrived.
void put_signal(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, uint64_t* word, uint64_t signal,
                int op, int pe, bool blocks) {
  const Target target = target_of(function, context, pe);
  check_signal_op(function, op);
  const Place told_at = word_at(function, word, sizeof *word, pe);
  const Place to = size != 0 ? locate(function, dest, size, pe) : Place{};
  Capture& capture = *current();
  if (!capture.has(function, target)) return;
  std::vector<Access::Message> messages;
  add_put(messages, to, source, size);
  const Access::Message told = atomic_message(capture.recording, told_at, sizeof signal,
                                              {static_cast<ptl_op_t>(op == SHMEM_SIGNAL_ADD ? PTL_SUM : PTL_SWAP), &signal});
  if (size <= Exposure::in_order()) {
    messages.push_back(told);
    capture.access(target, std::move(messages), {piece(source, size)}, blocks);
  } else {
    const NodeId arrived = capture.access(target, std::move(messages), {piece(source, size)}, false);
    capture.access(target, {told}, {}, blocks, arrived);
  }
}

void atomic(const char* function, shmem_ctx_t context, const void* word, int pe, size_t size, const Atomic& operation) {
  const Target target = target_of(function, context, pe);
  const Place at = word_at(function, word, size, pe);
  if (operation.answers_at_once) return refuse(function);
  Capture& capture = *current();
  if (!capture.has(function, target)) return;
  const Access::Message message = atomic_message(capture.recording, at, size, operation);
  std::vector<GOAL_Piece> touched;
  if (operation.fetch) touched.push_back(piece(operation.fetch, size));
  capture.access(target, {message}, std::move(touched), operation.fetch == nullptr);
}

void await(const char* function, const Word& word, int cmp, uint64_t value) {
  Node node;
  node.what = What::await;
  node.memory = {piece(word.at, word.size)};
  node.bytes = word.size;
  const Place place = locate(function, word.at, word.size, runtime.my_pe);
  node.await = std::make_unique<Await>(Await{word.at, watch_bits(place, word.size), type_of(word), comparison_of(function, cmp), value});
  current()->block(std::move(node));
}

void fence(const Channel& channel) { current()->fence(channel); }
void quiet(const Channel& channel) { current()->quiet(channel); }

int sync(const char* function, Team& team) { return collective(function, team, call_of(GOAL_CALL_BARRIER, 0, nullptr, nullptr), 0); }

int collective(const char* function, Team& team, const GOAL_Call& call, size_t bytes) {
  Capture& capture = *current();
  if (!capture.has(function, team)) return -1;
  capture.block(collective_node(call, {function, bytes, call.root, call.out}));
  return 0;
}

int broadcast(const char* function, Team& team, void* dest, const void* source, size_t bytes, int root) {
  Capture& capture = *current();
  if (!capture.has(function, team)) return -1;
  const bool from_here = root == team.my_pe;
  if (from_here && bytes != 0 && dest != source) capture.block(copy_node({piece(dest, bytes)}, {piece(source, bytes)}, bytes));
  const GOAL_Call call = call_of(GOAL_CALL_BCAST, bytes, nullptr, from_here ? const_cast<void*>(source) : dest, root);
  capture.block(collective_node(call, {function, bytes, root, dest}));
  return 0;
}

int collect(const char* function, Team& team, void* dest, const void* source, size_t bytes) {
  Capture& capture = *current();
  if (!capture.has(function, team)) return -1;
  Node node = collective_node(call_of(GOAL_CALL_ALLGATHERV, bytes, source, dest), {function, 0, 0, nullptr});
  node.collective->sizes.resize(static_cast<size_t>(team.size()));
  node.collective->begins.resize(static_cast<size_t>(team.size()));
  capture.block(std::move(node));
  return 0;
}

// The first PE of an exclusive scan gets zeros.
int scan(const char* function, Team& team, void* dest, const void* source, size_t count, GOAL_Type type, size_t bytes, bool inclusive) {
  const GOAL_Call call = call_of(inclusive ? GOAL_CALL_SCAN : GOAL_CALL_EXSCAN, count, type, GOAL_ADD, source, dest);
  if (collective(function, team, call, bytes) != 0) return -1;
  if (inclusive || team.my_pe != 0 || bytes == 0) return 0;
  Capture& capture = *current();
  capture.block(copy_node({piece(dest, bytes)}, {piece(capture.recording.memory(bytes), bytes)}, bytes));
  return 0;
}

int alltoalls(const char* function, Team& team, const Side& dest, const Side& source, size_t count, size_t element, size_t bytes) {
  Capture& capture = *current();
  if (!capture.has(function, team)) return -1;
  if (count > kMostPieces) return capture.refuse(function, kTooManyPieces), -1;
  const size_t packed = count * element;
  std::byte *const out = capture.recording.memory(packed), *const in = capture.recording.memory(packed);
  if (packed != 0) capture.block(copy_node({piece(out, packed)}, pieces_of(source, count, element), packed));
  capture.block(collective_node(call_of(GOAL_CALL_ALLTOALL, bytes, out, in), {function, bytes, 0, dest.at}));
  if (packed != 0) capture.block(copy_node(pieces_of(dest, count, element), {piece(in, packed)}, packed));
  return 0;
}

}  // namespace portunus::shmem::graph
