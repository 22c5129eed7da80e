// transport_kinds.hpp: the transports that take part in the conformance suite.
#pragma once

#include <unistd.h>

#include "engine/measurement/delayed.hpp"
#include "engine/transport/fabric/fabric.hpp"
#include "engine/transport/node/node.hpp"
#include "engine/transport/self.hpp"
#include "tests/engine/transport_pair.hpp"

namespace portunus {

class SelfPair final : public TransportPair {
 public:
  SelfPair() {
    hub_.capacity = 1000;
    for (int side : {0, 1}) ends[side] = std::make_unique<SelfTransport>(sinks[side], hub_, process(side), 7);
  }
  ~SelfPair() override {
    for (auto& each : ends) each.reset();
  }
  ProcessId process(int side) const override { return {1, static_cast<uint32_t>(side) + 1}; }
  bool tells_loss() const override { return false; }

 private:
  SelfHub hub_;
};

// Two processes' segments in one process: what is shared between them is the same memory as ever.
class NodePair final : public TransportPair {
 public:
  NodePair() {
    for (int side : {0, 1}) ends[side] = std::make_unique<NodeTransport>(sinks[side], stats_[side], process(side), geteuid(), 64 * 1024);
  }
  ProcessId process(int side) const override { return {0x7f000001, 100'000u + 2 * static_cast<uint32_t>(getpid() % 1'000'000) + static_cast<uint32_t>(side)}; }

 private:
  Stats stats_[2];
};

// The same behind a wire.
class DelayedPair final : public TransportPair {
 public:
  DelayedPair() {
    for (int side : {0, 1})
      ends[side] = std::make_unique<DelayedTransport>(sinks[side], WireOptions{20'000, 1000}, [&](Sink& sink) {
        return std::make_unique<NodeTransport>(sink, stats_[side], process(side), geteuid(), 64 * 1024);
      });
  }
  ProcessId process(int side) const override { return {0x7f000001, 100'000u + 2 * static_cast<uint32_t>(getpid() % 1'000'000) + static_cast<uint32_t>(side)}; }

 private:
  Stats stats_[2];
};

class FabricPair final : public TransportPair {
 public:
  explicit FabricPair(const char* provider) {
    for (int side : {0, 1}) {
      auto end = std::make_unique<FabricTransport>(sinks[side], FabricOptions{provider, "127.0.0.1", 0, 7});
      process_[side] = end->self();
      ends[side] = std::move(end);
    }
  }
  ProcessId process(int side) const override { return process_[side]; }

 private:
  ProcessId process_[2];
};

inline const TransportKind kTransports[] = {
    {"self", []() -> std::unique_ptr<TransportPair> { return std::make_unique<SelfPair>(); }},
    {"node", []() -> std::unique_ptr<TransportPair> { return std::make_unique<NodePair>(); }},
    {"delayed", []() -> std::unique_ptr<TransportPair> { return std::make_unique<DelayedPair>(); }},
    {"fabric_tcp", []() -> std::unique_ptr<TransportPair> { return std::make_unique<FabricPair>("tcp"); }},
    {"fabric_shm", []() -> std::unique_ptr<TransportPair> { return std::make_unique<FabricPair>("shm"); }},
};

}  // namespace portunus
