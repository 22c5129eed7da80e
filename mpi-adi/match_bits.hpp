// match_bits.hpp: how an MPI message is addressed in Portals match bits.
//
//   63          51 50                31 30                           0
//   +-------------+--------------------+-----------------------------+
//   | context (13)|    source (20)     |          tag (31)           |
//   +-------------+--------------------+-----------------------------+
//
// context: the communicator; source: the sender's rank in it; tag: the user's. MPI_ANY_SOURCE and MPI_ANY_TAG are
// ignore bits over the whole field. A receive from a given source names that process in match_id too, so the engine
// needs to look at one peer's messages only.
//
// Thread: any. Invariants: no field ever spills into its neighbour; callers check rank and tag first.
// Source: MPI-5.0, 3.2 (message envelope); Portals 4.3, matching.
#pragma once

#include <climits>
#include <cstdint>

#include "mpi-adi/mpi.h"
#include "portals/portals4.h"

namespace portunus::mpi {

constexpr int kContextBits = 13;
constexpr int kSourceBits = 20;
constexpr int kTagBits = 31;
static_assert(kContextBits + kSourceBits + kTagBits == 64);

constexpr int kMaxTag = INT_MAX;  // the value of MPI_TAG_UB
constexpr int kMaxRanks = 1 << kSourceBits;
static_assert(kMaxTag == (int64_t{1} << kTagBits) - 1, "every tag that an int can hold");
constexpr int kMaxContexts = 1 << kContextBits;

constexpr ptl_match_bits_t kTagMask = (uint64_t{1} << kTagBits) - 1;
constexpr ptl_match_bits_t kSourceMask = ((uint64_t{1} << kSourceBits) - 1) << kTagBits;

constexpr ptl_match_bits_t match_bits(uint16_t context, int source, int tag) {
  return uint64_t{context} << (kSourceBits + kTagBits) | static_cast<uint64_t>(static_cast<uint32_t>(source)) << kTagBits |
         static_cast<uint32_t>(tag);
}
constexpr int source_of(ptl_match_bits_t bits) { return static_cast<int>((bits & kSourceMask) >> kTagBits); }
constexpr int tag_of(ptl_match_bits_t bits) { return static_cast<int>(bits & kTagMask); }

// Messages that MPI_Mprobe has taken out carry this context, which no communicator has, and a serial number.
constexpr uint16_t kMatchedContext = kMaxContexts - 1;
constexpr ptl_match_bits_t matched_label(uint64_t serial) {
  return uint64_t{kMatchedContext} << (kSourceBits + kTagBits) | (serial & (kSourceMask | kTagMask));
}

// What a receive or a probe looks for.
struct Pattern {
  ptl_match_bits_t match_bits;
  ptl_match_bits_t ignore_bits;
};
constexpr Pattern pattern(uint16_t context, int source, int tag) {
  const bool any_source = source == MPI_ANY_SOURCE, any_tag = tag == MPI_ANY_TAG;
  return {match_bits(context, any_source ? 0 : source, any_tag ? 0 : tag),
          (any_source ? kSourceMask : 0) | (any_tag ? kTagMask : 0)};
}

static_assert(source_of(match_bits(kMaxContexts - 1, kMaxRanks - 1, kMaxTag)) == kMaxRanks - 1);
static_assert(tag_of(match_bits(kMaxContexts - 1, kMaxRanks - 1, kMaxTag)) == kMaxTag);
static_assert(match_bits(kMaxContexts - 1, kMaxRanks - 1, kMaxTag) == ~uint64_t{0});
static_assert(match_bits(1, 0, 0) == uint64_t{1} << 51 && match_bits(0, 1, 0) == uint64_t{1} << 31);

}  // namespace portunus::mpi
