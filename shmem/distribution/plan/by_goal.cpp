// by_goal.cpp: one send or receive for each peer, on the pieces of its move.
#include "shmem/distribution/plan/by_goal.hpp"

#include <algorithm>

namespace portunus::distribution {
namespace {

bool any_scheduled(const std::vector<Peer>& peers) {
  return std::any_of(peers.begin(), peers.end(), [](const Peer& peer) { return peer.way == Way::kSchedule; });
}

}  // namespace

void Scheduled::open(unsigned context, const std::vector<Peer>& out, const std::vector<Peer>& in, int64_t from_bytes, int64_t to_bytes) {
  context_ = context;
  out_ = &out;
  in_ = &in;
  from_bytes_ = from_bytes;
  to_bytes_ = to_bytes;
  sends_ = any_scheduled(out);
  receives_ = any_scheduled(in);
  used_ = sends_ || receives_;
}

void Scheduled::close() {
  if (request_ != GOAL_REQUEST_NULL) GOAL_Cancel(&request_);
  for (Instance& instance : instances_) GOAL_Free(&instance.schedule);
  instances_.clear();
}

int Scheduled::describe(GOAL_Schedule schedule) const {
  std::vector<GOAL_Piece> pieces;
  for (const Side side : {Side::kTo, Side::kFrom})
    for (const Peer& peer : side == Side::kTo ? *in_ : *out_) {
      if (peer.way != Way::kSchedule) continue;
      pieces.clear();
      const unsigned argument = side == Side::kTo && sends_ ? 1 : 0;
      peer.move.each_piece(side, [&](int64_t first, int64_t bytes) {
        pieces.push_back(GOAL_Part(GOAL_Arg(argument, static_cast<size_t>(first)), static_cast<size_t>(bytes)));
      });
      const GOAL_Buffer buffer = GOAL_Pieces(pieces.data(), static_cast<uint32_t>(pieces.size()));
      const auto bytes = static_cast<size_t>(peer.bytes);
      const int code = side == Side::kTo ? GOAL_Recv(schedule, buffer, bytes, peer.pe, 0, nullptr)
                                         : GOAL_Send(schedule, buffer, bytes, peer.pe, 0, nullptr);
      if (code != GOAL_SUCCESS) return code;
    }
  return GOAL_Unbuffered(schedule);
}

int Scheduled::bind(GOAL_Schedule schedule, const void* from, void* to) const {
  int code = GOAL_SUCCESS;
  if (sends_) code = GOAL_Bind(schedule, 0, const_cast<void*>(from), static_cast<size_t>(from_bytes_));
  if (receives_ && code == GOAL_SUCCESS) code = GOAL_Bind(schedule, sends_ ? 1 : 0, to, static_cast<size_t>(to_bytes_));
  return code;
}

int Scheduled::make(const void* from, void* to, Instance* made) {
  GOAL_Schedule schedule = nullptr;
  int code = instances_.empty() ? GOAL_Create(&schedule) : GOAL_Clone(instances_.front().schedule, &schedule);
  if (code == GOAL_SUCCESS && instances_.empty()) code = describe(schedule);
  if (code == GOAL_SUCCESS) code = bind(schedule, from, to);
  if (code == GOAL_SUCCESS) code = GOAL_Context(schedule, context_);
  if (code == GOAL_SUCCESS) code = GOAL_Epoch(schedule, static_cast<unsigned>(executions_ % 256));
  if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule);
  if (code != GOAL_SUCCESS) {
    if (schedule) GOAL_Free(&schedule);
    return code;
  }
  *made = {from, to, schedule, executions_};
  return GOAL_SUCCESS;
}

int Scheduled::find(const void* from, void* to, Instance** found) {
  const auto same = std::find_if(instances_.begin(), instances_.end(),
                                 [&](const Instance& i) { return i.from == from && i.to == to && i.next == executions_; });
  if (same != instances_.end()) {
    *found = &*same;
    return GOAL_SUCCESS;
  }
  Instance made{};
  if (const int code = make(from, to, &made); code != GOAL_SUCCESS) return code;
  // An instance that has fallen behind can never run again; the last one stays, to copy from.
  if (instances_.size() == kMost) {
    GOAL_Free(&instances_.front().schedule);
    instances_.erase(instances_.begin());
  }
  instances_.push_back(made);
  *found = &instances_.back();
  return GOAL_SUCCESS;
}

int Scheduled::start(const void* from, void* to) {
  Instance* instance = nullptr;
  if (const int code = find(from, to, &instance); code != GOAL_SUCCESS) return code;
  const int code = GOAL_Run(instance->schedule, &request_);
  if (code == GOAL_SUCCESS) instance->next = ++executions_;
  return code;
}

int Scheduled::test(bool* done) {
  int ended = 0;
  const int code = GOAL_Test(&request_, &ended);
  *done = ended != 0;
  return code;
}

int Scheduled::wait() { return GOAL_Wait(&request_); }

}  // namespace portunus::distribution
