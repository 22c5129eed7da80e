// The TCP connections between the ptlruns of one job: a star around host 0, which passes on what is for others.
//
// Thread: ptlrun's main thread. The constructor waits for the other hosts; afterwards nothing blocks but flush().
// Invariants: messages between two hosts arrive once and in order; a message is at most kMaxBody long.
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/channel.hpp"
#include "engine/tools/ptlrun/hosts/agents.hpp"
#include "engine/tools/ptlrun/job.hpp"
#include "engine/tools/ptlrun/options.hpp"
#include "engine/tools/ptlrun/wire.hpp"

namespace portunus::launch {

class Link {
 public:
  // Meets the other hosts and completes the plan, which is then the same everywhere. Throws Refusal.
  // `agents` start the other hosts where the options name any.
  Link(const Options& options, JobPlan& plan, Agents& agents);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Queues a message; `to` is a host or kEveryOther. What is for a host whose connection is lost is dropped.
  void send(Word word, int to, std::string body);

  void watch(std::vector<pollfd>& list) const;

  // The messages that have arrived for this host. A connection that breaks is closed and named in `failure`.
  std::vector<Message> service(const std::vector<pollfd>& list, std::string& failure);

  // Whether anything is queued.
  bool is_sending() const;
  // Whether that host can be reached; through host 0, for others than that.
  bool leads_to(int host) const;

  // Tries for a short while to get out what is queued.
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  struct Peer {
    Channel channel;
    int host = -1;  // -1: has not introduced itself
  };

  void host_the_job(const Options& options, JobPlan& plan, Agents& agents);
  void join_the_job(const Options& options, JobPlan& plan);
  void greet(Peer& peer, const Options& options, JobPlan& plan, std::vector<bool>& joined);
  void await(std::vector<pollfd>& list, const Options& options, Clock::time_point until, const std::string& missing);
  int connect_once(const Options& options, Clock::time_point until, std::string& cause);
  bool plausible(const Peer& peer, const Message& message) const;
  void route(Message message, std::vector<Message>& mine);

  int self_ = 0;
  std::vector<HostShare> hosts_;
  std::vector<Peer> peers_;
};

}  // namespace portunus::launch
