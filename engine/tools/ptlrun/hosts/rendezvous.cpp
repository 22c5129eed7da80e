// How the ptlruns of one job find each other: host 0 listens, the others introduce themselves and are told the plan.
//
// Thread: ptlrun's main thread, before anything of the job exists; signals still end ptlrun as they end any program.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "engine/host/keep_alive.hpp"
#include "engine/tools/ptlrun/hosts/link.hpp"

namespace portunus::launch {
namespace {

constexpr char kMagic[] = "ptlrun-link-1";
constexpr std::chrono::seconds kJoinTime{60};
constexpr int kRetry_ms = 50;
constexpr size_t kMaxHello = 4096;  // a stranger may not make us keep more

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const std::string& rendezvous) {
  const auto colon = rendezvous.rfind(':');
  std::string host = rendezvous.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const bool formed = colon != std::string::npos && !host.empty() && colon + 1 < rendezvous.size();
  unsigned port = 0;
  const char* const end = rendezvous.data() + rendezvous.size();
  const bool is_port = formed && std::from_chars(rendezvous.data() + colon + 1, end, port) == std::from_chars_result{end, std::errc()} &&
                       port >= 1 && port <= 65535;
  const int rc = is_port ? getaddrinfo(host.c_str(), rendezvous.c_str() + colon + 1, &wanted, &found) : EAI_NONAME;
  if (rc != 0)
    throw Refusal(kBadUse, "--rendezvous '" + rendezvous + "' names no place to meet (" + gai_strerror(rc) +
                               "); give an address of host 0 and a free port, e.g. 10.0.0.1:7000");
  return {found, freeaddrinfo};
}

int listen_at(const std::string& rendezvous) {
  const Addresses found = look_up(rendezvous);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      listen(fd, kMaxHosts) == 0)
    return fd;
  const std::string cause = std::strerror(errno);
  if (fd >= 0) close(fd);
  throw Refusal(1, "host 0 cannot listen at " + rendezvous + " (" + cause + "); give an address of this host and a free port");
}

// At a port that the kernel chooses, for the ptlruns that we start ourselves.
int listen_anywhere() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && listen(fd, kMaxHosts) == 0) return fd;
  const std::string cause = std::strerror(errno);
  if (fd >= 0) close(fd);
  throw Refusal(1, "no socket can be made (" + cause + "); raise the limit of open files (ulimit -n)");
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? ntohs(address.sin_port) : 0;
}

std::chrono::steady_clock::time_point join_limit(const Options& options) {
  std::chrono::duration<double> limit = kJoinTime;
  if (options.timeout_s > 0) limit = std::min(limit, std::chrono::duration<double>(options.timeout_s));
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
}

std::string introduction(const Options& options) {
  std::string body;
  put_text(body, kMagic);
  put_number(body, static_cast<uint32_t>(options.hosts));
  put_number(body, static_cast<uint32_t>(options.host_id));
  put_number(body, static_cast<uint32_t>(options.ranks));
  put_text(body, host_name());
  return body;
}

std::string plan_text(const JobPlan& plan) {
  std::string body;
  put_text(body, plan.nspace);
  for (const HostShare& host : plan.hosts) {
    put_text(body, host.name);
    put_number(body, static_cast<uint32_t>(host.ranks));
  }
  return body;
}

bool fit_name(const std::string& name) { return !name.empty() && name.size() < 200 && name.find_first_of("/,;") == std::string::npos; }

std::string missing_hosts(const std::vector<bool>& joined) {
  std::string list;
  for (size_t host = 0; host < joined.size(); ++host)
    if (!joined[host]) list += (list.empty() ? "" : ", ") + std::to_string(host);
  return list;
}

}  // namespace

// poll() with a limit on the whole rendezvous.
void Link::await(std::vector<pollfd>& list, const Options& options, Clock::time_point until, const std::string& missing) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  if (left <= 0)
    throw Refusal(options.timeout_s > 0 && options.timeout_s <= 60 ? kTimedOut : 1,
                  missing + "; start a ptlrun on every host, with the same --hosts and --rendezvous, and check the network between them");
  poll(list.data(), list.size(), static_cast<int>(left));
}

void Link::host_the_job(const Options& options, JobPlan& plan, Agents& agents) {
  const auto until = join_limit(options);
  std::vector<bool> joined(static_cast<size_t>(options.hosts), false);
  joined[0] = true;
  plan.hosts.assign(joined.size(), {});
  plan.hosts[0] = {host_name(), 0, options.ranks};
  const bool by_agents = !options.remote.empty();
  peers_.push_back({Channel(by_agents ? listen_anywhere() : listen_at(options.rendezvous)), -1});  // first: the listener
  if (by_agents) agents.start(options, port_of(peers_[0].channel.fd()));
  const std::string where = by_agents ? "this host" : options.rendezvous;
  while (std::find(joined.begin(), joined.end(), false) != joined.end()) {
    std::vector<pollfd> list;
    for (const Peer& peer : peers_)
      if (peer.host < 0) list.push_back({peer.channel.fd(), POLLIN, 0});
    agents.watch(list);
    await(list, options, until, "these hosts did not join the job at " + where + " in time: " + missing_hosts(joined));
    agents.must_all_run();
    const int fd = accept4(peers_[0].channel.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) peers_.push_back({Channel(fd), -1});
    for (size_t i = 1; i < peers_.size(); ++i)
      if (peers_[i].host < 0) greet(peers_[i], options, plan, joined);
    std::erase_if(peers_, [](const Peer& peer) { return !peer.channel.open(); });
  }
  for (Peer& peer : peers_)
    if (peer.host < 0) peer.channel.shut();  // the listener, and strangers that never spoke
  std::erase_if(peers_, [](const Peer& peer) { return !peer.channel.open(); });
  for (const Peer& peer : peers_) keep_alive(peer.channel.fd(), options.peer_timeout_s);
  complete_plan(plan);
  send(Word::welcome, kEveryOther, plan_text(plan));
}

