// event_types.hpp: what tools are told of each type of events: its name, its meaning, and its numbers. Thread: any; constants.
#pragma once

#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi::tool {

inline constexpr int kMostElements = 4;  // all are MPI_INT64_T, one behind the other

struct EventType {
  const char* name;
  int elements;
  bool inside;  // raised where the library holds what other calls may need: a callback may not call MPI
  const char* meaning;
};

constexpr EventType kEventTypes[kEvents] = {
    {"send_begins", 4, false, "a send was called: communicator (its context), target, tag, bytes"},
    {"receive_begins", 4, false, "a receive was called: communicator, source (MPI_ANY_SOURCE), tag (MPI_ANY_TAG), room in bytes"},
    {"message_received", 4, false, "a receive that began while somebody listened was completed: communicator, source, tag, bytes"},
    {"message_unexpected", 4, false, "a receive was called for a message that had arrived already: communicator, source, tag, bytes"},
    {"send_throttled", 4, false,
     "a send was called while targets take less than they are sent, so that it may wait, or go when the receive is there: communicator, "
     "target, tag, bytes"},
    {"collective_begins", 3, false,
     "a collective was called: communicator, which (0 barrier, 1 bcast, 2 gather ..), 0 blocking, 1 nonblocking, 2 persistent"},
    {"collective_ends", 2, false, "a collective has ended, or the request of one was completed: communicator, which"},
    {"persistent_starts", 1, false, "a persistent request was started: communicator"},
    {"partitions_ready", 2, false, "parts of a partitioned send are ready: communicator, how many"},
    {"request_cancelled", 1, false, "MPI_Cancel was called for a message: communicator"},
    {"communicator_created", 4, true,
     "a communicator was made: its context (65535: not known yet), size, rank, 1 if it is an intercommunicator"},
    {"communicator_freed", 1, true, "a communicator has ended: its context"},
    {"communicator_revoked", 1, true, "a communicator was revoked: its context"},
    {"process_lost", 1, true, "a process has died, or cannot be reached: its rank in the job"},
    {"window_created", 2, false, "a window was made: its communicator, size"},
    {"window_freed", 1, false, "a window is to end: its communicator"},
    {"window_fence", 1, false, "MPI_Win_fence has ended: communicator of the window"},
    {"window_complete", 1, false, "MPI_Win_complete has ended: communicator of the window"},
    {"window_unlock", 2, false, "MPI_Win_unlock or MPI_Win_unlock_all has ended: communicator of the window, rank (-1: all)"},
    {"window_flush", 2, false, "a flush of a window has ended: communicator of the window, rank (-1: all)"},
    {"file_opened", 2, false, "MPI_File_open has ended: error class, access mode"},
    {"file_closed", 0, false, "MPI_File_close was called"},
    {"datatype_committed", 2, false, "a datatype was committed: size, extent in bytes"},
    {"graph_starts", 0, false, "MPIX_Graph_start was called"},
    {"processes_spawned", 2, false, "MPI_Comm_spawn has ended: error class, how many processes were wanted"},
    {"error_raised", 1, true, "a call has failed, and its error handler is about to be called: error class or code"},
};

}  // namespace portunus::mpi::tool
