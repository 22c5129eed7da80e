// description.hpp: where MPI keeps communicators and requests, for who reads the process's memory from outside (README.md).
//
// libmpi_abi.so exports one table, constant from its making on; libportals.so has another one (engine/client/debugger.hpp). Whoever reads
// checks `version` and `size` first. Thread: any; plain values. Invariants: addresses are those of the process that is described.
#pragma once

#include <cstdint>

#include "engine/client/debugger.hpp"

namespace portunus::mpi::debugger {

using client::Field;

struct Description {
  static constexpr uint32_t kVersion = 1;
  static constexpr const char* kSymbol = "portunus_mpi_description";

  uint32_t version, size;
  // The addresses of these variables.
  const void *pool, *communicators, *predefined_count, *source_bits, *interface, *blocked;
  uint32_t tag_bits, portal;
  // The pool of requests, and one of them.
  struct {
    Field slots, used, most;
  } requests;
  struct {
    uint32_t size;
    Field state, receives, cancelled, match_bits, length, sent, entry, comm, attached;
    uint32_t active, detached, pending, done;  // states
  } request;
  // The pool of communicators, and one of them.
  struct {
    uint32_t slot, most;
    Field slots, used, in_use;
  } communicator_pool;
  struct {
    uint32_t size;
    Field context, inter, rank, ranks, peers, first, peer_ranks, group, local, name;
  } communicator;
  struct {
    uint32_t size;
    Field ranks, first, members;  // members: addresses of the first int and of the one behind the last; none: consecutive ones
  } group;
  int32_t buffer_of_layout;  // from a ptlx_layout_t of MPI's to the address of the user's buffer
};

// MPI is about to start: MPIR_dll_name becomes the file beside this library, wherever that was moved to.
void find_dll();
// The same: returns when the debugger that has started the job says so (engine/tools/ptlrun/debugger/process_table.hpp), at once where
// there is none.
void await_debugger();

}  // namespace portunus::mpi::debugger
