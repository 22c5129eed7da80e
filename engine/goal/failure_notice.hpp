// failure_notice.hpp: the messages of no bytes that tell of failures, and how those of one context meet their entries.
//
// Every program of a context, and its domain, has an entry for one such message. Whoever has taken one fails, and sends the next to its
// own process: so it passes through all there are, however many, and the last one stays with the port, for those to come. Who failed
// for a reason of its own may take what it sent itself, and sends another then: else nobody else here would be told.
//
//     match bits  | 3 : 2 | context : 16 | 0 : 43 | revoked : 1 |
//
// Thread: pure.
#pragma once

#include <cstdint>

#include "engine/goal/schedules/compile.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::goal {

inline constexpr uint64_t kFailureNotice = uint64_t{3} << 60;
inline constexpr uint64_t kNoticesOfContext = (uint64_t{1} << kContextShift) - 1;  // ignored: all notice of one
inline constexpr uint64_t kRevoked = 1;                                            // somebody wants everything to fail

[[nodiscard]] inline uint64_t failure_notice_of(uint16_t context) { return kFailureNotice | uint64_t{context} << kContextShift; }

// Counts of `errors` at each of which one is sent to the own process: the failure, and the message that comes after it.
inline constexpr ptl_size_t kPassedOnAt[] = {1, 2};

// An entry for one message, which counts on `errors`; also for one that has come already.
[[nodiscard]] inline ptl_me_t failure_notice_entry(uint64_t match_bits, ptl_handle_ct_t errors) {
  ptl_me_t me{};
  me.ct_handle = errors;
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTLX_ME_COMPLETE_UNEXPECTED;
  me.match_id.rank = PTL_RANK_ANY;
  me.match_bits = match_bits;
  return me;
}

}  // namespace portunus::goal
