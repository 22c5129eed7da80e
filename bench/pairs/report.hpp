// report.hpp: what the pair programs share: their options, the samples' percentiles, the lines and the JSON file.
//
// A result is one number with its percentiles. pNN: NN of 100 samples were at least this good (so p99 of a rate is a
// low one). `value` is p50 of a latency; of a bandwidth or rate it is everything moved by all the time it took.
// Thread: the main thread. Rank 0 reports; on other ranks a Report does nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace portunus::bench {

struct Options {
  double seconds = 0.2;  // time spent on each point
  std::string json;      // file to write; empty: none
  std::string commit = "unknown";
};

// Reads the command line. --help and what cannot be understood end the program, with status 0 and 2.
Options read_options(int argc, char** argv, const char* what);

// "latency" in us, "ratio" to what is compared with, "busy" in % of a processor: smaller is better. "bandwidth" in GB/s (10^9 bytes),
// "rate" in 1/s, "share" in % of what is possible: larger is better.
struct Result {
  const char* bench;
  size_t size;  // bytes of one message
  const char* metric;
  std::vector<double> samples;
  std::optional<double> value{};  // p50 unless given
};

class Report {
 public:
  // `transport` as PtlxTransport names it, or "none" for what involves no engine.
  Report(const Options& options, bool active, std::string transport);
  ~Report();

  // Call before the operations of a result: the engine's processor time is taken from here to `add`.
  void begin();
  void add(Result result);
  // Writes the file. False, with a sentence on stderr, when that failed.
  [[nodiscard]] bool write();

  bool active() const { return active_; }
  const Options& options() const { return options_; }

 private:
  struct Document;

  Options options_;
  bool active_;
  std::string transport_;
  std::unique_ptr<Document> document_;
  uint64_t began_ns_ = 0;
  uint64_t engine_began_ns_ = 0;
};

// Which transport reaches `rank`, as seen by an interface with these options (one that the measured layer uses).
std::string transport_to(unsigned int ni_options, int rank);

// The processors that this process may run on, e.g. {0, 1}.
std::vector<int> allowed_cores();

// Leaves with a sentence unless there are exactly two ranks.
void require_two_ranks(int ranks, const char* program);

}  // namespace portunus::bench
