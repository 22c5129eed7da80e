// Messages over the connections once they stand; how they come to stand is in ptlrun_rendezvous.cpp.
//
// **Thread:** ptlrun's main thread.
#include "engine/tools/ptlrun_link.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace portunus::launch {
namespace {

constexpr std::chrono::seconds kFlushTime{2};

}  // namespace

Link::Link(const Options& options, JobPlan& plan) : self_(options.host_id) {
  try {
    if (self_ == 0) host_the_job(options, plan);
    else join_the_job(options, plan);
  } catch (...) {
    for (Peer& peer : peers_) close_peer(peer);
    throw;
  }
  hosts_ = plan.hosts;
}

Link::~Link() {
  for (Peer& peer : peers_) close_peer(peer);
}

void Link::close_peer(Peer& peer) {
  if (peer.fd >= 0) close(peer.fd);
  peer.fd = -1;
  peer.out.clear();
}

void Link::send(Word word, int to, std::string body) {
  const Message message{word, self_, to, std::move(body)};
  for (Peer& peer : peers_)
    if (peer.fd >= 0 && (self_ != 0 || to == kEveryOther || to == peer.host)) peer.out += framed(message);
}

void Link::watch(std::vector<pollfd>& list) const {
  for (const Peer& peer : peers_)
    if (peer.fd >= 0) list.push_back({peer.fd, static_cast<short>(peer.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
}

std::vector<Message> Link::service(const std::vector<pollfd>& list, std::string& failure) {
  std::vector<Message> mine;
  for (Peer& peer : peers_) {
    const auto entry = std::find_if(list.begin(), list.end(), [&](const pollfd& each) { return each.fd == peer.fd; });
    if (peer.fd < 0) continue;
    const short ready = entry == list.end() ? 0 : entry->revents;
    bool alive = (ready & POLLOUT) == 0 || push(peer);
    alive = alive && ((ready & ~POLLOUT) == 0 || receive(peer));
    Message message{};
    bool garbled = false;
    while (next_message(peer, message, garbled)) route(std::move(message), mine);  // what came before the end still counts
    if (alive && !garbled) continue;
    const std::string who = "host " + std::to_string(peer.host) + " (" + hosts_[static_cast<std::size_t>(peer.host)].name + ")";
    failure = garbled ? who + " sent what no ptlrun says; use the same version everywhere and keep others off the rendezvous port"
                      : "the connection to " + who + " was lost; check that its ptlrun still runs and the network is up";
    close_peer(peer);
  }
  return mine;
}

// Reads what is there; false when the connection has ended.
bool Link::receive(Peer& peer) {
  char bytes[65536];
  const ssize_t got = recv(peer.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got > 0) peer.in.append(bytes, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Link::push(Peer& peer) {
  const ssize_t put = ::send(peer.fd, peer.out.data(), peer.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put > 0) peer.out.erase(0, static_cast<std::size_t>(put));
  return put >= 0 || errno == EAGAIN || errno == EINTR;
}

bool Link::next_message(Peer& peer, Message& message, bool& garbled) {
  if (garbled || peer.in.size() < kHeadBytes) return false;
  const std::size_t size = number_at(peer.in.data());
  const auto word = static_cast<std::uint8_t>(peer.in[4]);
  const int from = static_cast<unsigned char>(peer.in[5]);
  const int to = static_cast<unsigned char>(peer.in[6]);
  const int host_count = static_cast<int>(hosts_.size());
  // Before the job is complete there are no hosts to name; greetings check what they say themselves.
  const bool known = host_count == 0 || (from < host_count && (self_ != 0 || from == peer.host) && (to < host_count || to == kEveryOther));
  const bool spoken = word >= static_cast<std::uint8_t>(Word::hello) && word <= static_cast<std::uint8_t>(Word::end);
  if (size > kMaxBody || !spoken || !known) return garbled = true, false;
  if (peer.in.size() < kHeadBytes + size) return false;
  message = {static_cast<Word>(word), from, to, peer.in.substr(kHeadBytes, size)};
  peer.in.erase(0, kHeadBytes + size);
  return true;
}

void Link::route(Message message, std::vector<Message>& mine) {
  if (self_ == 0 && message.to != 0) {
    for (Peer& peer : peers_)
      if (peer.fd >= 0 && peer.host != message.from && (message.to == kEveryOther || message.to == peer.host)) peer.out += framed(message);
  }
  if (message.to == self_ || message.to == kEveryOther) mine.push_back(std::move(message));
}

void Link::flush() {
  const auto until = Clock::now() + kFlushTime;
  for (;;) {
    std::vector<pollfd> list;
    for (const Peer& peer : peers_)
      if (peer.fd >= 0 && !peer.out.empty()) list.push_back({peer.fd, POLLOUT, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (list.empty() || left <= 0 || poll(list.data(), list.size(), static_cast<int>(left)) <= 0) return;
    for (Peer& peer : peers_)
      if (peer.fd >= 0 && !peer.out.empty() && !push(peer)) close_peer(peer);
  }
}

}  // namespace portunus::launch
