// domain.hpp: the ranks of a context that fail together: see goal_domain.h.
//
// `revoked` and `errors` count what is heard; operations parked there pass it on, to the neighbours first, so that who is told of a
// revocation is told of it before the failure that it brings. Then to this process itself (failure_notice.hpp).
//
// Thread: as goal_domain.h says. Invariants: neighbours differ, and are others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/goal/goal_collectives.h"
#include "engine/goal/program.hpp"

namespace portunus::goal {

class Domain {
 public:
  // The port must outlive this object.
  Domain(const Port& port, const GOAL_Group& group, uint16_t context);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  int open();  // PTL_* codes; after an error it can only go
  void revoke() const;
  [[nodiscard]] bool failed() const { return counted(errors_); }
  [[nodiscard]] bool revoked() const { return counted(revoked_); }

 private:
  int tell(uint32_t rank, uint64_t match_bits, ptl_handle_ct_t when, ptl_size_t count = 1) const;
  int hear(uint64_t match_bits, ptl_handle_ct_t errors);
  static bool counted(const client::Counter& counter);

  const Port& port_;
  uint64_t notice_;
  uint32_t self_;
  std::vector<uint32_t> neighbours_;  // ranks of the job
  client::Descriptor teller_;
  client::Counter errors_, revoked_;
  std::vector<client::MatchEntry> entries_;
};

}  // namespace portunus::goal
