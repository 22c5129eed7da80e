// Bringing what ranks of other hosts have recorded to host 0, where goalc makes one file of it.
//
// When all ranks have ended, each other host asks host 0 some times for its clock, tells in its records how far its own is ahead, and sends
// them a piece at a time. Host 0 waits until all hosts have sent theirs, cannot be reached, or have been silent for some seconds.
//
// Thread: ptlrun's main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>

#include "engine/tools/ptlrun/hosts/link.hpp"
#include "engine/tools/ptlrun/job.hpp"

namespace portunus::launch {

class HostRecords {
 public:
  // `folder`: where the ranks of this host write.
  HostRecords(Link& link, const JobPlan& plan, std::string folder) : link_(link), plan_(plan), folder_(std::move(folder)) {}

  // The ranks of this host have ended.
  void begin();
  // Does what there is to do between messages.
  void go_on();
  // All of them are at host 0, as far as they will come.
  bool is_over() const;
  // False: it makes no sense.
  bool take(const Message& message);

 private:
  using Clock = std::chrono::steady_clock;

  bool take_clock(const Message& message);
  bool take_piece(const Message& message);
  void ask_for_clock();
  void send_piece();
  bool open_next_file();
  void say_ahead(std::string& piece) const;

  Link& link_;
  const JobPlan& plan_;
  std::string folder_;
  Clock::time_point last_news_ = Clock::now();
  std::set<int> complete_;  // host 0: the hosts that have sent all
  std::set<uint32_t> cut_;  // host 0: the ranks whose records do not fit on the disk
  // The others:
  int asked_ = 0;
  uint64_t asked_at_ = 0, least_trip_ = UINT64_MAX;
  int64_t ahead_ns_ = 0;
  bool sends_ = false, all_sent_ = false;
  int rank_ = -1;  // whose file is being sent
  uint64_t left_ = 0;
  bool at_begin_ = false;
  std::ifstream file_;
};

}  // namespace portunus::launch
