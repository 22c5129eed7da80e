// From the records of all ranks to schedules that fit together: see join.hpp.
#include "engine/tools/goalc/join.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "engine/tools/goalc/joiner.hpp"

namespace portunus::goalc {

using goal::Kind;
using goal::Schedule;
using goal::VertexId;
using record::Record;
using record::State;
using record::What;

namespace {

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

}  // namespace

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
  std::unordered_map<uint32_t, std::vector<uint64_t>> comms;
  std::map<uint32_t, size_t> collects;
  ranks_[rank].records->each([&](const Record& record, std::span<const uint64_t> numbers) {
    if (record.what == What::communicator && !numbers.empty()) comms[record.comm].assign(numbers.begin(), numbers.end());
    if (record.what == What::process) portals_.name(record.object, rank);
    if (record.what == What::lock) locks_.taken(rank, record.object, record.time_ns);
    if (record.what == What::unlock) locks_.given_back(rank, record.object, record.time_ns);
    if (record.what != What::collective || static_cast<record::Collective>(record.detail) != record::Collective::collect) return;
    const std::vector<uint64_t>& comm = comms[record.comm];
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
  const RankRecords& records = *ranks_[rank].records;
  const auto take_one = [&](const Record& record, std::span<const uint64_t> numbers) {
    if (record.time_ns > records.begun_ns()) joined_.took_ns = std::max(joined_.took_ns, record.time_ns - records.begun_ns());
    if (record.peer >= static_cast<int32_t>(ranks_.size())) return;
    check(rank, record, numbers);
    programs_[rank].compute(record.compute_ns);
    take(rank, record, numbers, matches);
  };
  if (records.header().threads == 0) return records.each(take_one);
  threads_ = true;
  // A call of one thread may be recorded after what it was the cause of.
  std::vector<std::pair<Record, std::vector<uint64_t>>> all;
  records.each([&](const Record& record, std::span<const uint64_t> numbers) {
    all.emplace_back(record, std::vector(numbers.begin(), numbers.end()));
  });
  std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first.time_ns; });
  for (const auto& [record, numbers] : all) take_one(record, numbers);
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

Joined join_records(const std::string& folder) { return Joiner(folder).join(); }

}  // namespace portunus::goalc
