// From the records of all ranks to schedules that fit together: see join.hpp.
#include "engine/tools/goalc/join.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>

#include "engine/tools/goalc/locks.hpp"
#include "engine/tools/goalc/portals.hpp"
#include "engine/tools/goalc/rank_program.hpp"
#include "engine/tools/goalc/records.hpp"
#include "engine/tools/goalc/words.hpp"

namespace portunus::goalc {

using goal::Kind;
using goal::Schedule;
using goal::VertexId;
using record::Header;
using record::Record;
using record::State;
using record::What;

namespace {

// Kinds of messages that share a communicator, apart from the contexts of records.
enum class Use : uint32_t { collective = 16, put, request, reply, acknowledgement, open, complete, lock };

// The message that came for a receive, which the record of its start lacks.
struct Match {
  int32_t peer = -1;
  int32_t tag = 0;
  uint64_t bytes = 0;
};

// A message that lies in another rank's memory when an epoch ends.
struct Put {
  uint32_t comm = 0, origin = 0, target = 0;
  uint64_t fences = 0, completed = 0;  // how many of the origin's came before
  VertexId arrival = 0;
};

class Joiner {
 public:
  explicit Joiner(const std::string& folder);
  Joined join();

 private:
  struct Rank {
    std::unique_ptr<RankRecords> records;
    std::map<uint32_t, size_t> collects;               // by communicator
    std::map<uint32_t, std::set<uint32_t>> accessed;   // by communicator: the ranks in whose memory something may not have ended
    std::unordered_map<uint32_t, uint32_t> comms;      // from the rank's number to the job's
    std::map<uint32_t, std::vector<VertexId>> fences;  // by communicator: where each was passed
    std::map<std::pair<uint32_t, uint32_t>, std::vector<VertexId>> awaited;  // and origin: where each of its epochs was seen to end
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> completed;             // and target
    std::map<std::pair<uint32_t, uint32_t>, RankProgram::Vertices> leaving;  // and target: what has to end before the epoch does
    std::map<std::pair<uint32_t, uint32_t>, RankProgram::Vertices> coming;   // and origin: what that has put here since its last flush
  };

  void look_ahead(uint32_t rank);
  void read(uint32_t rank);
  void define(Rank& rank, const Record& record, std::span<const uint64_t> numbers);
  std::unordered_map<uint64_t, Match> matches_of(uint32_t rank) const;
  void take(uint32_t rank, const Record& record, std::span<const uint64_t> numbers, const std::unordered_map<uint64_t, Match>& matches);
  void take_message(uint32_t rank, const Record& record, const std::unordered_map<uint64_t, Match>& matches);
  void take_collective(uint32_t rank, const Record& record, std::span<const uint64_t> numbers);
  void take_epoch(uint32_t rank, const Record& record);
  void put(uint32_t rank, const Record& record, std::span<const uint64_t> numbers);
  void get(uint32_t rank, const Record& record, std::span<const uint64_t> numbers);
  void flush(uint32_t rank, const Record& record);
  void wait_for_acknowledgements(uint32_t rank, uint32_t comm);
  void wait_for_acknowledgement(uint32_t rank, uint32_t comm, uint32_t target);
  void take_lock(uint32_t rank, const Record& record);
  void fence(uint32_t rank, uint32_t comm);
  void end_epochs();
  void pair_messages();
  void remark_ends();
  uint32_t comm_of(uint32_t rank, const Record& record) { return ranks_[rank].comms.at(record.comm); }
  void check(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) const;
  bool fits(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) const;
  uint32_t tag_of(uint32_t comm, uint32_t use, int32_t tag = 0);
  uint32_t tag_of(uint32_t comm, Use use) { return tag_of(comm, static_cast<uint32_t>(use)); }

