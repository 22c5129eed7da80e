// The wrappers of Portals' calls record by these functions (portals_calls.cpp): operations, list entries, counting events and full events.
// Portals has no profiling names: the functions themselves are looked up behind the wrappers.
//
// Thread: any; one lock is held while a table is looked at.
#pragma once

#include <cstdint>

#include "engine/tools/record/writer.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::record::portals {

void begin(Call& call, int rank, int size);
// PtlInit and PtlFini: the last ends the recording.
void entered();
void end(Call& call);
// The interface names processes by rank from now on.
void mapped(ptl_handle_ni_t ni);
void opened(Call& call, ptl_handle_ni_t ni, bool logical);

// ---- what operations, entries and events refer to
void bound(ptl_handle_md_t md, const ptl_md_t& facts, ptl_handle_ni_t ni);
void appended(Call& call, ptl_handle_any_t entry, ptl_pt_index_t index, ptl_list_t list, unsigned int options, ptl_handle_ct_t counter,
              ptl_match_bits_t bits, ptl_match_bits_t ignored);
void unlinked(Call& call, ptl_handle_any_t entry);

struct Trigger {
  ptl_handle_ct_t counter = PTL_CT_NONE;
  ptl_size_t threshold = 0;
};
struct Operation {
  ptl_handle_md_t md;  // whose events tell of its end
  ptl_process_t target;
  ptl_pt_index_t index;
  ptl_match_bits_t bits;
  const void* user;
  ptl_size_t bytes = 0, back = 0;
  bool acknowledged = false;
};
void issued(Call& call, const Operation& operation, Trigger trigger = {});
// `value` is added, or becomes that of the counting event.
void counted(Call& call, ptl_handle_ct_t counter, ptl_size_t value, bool set, Trigger trigger = {});
void waited(Call& call, ptl_handle_ct_t counter);
// A look at a counting event, as a loop that waits has.
void looked(Call& call, ptl_handle_ct_t counter, const ptl_ct_event_t& value);
void took(Call& call, ptl_handle_eq_t queue, const ptl_event_t& event);
void fenced(Call& call);

}  // namespace portunus::record::portals
