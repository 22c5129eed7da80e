// numbers.hpp: the portal table entries and GOAL contexts of the libraries above Portals, which share interfaces of a process.
//
// An index is the same in all processes of a job. Those that a program takes by PTL_PT_ANY are others: the engine gives the lowest first.
#pragma once

#include "portals/portals4.h"

namespace portunus::client {

enum PortalIndex : ptl_pt_index_t {
  kDistributionPortal = 44,  // messages of plans
  kGoalPortal = 48,          // messages of schedules
  kWireProbePortal = 49,     // a message that is timed
  kPeaceReceivesPortal = 50,
  kPeaceTokensPortal = 51,
  kPeaceSignalsPortal = 52,
  kMeetingPortal = 56,     // MPI: processes of other jobs
  kRevocationPortal = 57,  // MPI: communicators that are revoked
  kFilePortal = 58,        // MPI: files
  kLogPortal = 59,         // MPI: which collectives a rank has begun
  kMessagePortal = 60,     // MPI: point-to-point messages
  kBarrierPortal = 61,     // MPI: the barrier of MPI_Finalize
  kSignalPortal = 62,      // MPI: events that a process sends to itself
  kWindowPortal = 63,      // MPI: windows
};

// Contexts are divided: MPI's communicators take the lower half from below, plans of a distribution its end, OpenSHMEM's teams the upper
// half.
enum GoalContext : unsigned { kLastPlanContext = 16383, kFirstTeamContext = 16384, kGoalContexts = 32768 };

}  // namespace portunus::client
