// status.hpp: what MPI_Status holds besides the three public fields.
//
//   MPI_internal:  0-1 number of bytes received   2 whether it was cancelled   3-4 zero
//
// Thread: any. Source: MPI-5.0, 3.2.5 and 3.7.3 (empty status).
#pragma once

#include <cstdint>
#include <cstring>

#include "mpi-adi/mpi.h"
#include "mpi-adi/pt2pt/match_bits.hpp"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi {

inline void set_received_bytes(MPI_Status& status, uint64_t bytes) { std::memcpy(status.MPI_internal, &bytes, sizeof bytes); }
// Leaves MPI_ERROR alone, as calls that complete one operation must.
inline void set_status(MPI_Status* status, int source, int tag, uint64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  std::memset(status->MPI_internal, 0, sizeof status->MPI_internal);
  set_received_bytes(*status, bytes);
}
inline uint64_t received_bytes(const MPI_Status& status) {
  uint64_t bytes;
  std::memcpy(&bytes, status.MPI_internal, sizeof bytes);
  return bytes;
}

inline void set_cancelled(MPI_Status& status, bool cancelled) { status.MPI_internal[2] = cancelled; }
inline bool was_cancelled(const MPI_Status& status) { return status.MPI_internal[2] != 0; }

// The one that has no error, either.
inline void set_empty_status(MPI_Status* status) {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
}
inline void set_null_process_status(MPI_Status* status) { set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0); }

inline void set_status(MPI_Status* status, const Request& complete) {
  if (complete.receives) set_status(status, source_of(complete.match_bits), tag_of(complete.match_bits), complete.length);
  else set_status(status, complete.source, MPI_ANY_TAG, 0);
}

}  // namespace portunus::mpi
