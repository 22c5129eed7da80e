// The files that the ranks of a recorded job have written, as they lie in a folder.
//
// Thread: any; the files are mapped and only read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tools/record/packed.hpp"

namespace portunus::goalc {

// One rank's records in their order.
class RankRecords {
 public:
  // Throws std::runtime_error with a sentence.
  RankRecords(const std::string& folder, int rank);
  ~RankRecords();
  RankRecords(const RankRecords&) = delete;
  RankRecords& operator=(const RankRecords&) = delete;

  [[nodiscard]] const record::Header& header() const { return *reinterpret_cast<const record::Header*>(bytes_.data()); }

  [[nodiscard]] uint64_t begun_ns() const { return header().begun_ns - ahead(); }

  // Calls f(record, numbers) for each, in order, with times by the clock of host 0. What was being written when the rank died is left out.
  template <class F>
  void each(F&& f) const {
    record::Unpacker records(bytes_.first(used_).subspan(record::kHeaderBytes), begun_ns());
    while (records.next()) f(records.record(), records.numbers());
  }

 private:
  [[nodiscard]] uint64_t ahead() const { return static_cast<uint64_t>(header().ahead_ns); }

  std::span<const char> bytes_;
  uint64_t used_ = 0;
};

// The number of ranks that the job of this folder had: throws if no rank has written anything.
[[nodiscard]] int ranks_recorded(const std::string& folder);

}  // namespace portunus::goalc