  std::string folder_;
  std::vector<Rank> ranks_;
  std::vector<RankProgram> programs_;
  std::vector<CommFacts> comms_;
  std::unordered_map<uint64_t, uint32_t> by_hash_;
  std::map<std::tuple<uint32_t, uint32_t, int32_t>, uint32_t> tags_;
  std::vector<Put> puts_;
  Words words_;
  Locks locks_;
  Portals portals_{programs_};
  std::map<std::pair<uint64_t, size_t>, std::vector<uint64_t>> collected_;  // of the n-th collect of a communicator the bytes of each
  bool crowded_ = false, foreign_ = false, threads_ = false;
  Joined joined_;
};

// The call that ends a program's use of an interface.
const char* end_of(record::Interface interface) {
  switch (interface) {
    case record::Interface::mpi: return "MPI_Finalize";
    case record::Interface::shmem: return "shmem_finalize";
    case record::Interface::portals: return "PtlFini";
  }
  return "an end";
}

// Whether a collective of this communicator has the root and the numbers that it must have.
bool fits_collective(const Record& record, std::span<const uint64_t> numbers, const CommFacts& comm) {
  const size_t size = comm.ranks.size();
  const auto root = static_cast<uint32_t>(record.peer);
  switch (static_cast<record::Collective>(record.detail)) {
    case record::Collective::bcast:
    case record::Collective::gather:
    case record::Collective::scatter:
    case record::Collective::reduce: return root < size;
    case record::Collective::gatherv:
    case record::Collective::scatterv: return root < size && (numbers.empty() || numbers.size() == size);
    case record::Collective::allgatherv:
    case record::Collective::reduce_scatter: return numbers.size() == size;
    case record::Collective::collect: return numbers.empty();
    case record::Collective::alltoallv: return numbers.size() == 2 * size;
    case record::Collective::exchange: {
      const size_t links = numbers.size() / 2;
      for (size_t i = 0; i < links; ++i)
        if (numbers[2 * i] >= size) return false;
      return record.tag >= 0 && static_cast<size_t>(record.tag) <= links;
    }
    default: return static_cast<record::Collective>(record.detail) <= record::Collective::exchange;
  }
}

Joiner::Joiner(const std::string& folder) : folder_(folder) {
  const int size = ranks_recorded(folder);
  ranks_.resize(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) programs_.emplace_back(static_cast<uint32_t>(rank));
  crowded_ = size > sysconf(_SC_NPROCESSORS_ONLN);
}

// Tags count from 1, each for one kind of messages of one communicator.
uint32_t Joiner::tag_of(uint32_t comm, uint32_t use, int32_t tag) {
  return tags_.try_emplace({comm, use, tag}, static_cast<uint32_t>(tags_.size() + 1)).first->second;
}

void Joiner::define(Rank& rank, const Record& record, std::span<const uint64_t> numbers) {
  const auto [found, fresh] = by_hash_.try_emplace(numbers[0], static_cast<uint32_t>(comms_.size()));
  rank.comms[record.comm] = found->second;
  if (!fresh) return;
  CommFacts facts{numbers[0], {}};
  for (const uint64_t number : numbers.subspan(1)) facts.ranks.push_back(static_cast<int>(number));
  comms_.push_back(std::move(facts));
}

// A receive that nobody waited for, as of a request that is freed, takes the next message of the source and tag that it names.
std::unordered_map<uint64_t, Match> Joiner::matches_of(uint32_t rank) const {
  std::unordered_map<uint64_t, Match> matches;
  ranks_[rank].records->each([&](const Record& record, std::span<const uint64_t>) {
    const auto found = matches.find(record.object);
    if (record.what == What::post) matches[record.object] = {record.peer, record.tag, 0};
    else if (record.what == What::void_request) matches.erase(record.object);
    else if (record.what == What::done && found != matches.end()) found->second = {record.peer, record.tag, record.bytes};
  });
  std::erase_if(matches, [](const auto& one) { return one.second.peer < 0 || one.second.tag < 0; });
  return matches;
}

// Reads what the schedules of other ranks need: when the rank takes locks, and how much it brings to each collect.
void Joiner::look_ahead(uint32_t rank) {
  if (::access(record::file_of(folder_, static_cast<int>(rank)).c_str(), F_OK) != 0) return;
  ranks_[rank].records = std::make_unique<RankRecords>(folder_, static_cast<int>(rank));
  std::unordered_map<uint32_t, std::span<const uint64_t>> comms;
  std::map<uint32_t, size_t> collects;
  ranks_[rank].records->each([&](const Record& record, std::span<const uint64_t> numbers) {
    if (record.what == What::communicator && !numbers.empty()) comms[record.comm] = numbers;
    if (record.what == What::process) portals_.name(record.object, rank);
    if (record.what == What::lock) locks_.taken(rank, record.object, record.time_ns);
    if (record.what == What::unlock) locks_.given_back(rank, record.object, record.time_ns);
    if (record.what != What::collective || static_cast<record::Collective>(record.detail) != record::Collective::collect) return;
    const std::span<const uint64_t> comm = comms[record.comm];
    if (comm.empty()) return;
    std::vector<uint64_t>& sizes = collected_[{comm[0], collects[record.comm]++}];
    sizes.resize(comm.size() - 1);
    for (size_t i = 1; i < comm.size(); ++i)
      if (comm[i] == rank) sizes[i - 1] = record.bytes;
  });
}

void Joiner::read(uint32_t rank) {
  if (!ranks_[rank].records) return;
  const auto matches = matches_of(rank);
  const Header& header = ranks_[rank].records->header();
  threads_ = threads_ || header.threads != 0;
  std::vector<std::pair<const Record*, std::span<const uint64_t>>> all;
  ranks_[rank].records->each([&](const Record& record, std::span<const uint64_t> numbers) { all.emplace_back(&record, numbers); });
  // A call of one thread may be recorded after what it was the cause of.
  if (header.threads != 0) std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first->time_ns; });
  for (const auto& [record, numbers] : all) {
    if (record->time_ns > header.begun_ns) joined_.took_ns = std::max(joined_.took_ns, record->time_ns - header.begun_ns);
    if (record->peer >= static_cast<int32_t>(ranks_.size())) continue;
    check(rank, *record, numbers);
    programs_[rank].compute(record->compute_ns);
    take(rank, *record, numbers, matches);
  }
}

