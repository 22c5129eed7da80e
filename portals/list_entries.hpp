// list_entries.hpp: claiming a list entry, for the plain and the triggered append.
#pragma once

#include "portals/arguments.hpp"
#include "portals/portals4_ext.h"

namespace portunus::api {

constexpr uint32_t kExtensions =
    PTLX_ME_COMPLETE_UNEXPECTED | PTLX_ME_HOLD | PTLX_ME_COUNT_MISMATCHES | PTLX_ME_LAYOUT | PTLX_ME_RECORD | PTLX_ME_RECORD_SENDER;
constexpr uint32_t kMeOptions = PTL_ME_APPEND_OPTIONS_MASK | kExtensions | PTLX_ME_RECORD_HEADER;
constexpr uint32_t kLeOptions = PTL_LE_APPEND_OPTIONS_MASK | kExtensions;

// Checks every argument and fills a slot; PTL_ARG_INVALID or PTL_NO_SPACE leave nothing behind. `function` is the entry point.
int claim_entry(const char* function, Interface& interface, ptl_pt_index_t pt_index, const ptl_me_t& me, bool has_match, uint32_t allowed,
                ptl_list_t list, void* user_ptr, uint32_t& handle);

// The pattern that match_id, match_bits and ignore_bits of an ME ask for.
MatchPattern match_pattern(const Interface& interface, const ptl_me_t& me);

}  // namespace portunus::api
