// The joiner of records: join.cpp reads and checks them, and makes messages and collectives of them; join_memory.cpp what ranks do to one
// another's memory.
//
// Thread: one.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/tools/goalc/join.hpp"
#include "engine/tools/goalc/locks.hpp"
#include "engine/tools/goalc/portals.hpp"
#include "engine/tools/goalc/rank_program.hpp"
#include "engine/tools/goalc/records.hpp"
#include "engine/tools/goalc/words.hpp"

namespace portunus::goalc {

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
  goal::VertexId arrival = 0;
};

class Joiner {
 public:
  explicit Joiner(const std::string& folder);
  Joined join();

 private:
  struct Rank {
    std::unique_ptr<RankRecords> records;
    std::map<uint32_t, size_t> collects;                     // by communicator
    std::map<uint32_t, std::set<uint32_t>> accessed;         // by communicator: the ranks in whose memory something may not have ended
    std::unordered_map<uint32_t, uint32_t> comms;            // from the rank's number to the job's
    std::map<uint32_t, std::vector<goal::VertexId>> fences;  // by communicator: where each was passed
    std::map<std::pair<uint32_t, uint32_t>, std::vector<goal::VertexId>> awaited;  // and origin: where each of its epochs was seen to end
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> completed;                   // and target
    std::map<std::pair<uint32_t, uint32_t>, RankProgram::Vertices> leaving;        // and target: what has to end before the epoch does
    std::map<std::pair<uint32_t, uint32_t>, RankProgram::Vertices> coming;  // and origin: what that has put here since its last flush
  };

  void look_ahead(uint32_t rank);
  void read(uint32_t rank);
  void define(Rank& rank, const record::Record& record, std::span<const uint64_t> numbers);
  std::unordered_map<uint64_t, Match> matches_of(uint32_t rank) const;
  void take(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers,
            const std::unordered_map<uint64_t, Match>& matches);
  void take_message(uint32_t rank, const record::Record& record, const std::unordered_map<uint64_t, Match>& matches);
  void take_collective(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers);
  void take_epoch(uint32_t rank, const record::Record& record);
  void put(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers);
  void get(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers);
  void flush(uint32_t rank, const record::Record& record);
  void wait_for_acknowledgements(uint32_t rank, uint32_t comm);
  void wait_for_acknowledgement(uint32_t rank, uint32_t comm, uint32_t target);
  void take_lock(uint32_t rank, const record::Record& record);
  void fence(uint32_t rank, uint32_t comm);
  void end_epochs();
  void pair_messages();
  void remark_ends();
  uint32_t comm_of(uint32_t rank, const record::Record& record) { return ranks_[rank].comms.at(record.comm); }
  void check(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers) const;
  bool fits(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers) const;
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

}  // namespace portunus::goalc