// Takes in a host that introduced itself; turns others away.
void Link::greet(Peer& peer, const Options& options, JobPlan& plan, std::vector<bool>& joined) {
  Message message{};
  const bool alive = peer.channel.receive();
  if (!peer.channel.next(message)) {
    if (!alive || peer.channel.garbled() || peer.channel.unread() > kMaxHello) peer.channel.shut();
    return;
  }
  Reader reader(message.body);
  const bool ours = message.word == Word::hello && reader.text() == kMagic;
  const auto hosts = reader.number(), host = reader.number(), ranks = reader.number();
  const std::string name = reader.text();
  if (!ours || !reader.complete() || !fit_name(name)) return peer.channel.shut();
  std::string objection;
  if (hosts != static_cast<uint32_t>(options.hosts))
    objection = "host " + std::to_string(host) + " was started with --hosts " + std::to_string(hosts) + ", host 0 with --hosts " +
                std::to_string(options.hosts) + "; give all the same";
  else if (host >= hosts || joined[host])
    objection = "--host-id " + std::to_string(host) + " is taken or too large; number the hosts 0 to " + std::to_string(hosts - 1);
  else if (ranks < 1 || ranks > static_cast<uint32_t>(kMaxRanks))
    objection = "host " + std::to_string(host) + " offers " + std::to_string(ranks) + " ranks; give 1 to " + std::to_string(kMaxRanks);
  if (!objection.empty()) {
    std::fprintf(stderr, "ptlrun: a host was turned away: %s\n", objection.c_str());
    std::string body;
    put_text(body, objection);
    peer.channel.send({Word::refused, 0, static_cast<int>(std::min(host, 254u)), std::move(body)});
    peer.channel.push();
    return peer.channel.shut();
  }
  peer.host = static_cast<int>(host);
  joined[host] = true;
  plan.hosts[host] = {name, 0, static_cast<int>(ranks)};
}

// One try to reach host 0: a descriptor, or -1 and the cause.
int Link::connect_once(const Options& options, Clock::time_point until, std::string& cause) {
  const Addresses found = look_up(options.rendezvous);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    throw Refusal(1, std::string("no socket can be made (") + std::strerror(errno) + "); raise the limit of open files (ulimit -n)");
  int error = connect(fd, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    std::vector<pollfd> list{{fd, POLLOUT, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    socklen_t size = sizeof error;
    if (poll(list.data(), 1, static_cast<int>(std::max<long long>(left, 0))) <= 0) error = ETIMEDOUT;
    else getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0) return fd;
  close(fd);
  cause = std::strerror(error);
  return -1;
}

void Link::join_the_job(const Options& options, JobPlan& plan) {
  const auto until = join_limit(options);
  std::string cause = "no answer";
  int fd;
  while ((fd = connect_once(options, until, cause)) < 0) {
    poll(nullptr, 0, kRetry_ms);
    std::vector<pollfd> nothing;
    if (Clock::now() >= until)
      await(nothing, options, until, "host 0 could not be reached at " + options.rendezvous + " in time (" + cause + ")");
  }
  peers_.push_back({Channel(fd), 0});
  Channel& channel = peers_[0].channel;
  keep_alive(fd, options.peer_timeout_s);
  send(Word::hello, 0, introduction(options));
  Message message{};
  for (bool alive = true; !channel.next(message);) {
    if (!alive || channel.garbled())
      throw Refusal(
          1, "whoever listens at " + options.rendezvous + " hung up; check that it is host 0 of this job and that its ptlrun still runs");
    std::vector<pollfd> list;
    watch(list);
    await(list, options, until, "host 0 was reached at " + options.rendezvous + " but the job was not complete in time");
    if (list[0].revents & POLLOUT) alive = channel.push();
    if (list[0].revents & ~POLLOUT) alive = channel.receive() && alive;
  }
  Reader reader(message.body);
  if (message.word == Word::refused) throw Refusal(kBadUse, "host 0 turned this host away: " + reader.text());
  plan.nspace = reader.text();
  bool fit = message.word == Word::welcome && fit_name(plan.nspace);
  for (int host = 0; host < options.hosts; ++host) {
    plan.hosts.push_back({reader.text(), 0, static_cast<int>(reader.number())});
    const HostShare& share = plan.hosts.back();
    fit = fit && fit_name(share.name) && share.ranks >= (host == 0 ? 0 : 1) && share.ranks <= kMaxRanks;
  }
  if (!fit || !reader.complete() || plan.hosts[static_cast<size_t>(options.host_id)].ranks != options.ranks)
    throw Refusal(1, "host 0 described the job in an unknown form; use the same version of ptlrun everywhere");
  complete_plan(plan);
}

}  // namespace portunus::launch
