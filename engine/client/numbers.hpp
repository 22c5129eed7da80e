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
  kTeamMemoryPortal = 54,  // OpenSHMEM: symmetric memory, for graphs
  kControlPortal = 55,     // MPI: messages of its own
  kMeetingPortal = 56,     // MPI: processes of other jobs
  kRevocationPortal = 57,  // MPI: communicators that are revoked
  kFilePortal = 58,        // MPI: files
  kLogPortal = 59,         // MPI: which collectives a rank has begun
  kMessagePortal = 60,     // MPI: point-to-point messages
  kBarrierPortal = 61,     // MPI: the barrier of MPI_Finalize
  kSignalPortal = 62,      // MPI: events that a process sends to itself
  kWindowPortal = 63,      // MPI: windows
};

// GOAL's contexts above those that a program chooses (GOAL_Context). What a program's own schedules of a team or a communicator may have is
// apart from what the libraries' own collectives there have.
enum GoalContext : unsigned {
  kFirstTeamContext = 0x7000,                  // a team's number added: OpenSHMEM's collectives
  kFirstLaterTeamContext = 0x7200,             // the same: those that begin when another has ended
  kFirstTeamsProgramContext = 0x7400,          // a team's number added: schedules of the program
  kFirstTeamsGraphContext = 0x7600,            // a graph's number added: OpenSHMEM's graphs
  kFirstPlanContext = 0x7800,                  // a plan's number added
  kFirstCommunicatorContext = 0x8000,          // a communicator's number added: MPI's collectives
  kFirstCommunicatorsProgramContext = 0xC000,  // a communicator's number added: schedules of the program
  kGoalContexts = 0x10000,
};

}  // namespace portunus::client
