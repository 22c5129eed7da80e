// world.cpp: see world.hpp.
#include "tests/simulation/world.hpp"

namespace portunus::simulation {

Weather draw_weather(uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 1);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  constexpr size_t kEager[] = {64, 200, 1024, 8192};
  constexpr size_t kPull[] = {0, 512, 4096, size_t{1} << 20};
  constexpr size_t kCapacity[] = {1, 3, 16, 1000};
  Weather weather;
  weather.ranks = 2 + draw(4);
  weather.eager = kEager[draw(4)];
  weather.pull = kPull[draw(4)];
  weather.capacity = kCapacity[draw(4)];
  weather.draw_moods(draw);
  return weather;
}

World::World(const Weather& weather, uint64_t seed, Mutant mutant) : net(weather, seed, mutant), transports(weather.ranks) {
  std::vector<ptl_process_t> map(weather.ranks);
  for (uint32_t r = 0; r < weather.ranks; ++r) map[r].phys = {Network::id(r).nid, Network::id(r).pid};
  for (uint32_t r = 0; r < weather.ranks; ++r) {
    Host& host = *hosts.emplace_back(std::make_unique<Host>());
    host.node = std::make_unique<test::Node>(host.self, Network::id(r));
    auto transport = std::make_unique<SimulatedTransport>(host.node->engine, net, tap, r);
    host.transport = transport.get();
    transport->meet(transports);
    host.node->engine.peers().add_transport(std::move(transport), weather.costly);
    host.node->engine.keep_house_every(weather.timeout / 8);
    host.node->open(PTL_NI_MATCHING | PTL_NI_LOGICAL, map);
  }
}

uint64_t World::ready_at(const Host& host, bool acts) const {
  if (!host.alive) return kNever;
  uint64_t due = acts ? std::min(host.wake_at, host.act_at) : host.wake_at;
  if (net.mutant != Mutant::arrival_slept_through) due = std::min(due, host.transport->next_due());
  return std::max(due, host.stopped_until);
}

bool World::go_on(Actor* actor, uint64_t until) {
  uint32_t ready[64];
  uint32_t count = 0;
  uint64_t first = kNever;
  for (uint32_t r = 0; r < ranks(); ++r) {
    if (hosts[r]->transport->told_of_room()) wake(r);
    const uint64_t due = ready_at(*hosts[r], actor != nullptr);
    if (due == kNever) continue;
    first = std::min(first, due);
    if (due <= net.now) ready[count++] = r;
  }
  if (count == 0) {
    if (first >= until) return false;
    net.now = std::max(net.now, first);
    return true;
  }
  const uint32_t rank = ready[net.draw(count)];
  Host& host = *hosts[rank];
  if (actor && host.act_at <= net.now && net.one_in(2)) host.act_at = actor->act(rank);
  else step(rank, actor);
  net.now += 20 + net.draw(300);
  return true;
}

void World::step(uint32_t rank, Actor* actor) {
  Host& host = *hosts[rank];
  Engine& engine = host.node->engine;
  engine.step(net.now);
  if (actor) actor->stepped(rank);
  if (!host.alive) return;
  host.wake_at = net.now + 1;
  if (!engine.idle() || engine.busy()) return;
  const int64_t most = engine.max_idle_ns();
  host.wake_at = most < 0 ? kNever : net.now + static_cast<uint64_t>(most);
}

uint64_t World::strike(uint32_t rank) {
  const uint64_t timeout = net.weather.timeout;
  switch (net.draw(4)) {
    case 0: kill(rank, net.one_in(2)); break;
    case 1: {
      const uint64_t duration = net.one_in(2) ? 2 * timeout : timeout / 2;
      stop(rank, duration);
      return duration;
    }
    case 2: net.close(rank, other(rank), timeout / 2 + net.draw(static_cast<uint32_t>(timeout / 4))); break;
    default: net.close(rank, other(rank), timeout * (2 + net.draw(3)));
  }
  return 0;
}

void World::kill(uint32_t rank, bool at_once) {
  hosts[rank]->alive = false;
  net.kill(rank, at_once);
}

void World::stop(uint32_t rank, uint64_t duration) {
  hosts[rank]->stopped_until = net.now + duration;
  hosts[rank]->stopped_in_all += duration;
}

std::string World::close(bool failed) {
  std::string left;
  const auto say = [&](uint32_t rank, const char* what, uint64_t count) {
    if (count != 0 && left.empty()) left = std::to_string(count) + ' ' + what + " left at rank " + std::to_string(rank);
  };
  for (uint32_t r = 0; r < ranks(); ++r) {
    if (!alive(r)) continue;
    test::Node& mine = node(r);
    say(r, "operation or message", mine.engine.flushed() ? 0 : 1);
    say(r, "piece of memory open to others", net.open_to_others(r));
    say(r, "area for staging", net.areas_taken(r));
    say(r, "remote access", hosts[r]->transport->moving());
    say(r, "held header", mine.engine.interface(0).unexpected_headers);
    say(r, "malformed message", mine.engine.stats().malformed.read());
    if (!failed) say(r, "event for a queue or counter that is gone", mine.engine.stats().stale_events.read());
    uint64_t entries = 0;
    for (uint32_t i = 0; i < mine.objects.entries.used(); ++i) entries += mine.objects.entries.live_handle(i) != 0xffffffff;
    say(r, "list entry", entries);
    mine.engine.close_interface(0);
  }
  for (auto& host : hosts)
    for (uint32_t i = 0; i < host->node->objects.queues.used(); ++i) host->node->objects.queues.at(i).close();
  return left;
}

}  // namespace portunus::simulation
