// match_bits.hpp: how an MPI message is addressed in Portals match bits.
//
//   63              48 47              31 30                           0
//   +-----------------+-----------------+-----------------------------+
//   |   context (16)  |   source (17)   |          tag (31)           |   jobs of up to 2^17 ranks
//   +-----------------+-----------------+-----------------------------+
//
//   63          51 50                 31 30                           0
//   +-------------+---------------------+-----------------------------+
//   | context (13)|     source (20)     |          tag (31)           |   larger ones, which have fewer communicators
//   +-------------+---------------------+-----------------------------+
//
// context: the communicator; source: the sender's rank in it; tag: the user's. MPI_ANY_SOURCE and MPI_ANY_TAG are
// ignore bits over the whole field. A receive from a given source names that process in match_id too, so the engine
// needs to look at one peer's messages only.
//
// Thread: any; which layout is in force is settled before there are messages.
// Invariants: no field ever spills into its neighbour; callers check rank and tag first.
// Source: MPI-5.0, 3.2 (message envelope); Portals 4.3, matching.
#pragma once

#include <climits>
#include <cstdint>

#include "mpi-adi/mpi.h"
#include "portals/portals4.h"

namespace portunus::mpi {

constexpr int kTagBits = 31;
constexpr int kMaxTag = INT_MAX;  // the value of MPI_TAG_UB
static_assert(kMaxTag == (int64_t{1} << kTagBits) - 1, "every tag that an int can hold");
constexpr ptl_match_bits_t kTagMask = (uint64_t{1} << kTagBits) - 1;

// The bit at which the context ends and the source begins.
struct Envelope {
  int source_bits;

  constexpr int ranks() const { return 1 << source_bits; }
  constexpr int contexts() const { return 1 << (64 - kTagBits - source_bits); }
  constexpr ptl_match_bits_t source_mask() const { return ((uint64_t{1} << source_bits) - 1) << kTagBits; }
  constexpr ptl_match_bits_t bits(uint16_t context, int source, int tag) const {
    return uint64_t{context} << (source_bits + kTagBits) | static_cast<uint64_t>(static_cast<uint32_t>(source)) << kTagBits |
           static_cast<uint32_t>(tag);
  }
  constexpr int source(ptl_match_bits_t bits) const { return static_cast<int>((bits & source_mask()) >> kTagBits); }
  constexpr bool holds_all() const {
    return bits(static_cast<uint16_t>(contexts() - 1), ranks() - 1, kMaxTag) == ~uint64_t{0} && source(~uint64_t{0}) == ranks() - 1 &&
           bits(1, 0, 0) == uint64_t{1} << (source_bits + kTagBits) && bits(0, 1, 0) == uint64_t{1} << kTagBits;
  }
};
constexpr Envelope kUsualJobs{17}, kHugeJobs{20};
static_assert(kUsualJobs.holds_all() && kUsualJobs.contexts() == 1 << 16);
static_assert(kHugeJobs.holds_all() && kHugeJobs.contexts() == 1 << 13);
constexpr int kMaxRanks = kHugeJobs.ranks();

inline constinit Envelope envelope = kUsualJobs;  // written by MPI_Init
constexpr const Envelope& envelope_for(int ranks) { return ranks <= kUsualJobs.ranks() ? kUsualJobs : kHugeJobs; }

inline ptl_match_bits_t match_bits(uint16_t context, int source, int tag) { return envelope.bits(context, source, tag); }
inline int source_of(ptl_match_bits_t bits) { return envelope.source(bits); }
constexpr int tag_of(ptl_match_bits_t bits) { return static_cast<int>(bits & kTagMask); }

// Messages that MPI_Mprobe has taken out carry this context, which no communicator has, and a serial number.
inline uint16_t matched_context() { return static_cast<uint16_t>(envelope.contexts() - 1); }
inline ptl_match_bits_t matched_label(uint64_t serial) {
  return match_bits(matched_context(), 0, 0) | (serial & (envelope.source_mask() | kTagMask));
}

// The pattern that a receive or a probe looks for.
struct Pattern {
  ptl_match_bits_t match_bits;
  ptl_match_bits_t ignore_bits;
};
inline Pattern pattern(uint16_t context, int source, int tag) {
  const bool any_source = source == MPI_ANY_SOURCE, any_tag = tag == MPI_ANY_TAG;
  return {match_bits(context, any_source ? 0 : source, any_tag ? 0 : tag),
          (any_source ? envelope.source_mask() : 0) | (any_tag ? kTagMask : 0)};
}

}  // namespace portunus::mpi
