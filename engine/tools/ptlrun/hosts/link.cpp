// Messages over the connections once they stand; how they come to stand is in rendezvous.cpp.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/hosts/link.hpp"

#include <algorithm>

namespace portunus::launch {
namespace {

constexpr std::chrono::seconds kFlushTime{2};

}  // namespace

Link::Link(const Options& options, JobPlan& plan, Agents& agents) : self_(options.host_id) {
  try {
    if (self_ == 0) host_the_job(options, plan, agents);
    else join_the_job(options, plan);
  } catch (...) {
    for (Peer& peer : peers_) peer.channel.shut();
    throw;
  }
  hosts_ = plan.hosts;
}

Link::~Link() {
  for (Peer& peer : peers_) peer.channel.shut();
}

void Link::send(Word word, int to, std::string body) {
  const Message message{word, self_, to, std::move(body)};
  for (Peer& peer : peers_)
    if (peer.channel.open() && (self_ != 0 || to == kEveryOther || to == peer.host)) peer.channel.send(message);
}

void Link::watch(std::vector<pollfd>& list) const {
  for (const Peer& peer : peers_)
    if (peer.channel.open()) list.push_back({peer.channel.fd(), static_cast<short>(peer.channel.sending() ? POLLIN | POLLOUT : POLLIN), 0});
}

std::vector<Message> Link::service(const std::vector<pollfd>& list, std::string& failure) {
  std::vector<Message> mine;
  for (Peer& peer : peers_) {
    if (!peer.channel.open()) continue;
    const auto entry = std::find_if(list.begin(), list.end(), [&](const pollfd& each) { return each.fd == peer.channel.fd(); });
    const short ready = entry == list.end() ? 0 : entry->revents;
    bool alive = (ready & POLLOUT) == 0 || peer.channel.push();
    alive = alive && ((ready & ~POLLOUT) == 0 || peer.channel.receive());
    bool sensible = true;
    Message message{};
    while (sensible && peer.channel.next(message)) {  // what came before the end still counts
      sensible = plausible(peer, message);
      if (sensible) route(std::move(message), mine);
    }
    sensible = sensible && !peer.channel.garbled();
    if (alive && sensible) continue;
    const std::string who = "host " + std::to_string(peer.host) + " (" + hosts_[static_cast<size_t>(peer.host)].name + ")";
    failure = sensible ? "the connection to " + who + " was lost; check that its ptlrun still runs and the network is up"
                       : who + " sent what no ptlrun says; use the same version everywhere and keep others off the rendezvous port";
    peer.channel.shut();
  }
  return mine;
}

// Nobody speaks for others, except host 0, through which everything goes.
bool Link::plausible(const Peer& peer, const Message& message) const {
  const int count = static_cast<int>(hosts_.size());
  return message.from < count && (self_ != 0 || message.from == peer.host) && (message.to < count || message.to == kEveryOther);
}

void Link::route(Message message, std::vector<Message>& mine) {
  if (self_ == 0 && message.to != 0) {
    for (Peer& peer : peers_)
      if (peer.channel.open() && peer.host != message.from && (message.to == kEveryOther || message.to == peer.host))
        peer.channel.send(message);
  }
  if (message.to == self_ || message.to == kEveryOther) mine.push_back(std::move(message));
}

bool Link::is_sending() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.channel.open() && peer.channel.sending(); });
}

bool Link::leads_to(int host) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [&](const Peer& peer) { return peer.channel.open() && (self_ != 0 || peer.host == host); });
}

void Link::flush() {
  const auto until = Clock::now() + kFlushTime;
  for (;;) {
    std::vector<pollfd> list;
    for (const Peer& peer : peers_)
      if (peer.channel.open() && peer.channel.sending()) list.push_back({peer.channel.fd(), POLLOUT, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (list.empty() || left <= 0 || poll(list.data(), list.size(), static_cast<int>(left)) <= 0) return;
    for (Peer& peer : peers_)
      if (peer.channel.open() && peer.channel.sending() && !peer.channel.push()) peer.channel.shut();
  }
}

}  // namespace portunus::launch
