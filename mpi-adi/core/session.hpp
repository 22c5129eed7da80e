// session.hpp: sessions: MPI without MPI_Init and MPI_COMM_WORLD.
//
// Thread: any. Invariants: MPI runs as long as a session or the world does; see init.hpp.
// Source: MPI-5.0, 11.3.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>

#include "mpi-adi/core/info.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/pt2pt/buffered.hpp"

namespace portunus::mpi {

struct Session {
  std::atomic<MPI_Errhandler> errhandler{nullptr};
  Hints hints;
  std::shared_ptr<MessageBuffer> buffer = std::make_shared<MessageBuffer>();  // for communicators that come from this session
};

[[gnu::cold, gnu::noinline, gnu::format(printf, 4, 5)]] int raise_in(const char* function, const Session& session, int code,
                                                                     const char* cause, ...);
// The session, or what is wrong with it or with the addresses.
int check(const char* function, MPI_Session handle, Session*& found, std::initializer_list<const void*> results);

}  // namespace portunus::mpi
