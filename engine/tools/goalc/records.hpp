// The files that the ranks of a recorded job have written, as they lie in a folder.
//
// Thread: any; the files are mapped and only read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/tools/record/format.hpp"

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

  // Calls f(record, numbers) for each, in order. What was being written when the rank died is left out.
  template <class F>
  void each(F&& f) const {
    for (uint64_t at = record::kHeaderBytes; at + sizeof(record::Record) <= used_;) {
      const auto& one = *reinterpret_cast<const record::Record*>(bytes_.data() + at);
      at += sizeof one;
      if (one.numbers > (used_ - at) / sizeof(uint64_t)) return;
      f(one, std::span(reinterpret_cast<const uint64_t*>(bytes_.data() + at), one.numbers));
      at += one.numbers * sizeof(uint64_t);
    }
  }

 private:
  void set_clock();

  std::span<const char> bytes_;
  uint64_t used_ = 0;
};

// The number of ranks that the job of this folder had: throws if no rank has written anything.
[[nodiscard]] int ranks_recorded(const std::string& folder);

}  // namespace portunus::goalc
