// Puts, gets, epochs and locks of recorded ranks: see joiner.hpp.
#include "engine/tools/goalc/joiner.hpp"

namespace portunus::goalc {

using goal::VertexId;
using record::Record;
using record::What;

void Joiner::put(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) {
  const uint32_t comm = comm_of(rank, record);
  const auto target = static_cast<uint32_t>(record.peer);
  const uint32_t tag = tag_of(comm, Use::put);
  Rank& mine = ranks_[rank];
  const VertexId sent = programs_[rank].send(record.bytes, target, tag, (record.detail & record::kBlocking) != 0);
  const VertexId arrival = programs_[target].recv_freely(record.bytes, rank, tag);
  mine.leaving[{comm, target}].push_back(sent);
  ranks_[target].coming[{comm, rank}].push_back(arrival);
  mine.accessed[comm].insert(target);
  if (numbers.size() == 3)
    words_.put({comm, rank, target, numbers[0], record.bytes, record.time_ns, (record.detail & record::kBehind) != 0, arrival,
                static_cast<record::Change>(numbers[2]), numbers[1]});
  else puts_.push_back({comm, rank, target, mine.fences[comm].size(), mine.completed[{comm, target}], arrival});
  if (record.object != 0) programs_[rank].remember(record.object, {sent});
}

void Joiner::get(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) {
  const uint32_t comm = comm_of(rank, record);
  const auto target = static_cast<uint32_t>(record.peer);
  const uint32_t request = tag_of(comm, Use::request), reply = tag_of(comm, Use::reply);
  const uint64_t asking = numbers.empty() ? 0 : numbers[0];
  programs_[rank].send(asking, target, request, false);
  const VertexId got = programs_[rank].recv(record.bytes, target, reply, (record.detail & record::kBlocking) != 0);
  const VertexId asked = programs_[target].recv_freely(asking, rank, request);
  programs_[target].send_after(record.bytes, rank, reply, std::span(&asked, 1));
  ranks_[rank].leaving[{comm, target}].push_back(got);
  ranks_[rank].accessed[comm].insert(target);
  if (numbers.size() == 4)
    words_.put({comm, rank, target, numbers[1], asking, record.time_ns, false, asked, static_cast<record::Change>(numbers[3]), numbers[2]});
  if (record.object != 0) programs_[rank].remember(record.object, {got});
}

// A message comes back when all that was put there lies there.
void Joiner::wait_for_acknowledgement(uint32_t rank, uint32_t comm, uint32_t target) {
  RankProgram::Vertices& leaving = ranks_[rank].leaving[{comm, target}];
  RankProgram::Vertices& coming = ranks_[target].coming[{comm, rank}];
  programs_[rank].wait_for(leaving);
  leaving.clear();
  if (coming.empty()) return;
  const uint32_t tag = tag_of(comm, Use::acknowledgement);
  programs_[target].send_after(0, rank, tag, coming);
  coming.clear();
  words_.acknowledge(rank, comm, target);
  programs_[rank].wait_for(programs_[rank].recv(0, target, tag, false));
}

void Joiner::wait_for_acknowledgements(uint32_t rank, uint32_t comm) {
  for (const uint32_t target : std::exchange(ranks_[rank].accessed[comm], {})) wait_for_acknowledgement(rank, comm, target);
}

void Joiner::flush(uint32_t rank, const Record& record) {
  const uint32_t comm = comm_of(rank, record);
  if (record.peer >= 0) wait_for_acknowledgement(rank, comm, static_cast<uint32_t>(record.peer));
  else wait_for_acknowledgements(rank, comm);
}

void Joiner::fence(uint32_t rank, uint32_t comm) {
  wait_for_acknowledgements(rank, comm);
  programs_[rank].wait_for(
      programs_[rank].collective({record::Collective::barrier, 0, 0, 0, {}}, comms_[comm], tag_of(comm, Use::collective), crowded_));
  ranks_[rank].fences[comm].push_back(programs_[rank].pass());
}

// A lock comes by a message from who had it last.
void Joiner::take_lock(uint32_t rank, const Record& record) {
  const uint32_t tag = tag_of(comm_of(rank, record), Use::lock);
  if (record.what == What::lock) {
    const int before = locks_.before(rank);
    if (before >= 0) programs_[rank].recv(sizeof(uint64_t), static_cast<uint32_t>(before), tag, true);
    return;
  }
  const int next = locks_.next(rank);
  if (next >= 0) programs_[rank].send(sizeof(uint64_t), static_cast<uint32_t>(next), tag, false);
}

void Joiner::take_epoch(uint32_t rank, const Record& record) {
  RankProgram& program = programs_[rank];
  Rank& mine = ranks_[rank];
  const uint32_t comm = comm_of(rank, record);
  const auto peer = static_cast<uint32_t>(record.peer);
  if (record.what == What::open) program.send(0, peer, tag_of(comm, Use::open), false);
  if (record.what == What::start) program.recv(0, peer, tag_of(comm, Use::open), true);
  if (record.what == What::complete) {
    wait_for_acknowledgement(rank, comm, peer);
    program.send(0, peer, tag_of(comm, Use::complete), false);
    ++mine.completed[{comm, peer}];
  }
  if (record.what != What::await) return;
  program.recv(0, peer, tag_of(comm, Use::complete), true);
  mine.awaited[{comm, peer}].push_back(program.pass());
}

// The target's end of the epoch waits for what was put in it.
void Joiner::end_epochs() {
  for (const Put& put : puts_) {
    Rank& target = ranks_[put.target];
    const std::vector<VertexId>& awaited = target.awaited[{put.comm, put.origin}];
    const std::vector<VertexId>& fences = target.fences[put.comm];
    if (put.completed < awaited.size()) programs_[put.target].after(awaited[put.completed], put.arrival);
    else if (put.fences < fences.size()) programs_[put.target].after(fences[put.fences], put.arrival);
  }
}

}  // namespace portunus::goalc