// Files may have been changed since: what a record refers to must be there.
void Joiner::check(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) const {
  if (!fits(rank, record, numbers))
    throw std::runtime_error(record::file_of(folder_, static_cast<int>(rank)) + " is damaged: record again");
}

bool Joiner::fits(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) const {
  switch (record.what) {
    case What::communicator: return !numbers.empty();
    case What::end:
    case What::note:
    case What::done:
    case What::void_request: return true;
    case What::process:
    case What::operation:
    case What::entry:
    case What::entry_gone:
    case What::count:
    case What::count_wait:
    case What::event: return Portals::fits(record, numbers.size());
    case What::wait_word:
      if (numbers.size() != 4) return false;
      break;
    case What::send:
    case What::start_send:
    case What::receive:
    case What::put:
    case What::get:
    case What::open:
    case What::start:
    case What::complete:
    case What::await:
      if (record.peer < 0) return false;
      break;
    case What::post:
    case What::flush:
    case What::fence:
    case What::order:
    case What::lock:
    case What::unlock:
    case What::collective: break;
    default: return false;
  }
  const auto comm = ranks_[rank].comms.find(record.comm);
  if (comm == ranks_[rank].comms.end()) return false;
  return record.what != What::collective || fits_collective(record, numbers, comms_[comm->second]);
}

void Joiner::take(uint32_t rank, const Record& record, std::span<const uint64_t> numbers,
                  const std::unordered_map<uint64_t, Match>& matches) {
  switch (record.what) {
    case What::communicator: return define(ranks_[rank], record, numbers);
    case What::collective: return take_collective(rank, record, numbers);
    case What::note: foreign_ = true; return;
    case What::send:
    case What::start_send:
    case What::receive:
    case What::post:
    case What::done: return take_message(rank, record, matches);
    case What::put: return put(rank, record, numbers);
    case What::get: return get(rank, record, numbers);
    case What::order: return words_.order(rank, comm_of(rank, record));
    case What::wait_word:
      return words_.wait(rank, {numbers[0], numbers[1], numbers[2], numbers[3]}, record.time_ns, programs_[rank].pass());
    case What::lock:
    case What::unlock: return take_lock(rank, record);
    case What::flush: return flush(rank, record);
    case What::fence: return fence(rank, comm_of(rank, record));
    case What::open:
    case What::start:
    case What::complete:
    case What::await: return take_epoch(rank, record);
    case What::operation:
    case What::entry:
    case What::entry_gone:
    case What::count:
    case What::count_wait:
    case What::event:
      if (!portals_.take(rank, record, numbers)) foreign_ = true;
      return;
    case What::process:
    case What::end:
    case What::void_request: return;
  }
}

