// transport_pair.hpp: two ends of a transport in one process, for the conformance suite, and a record of what arrived there.
//
// Thread: one, except where a test says otherwise.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/transport/self/self.hpp"
#include "engine/transport/table.hpp"

namespace portunus {

// A sink that remembers.
class Recorder final : public Sink {
 public:
  struct Arrival {
    Link* from;
    wire::Header header;
    std::vector<std::byte> payload;
  };

  void arrived(Link& from, const wire::Header& header, const std::byte* payload) override {
    Arrival& arrival = arrivals.emplace_back(Arrival{&from, header, {}});
    if (const uint64_t size = wire::payload_of(header)) arrival.payload.assign(payload, payload + size);
  }
  void moved(void* context, bool ok) override { moves[context].push_back(ok); }
  void lost(Link& link) override { losses.push_back(&link); }
  void introduced(Link& link, Transport&) override {
    arrivals_before_introduction[&link] = arrivals.size();
    introductions.push_back(&link);
    link.peer = somebody();
  }

  // Transports ask only whether a link's peer is set.
  static Peer* somebody() {
    static char place;
    return reinterpret_cast<Peer*>(&place);
  }

  std::deque<Arrival> arrivals;
  std::map<void*, std::vector<bool>> moves;
  std::vector<Link*> losses;
  std::vector<Link*> introductions;
  std::map<Link*, size_t> arrivals_before_introduction;
};

// Two ends, 0 and 1, of a transport under the options of one of its variants.
class TransportPair {
 public:
  TransportPair(const TransportType& type, const TransportType::Variant* variant) : type_(type) {
    Options options;
    options.interface = "127.0.0.1";
    options.ring_bytes = 64 * 1024;
    if (variant) variant->choose(options);
    if (const char* const provider = std::getenv("PTL_FABRIC_PROVIDER"); provider != nullptr && !options.provider.empty())
      options.provider = provider;  // one that the table does not know
    hub_.capacity = 1000;
    for (int side : {0, 1}) {
      TransportOpening opening{sinks[side], stats_[side], options, hub_, geteuid()};
      opening.self = {0x7f000001, 100'000'000u + 2 * static_cast<uint32_t>(getpid() % 1'000'000) + static_cast<uint32_t>(side)};
      if (!type.wanted(opening)) throw std::logic_error("a transport does not want the options of its own variant");
      ends[side] = type.open(opening);
      process_[side] = opening.self;
    }
  }
  ~TransportPair() {
    for (auto& each : ends) each.reset();
  }

  ProcessId process(int side) const { return process_[side]; }
  bool tells_loss() const { return type_.tells_loss; }

  Transport& operator[](int side) { return *ends[side]; }
  void end(int side) { ends[side].reset(); }

  Recorder sinks[2];
  std::unique_ptr<Transport> ends[2];

 private:
  const TransportType& type_;
  SelfHub hub_;
  Stats stats_[2];
  ProcessId process_[2];
};

struct TransportKind {
  std::string name;  // as a test may be called
  const TransportType* type;
  const TransportType::Variant* variant;
};

// Every variant of every transport in the table.
inline std::vector<TransportKind> transport_kinds() {
  std::vector<TransportKind> all;
  for (const TransportType* type : transport_types()) {
    if (type->variants.empty()) all.push_back({type->name, type, nullptr});
    for (const TransportType::Variant& variant : type->variants) {
      std::string name = std::string(type->name) + "_" + variant.name;
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
      all.push_back({name, type, &variant});
    }
  }
  return all;
}

}  // namespace portunus
