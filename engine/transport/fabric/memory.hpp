// memory.hpp: memory the provider may touch.
//
// Thread: the holder of the baton.
// Invariants: a registration lives exactly as long as it is used, since without hooks into the allocator nobody would tell us that its
// pages were unmapped and mapped anew. Providers for which pinning pages is dear keep registrations by themselves, and have such hooks.
// Source: fi_mr(3), "Memory Registration Cache".
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>

#include "engine/transport/fabric/endpoint.hpp"
#include "engine/transport/wire.hpp"

namespace portunus::fabric {

struct Registration {
  Fid<fid_mr> mr;
  wire::Region region;  // how peers address it
  void* descriptor;
};

class Registrations {
 public:
  explicit Registrations(Endpoint& endpoint);
  // Null when the provider refuses (e.g. no more memory may be locked).
  Registration* acquire(const void* start, size_t size, uint64_t access);
  void release(const Registration* registration) {
    if (registration != nullptr) used_.erase(registration->mr.get());
  }

 private:
  Endpoint& endpoint_;
  uint64_t key_mask_;
  std::mt19937_64 keys_;  // chosen at random, so that no key is right by accident
  std::unordered_map<fid_mr*, Registration> used_;
};

}  // namespace portunus::fabric
