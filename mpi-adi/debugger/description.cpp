// description.cpp: the names of libmpi_abi.so that debuggers look for: the table, and where the library lies that understands it.
// Source: MPI Forum, MPI Message Queue Dumping Interface 1.0 (MPIR_dll_name); The MPIR Process Acquisition
// Interface 1.0 (MPIR_debug_gate).
#include "mpi-adi/debugger/description.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/pt2pt/packing.hpp"
#include "mpi-adi/request/request.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace portunus::mpi {

// A friend of the classes whose members are described.
struct Inside {
  static constexpr debugger::Description make() {
    using Pool = CommunicatorPool;
    debugger::Description table{};
    table.version = table.kVersion;
    table.size = sizeof table;
    table.pool = &pool;
    table.communicators = &communicators;
    table.predefined_count = &predefined_count;
    table.source_bits = &envelope.source_bits;
    table.interface = &device::device.ni;
    table.blocked = &device::failures.blocked;
    table.tag_bits = kTagBits;
    table.portal = device::kMessagePortal;
    table.requests = {PORTUNUS_FIELD(RequestPool, slots_), PORTUNUS_FIELD(RequestPool, used_), PORTUNUS_FIELD(RequestPool, most_)};
    table.request = {sizeof(Request),
                     PORTUNUS_FIELD(Request, state),
                     PORTUNUS_FIELD(Request, receives),
                     PORTUNUS_FIELD(Request, cancelled),
                     PORTUNUS_FIELD(Request, match_bits),
                     PORTUNUS_FIELD(Request, length),
                     PORTUNUS_FIELD(Request, requested),
                     PORTUNUS_FIELD(Request, entry),
                     PORTUNUS_FIELD(Request, comm),
                     PORTUNUS_FIELD(Request, attached),
                     static_cast<uint32_t>(State::active),
                     static_cast<uint32_t>(State::detached),
                     static_cast<uint32_t>(State::pending),
                     static_cast<uint32_t>(State::done)};
    table.communicator_pool = {sizeof(Pool::Slot), kMaxCommunicators, PORTUNUS_FIELD(Pool, base_), PORTUNUS_FIELD(Pool, used_),
                               PORTUNUS_FIELD(Pool::Slot, in_use)};
    table.communicator = {sizeof(Communicator),
                          PORTUNUS_FIELD(Communicator, context),
                          PORTUNUS_FIELD(Communicator, inter),
                          PORTUNUS_FIELD(Communicator, rank),
                          PORTUNUS_FIELD(Communicator, size),
                          PORTUNUS_FIELD(Communicator, peers),
                          PORTUNUS_FIELD(Communicator, first),
                          PORTUNUS_FIELD(Communicator, peer_ranks),
                          PORTUNUS_FIELD(Communicator, group),
                          PORTUNUS_FIELD(Communicator, local),
                          PORTUNUS_FIELD(Communicator, name)};
    table.group = {sizeof(Group), PORTUNUS_FIELD(Group, size), PORTUNUS_FIELD(Group, first), PORTUNUS_FIELD(Group, ranks)};
    static_assert(sizeof(Group::ranks) == 3 * sizeof(int*));  // begin, end, end of the room
    table.buffer_of_layout = static_cast<int32_t>(offsetof(LaidOut, buf)) - static_cast<int32_t>(offsetof(LaidOut, layout));
    return table;
  }
};

}  // namespace portunus::mpi

#pragma GCC diagnostic pop

#define MPIADI_FOR_DEBUGGERS extern "C" __attribute__((visibility("default")))
MPIADI_FOR_DEBUGGERS const portunus::mpi::debugger::Description portunus_mpi_description;
constinit const portunus::mpi::debugger::Description portunus_mpi_description = portunus::mpi::Inside::make();
MPIADI_FOR_DEBUGGERS char MPIR_dll_name[1024];
char MPIR_dll_name[1024] = "libportunus_mqs.so.0";  // its folder is known when MPI starts

MPIADI_FOR_DEBUGGERS volatile int MPIR_debug_gate;
volatile int MPIR_debug_gate = 0;

namespace portunus::mpi::debugger {

void await_debugger() {
  constexpr useconds_t kBetweenLooks = 10'000;
  if (std::getenv("PTL_DEBUGGER_COMES") == nullptr) return;
  while (MPIR_debug_gate == 0) usleep(kBetweenLooks);
}

void find_dll() {
  Dl_info here;
  if (dladdr(&portunus_mpi_description, &here) == 0 || here.dli_fname == nullptr || here.dli_fname[0] != '/') return;
  const auto folder = static_cast<int>(std::strrchr(here.dli_fname, '/') - here.dli_fname);
  std::snprintf(MPIR_dll_name, sizeof MPIR_dll_name, "%.*s/libportunus_mqs.so.0", folder, here.dli_fname);
}

}  // namespace portunus::mpi::debugger
