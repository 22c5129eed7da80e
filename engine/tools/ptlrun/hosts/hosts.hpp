// The other hosts of the job, as one ptlrun sees them: fences and fetches that reach beyond this host, and the common end.
//
// Thread: ptlrun's main thread.
// Invariants: a fence is gathered at host 0 and answered once; each host answers its own ranks only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/hosts/link.hpp"
#include "engine/tools/ptlrun/server.hpp"

namespace portunus::launch {

// Whom the end of a job spares for a while (--finish); each kind spares fewer than the one before it.
enum class Ending : uint8_t {
  spare_all,        // whoever failed had left the job, and that the others do, too: they end by themselves, or have nearly
  spare_finalized,  // the others wait for whoever failed, but those that have left the job
  at_once,
};

// Handlers of requests that other hosts have for this one.
struct HostsHandlers {
  std::function<void(int status, const std::string& sentence, Ending ending)> end;
  std::function<void(const std::string& sentence)> lost;  // one of them cannot be reached any more
  std::function<void(int number)> signal;
  std::function<bool(const Message& message)> record;  // of HostRecords; false: it makes no sense
};

class Hosts {
 public:
  Hosts(Link& link, const JobPlan& plan, HostsHandlers handlers) : link_(link), plan_(plan), handlers_(std::move(handlers)) {}

  void attach(PmixServer& server) { server_ = &server; }

  void fence(FenceRequest request);
  void modex(ModexRequest request);

  void tell_finished();  // the ranks of this host have all ended well
  void tell_end(int status, const std::string& sentence, Ending ending);
  void tell_signal(int number);
  void tell_absent(int rank);
  bool all_finished() const { return all_finished_; }

  // Fetches that wait for a rank to put more are tried again from time to time: retry() when `next_try` has come.
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_try() const;
  void retry(Clock::time_point now);

  void watch(std::vector<pollfd>& list) const { link_.watch(list); }
  void service(const std::vector<pollfd>& list);

 private:
  struct Gathering {  // host 0 only
    std::set<int> hosts;
    std::map<int, std::string> data;
  };

  struct Fetch {  // by another host
    uint32_t id;
    int host;
    int rank;
    std::string key;
    Clock::time_point next_try;
    Clock::time_point until;
  };

  void take(const Message& message);
  bool take_fence(const Message& message);
  bool take_fence_done(const Message& message);
  bool take_modex(const Message& message);
  bool take_modex_reply(const Message& message);
  void serve(const Fetch& fetch);
  void reply(Fetch fetch, bool good, const std::string& data);
  void take_finished(int host);
  void contribute(const std::string& key, const std::set<int>& hosts, int host, std::string data);
  void answer_fence(const std::string& key, const std::string& data);
  bool fits(const std::string& data);

  Link& link_;
  const JobPlan& plan_;
  HostsHandlers handlers_;
  PmixServer* server_ = nullptr;
  std::map<std::string, Answer> fences_;
  std::map<std::string, Gathering> gatherings_;
  std::map<uint32_t, Answer> fetches_;  // by ranks of this host
  std::vector<Fetch> waiting_;
  uint32_t next_fetch_ = 0;
  std::set<int> finished_;  // host 0 only
  bool all_finished_ = false;
};

}  // namespace portunus::launch
