// Which puts a rank has waited for that waited for a word of its memory to change.
//
// A wait has seen what was put into its word and was issued before it ended: in the order of time, up to the put that makes the word what
// it was found to be, or else all. With each such put it has seen what the same rank had ordered before it (fence). What the rank knew to
// lie there when it issued the put needs no mention: that comes before it anyway. Each put is waited for once. The times of all ranks are
// those of one clock, so that no wait comes before itself.
//
// Thread: one.
// Invariants: puts of an origin are added in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"
#include "engine/tools/record/format.hpp"

namespace portunus::goalc {

class Words {
 public:
  struct Put {
    uint32_t comm = 0, origin = 0, target = 0;
    uint64_t place = 0, bytes = 0;  // in the target's memory
    uint64_t time_ns = 0;           // it was issued
    bool behind = false;            // it arrives behind the put before
    goal::VertexId arrival = 0;     // at the target
    record::Change change = record::Change::unknown;
    uint64_t value = 0;
  };

  void put(const Put& put);
  // Puts of `origin` to come arrive behind those before; those before lie there.
  void order(uint32_t origin, uint32_t comm) { ++orders_[{comm, origin}]; }
  void acknowledge(uint32_t origin, uint32_t comm, uint32_t target);
  // A wait of `rank`, which `vertex` stands for, ended at `time_ns`.
  void wait(uint32_t rank, const record::WaitNumbers& facts, uint64_t time_ns, goal::VertexId vertex);

  // Calls after(rank, wait's vertex, arrival) for each put that a wait waits for.
  void resolve(const std::function<void(uint32_t, goal::VertexId, goal::VertexId)>& after);

 private:
  struct Issued {
    Put put;
    uint64_t order = 0;  // how often its origin had ordered before
    size_t acknowledged = 0;
    size_t place_in_stream = 0;
  };
  struct Stream {  // of one origin to one target
    std::vector<size_t> puts;
    size_t acknowledged = 0;  // so many lie there
    size_t covered = 0;       // so many are waited for, or need not be
  };
  struct Wait {
    record::WaitNumbers facts{};
    uint64_t time_ns = 0;
    goal::VertexId vertex = 0;
  };

  size_t needed(const std::vector<size_t>& puts, const Wait& wait, const uint64_t* before) const;
  void wait_for(size_t put, const std::function<void(goal::VertexId)>& after);

  std::vector<Issued> puts_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Stream> streams_;  // by comm, origin, target
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> orders_;
  std::map<uint32_t, std::vector<Wait>> waits_;
};

}  // namespace portunus::goalc