void Joiner::take_message(uint32_t rank, const Record& record, const std::unordered_map<uint64_t, Match>& matches) {
  RankProgram& program = programs_[rank];
  const uint32_t comm = comm_of(rank, record);
  const auto peer = static_cast<uint32_t>(record.peer);
  if (record.what == What::done) return program.wait_for_request(record.object);
  if (record.what == What::post) {
    const auto found = matches.find(record.object);
    if (found == matches.end()) return;
    const Match& match = found->second;
    return program.remember(record.object,
                            {program.recv(match.bytes, static_cast<uint32_t>(match.peer), tag_of(comm, record.context, match.tag), false)});
  }
  const uint32_t tag = tag_of(comm, record.context, record.tag);
  if (record.what == What::receive) program.recv(record.bytes, peer, tag, true);
  else if (record.what == What::send) program.send(record.bytes, peer, tag, true);
  else program.remember(record.object, {program.send(record.bytes, peer, tag, false)});
}

void Joiner::take_collective(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) {
  const uint32_t comm = comm_of(rank, record);
  const auto is_foreign = [&](int one) { return one < 0 || static_cast<size_t>(one) >= ranks_.size(); };
  if (std::ranges::any_of(comms_[comm].ranks, is_foreign)) {
    foreign_ = true;
    return;
  }
  CollectiveCall call{static_cast<record::Collective>(record.detail), static_cast<uint32_t>(record.peer), record.bytes,
                      static_cast<uint32_t>(record.tag), numbers};
  if (call.kind == record::Collective::collect) {
    call.kind = record::Collective::allgatherv;
    std::vector<uint64_t>& sizes = collected_[{comms_[comm].hash, ranks_[rank].collects[comm]++}];
    sizes.resize(comms_[comm].ranks.size());
    call.numbers = sizes;
  }
  RankProgram::Vertices last = programs_[rank].collective(call, comms_[comm], tag_of(comm, Use::collective), crowded_);
  if (record.object != 0) programs_[rank].remember(record.object, std::move(last));
  else programs_[rank].wait_for(last);
}

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

// The n-th message of a kind is the n-th that is received. One without the other, as of ranks that died, becomes nothing.
void Joiner::pair_messages() {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::pair<std::vector<VertexId>, std::vector<VertexId>>> streams;
  std::vector<Schedule>& ranks = joined_.ranks;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (VertexId v = 0; v < ranks[rank].size(); ++v) {
      const goal::Vertex& one = ranks[rank][v];
      if (one.kind == Kind::send) streams[{rank, one.peer, one.tag}].first.push_back(v);
      if (one.kind == Kind::recv) streams[{one.peer, rank, one.tag}].second.push_back(v);
    }
  }
  uint64_t alone = 0;
  for (const auto& [stream, ends] : streams) {
    const auto& [sends, receives] = ends;
    const auto [from, to, tag] = stream;
    const size_t both = std::min(sends.size(), receives.size());
    for (size_t i = 0; i < both; ++i) ranks[to].amend(receives[i], Kind::recv, ranks[from][sends[i]].size);
    for (size_t i = both; i < sends.size(); ++i) ranks[from].amend(sends[i], Kind::calc, 0);
    for (size_t i = both; i < receives.size(); ++i) ranks[to].amend(receives[i], Kind::calc, 0);
    alone += sends.size() + receives.size() - 2 * both;
  }
  if (alone > 0) joined_.remarks.push_back(std::to_string(alone) + " messages of which one end was not recorded are left out");
}

void Joiner::remark_ends() {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankRecords* const records = ranks_[rank].records.get();
    const State state = records ? records->header().state.load(std::memory_order_acquire) : State::running;
    if (state == State::finished) continue;
    joined_.remarks.push_back("rank " + std::to_string(rank) +
                              (!records ? " has recorded nothing"
                               : state == State::no_space
                                   ? " is cut: the disk had no room for more records"
                                   : std::string(" is cut: it ended without ") + end_of(records->header().interface)));
  }
  if (threads_) joined_.remarks.emplace_back("several threads called at once; they are recorded as if one had, in the order of time");
  if (foreign_) joined_.remarks.emplace_back("messages with processes of other jobs, and collectives of intercommunicators, are left out");
}

Joined Joiner::join() {
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) look_ahead(rank);
  locks_.resolve();
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) read(rank);
  end_epochs();
  portals_.resolve();
  words_.resolve([this](uint32_t rank, VertexId wait, VertexId arrival) { programs_[rank].after(wait, arrival); });
  remark_ends();
  for (RankProgram& program : programs_) joined_.ranks.push_back(program.finish());
  pair_messages();
  return std::move(joined_);
}

}  // namespace

Joined join_records(const std::string& folder) { return Joiner(folder).join(); }

}  // namespace portunus::goalc
