// session.hpp: sessions: MPI without MPI_Init and MPI_COMM_WORLD.
//
// Thread: any. Invariants: MPI runs as long as a session or the world does; see init.hpp.
// Source: MPI-5.0, 11.3.
#pragma once

#include <atomic>

#include "mpi-adi/info.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::mpi {

struct Session {
  std::atomic<MPI_Errhandler> errhandler{nullptr};
  Hints hints;
};

}  // namespace portunus::mpi
