// memory.hpp: memory the provider may touch: registrations shared by reference count.
//
// Thread: the holder of the baton.
// Invariants: a registration lives exactly as long as somebody uses it. An unused one is dropped at once: without hooks
// into the allocator nobody would tell us that its pages were unmapped and mapped anew, and a kept registration would
// then read or write the old pages. The cache serves what is shared at one time: a source that many peers pull.
// Source: fi_mr(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>

#include "engine/transport/fabric/endpoint.hpp"
#include "engine/transport/wire.hpp"

namespace portunus::fabric {

struct Registration {
  Fid<fid_mr> mr;
  uint32_t users = 0;
  uint64_t key = 0;
  void* descriptor = nullptr;

  struct Range {
    uintptr_t start;
    size_t size;
    uint64_t access;
    auto operator<=>(const Range&) const = default;
  } range{};
};

class Registrations {
 public:
  explicit Registrations(Endpoint& endpoint);
  // Null when the provider refuses (e.g. no more memory may be locked).
  Registration* acquire(const void* start, size_t size, uint64_t access);
  void release(Registration* registration);
  // Returns how peers address it.
  wire::Region region_of(const Registration& registration) const;

 private:
  Fid<fid_mr> enroll(const Registration::Range& range);

  Endpoint& endpoint_;
  uint64_t key_mask_;
  std::mt19937_64 keys_;  // chosen at random, so that no key is right by accident
  std::map<Registration::Range, Registration> used_;
};

}  // namespace portunus::fabric
