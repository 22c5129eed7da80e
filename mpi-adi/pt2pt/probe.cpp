// probe.cpp: looking at messages before they are received.
//
// A message that was not received waits with the engine as an unexpected header; a probe is a search among these.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.8.1, 3.8.2; Portals 4.3, PtlMESearch.
#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/matched.hpp"
#include "mpi-adi/pt2pt/status.hpp"

namespace portunus::mpi {
namespace {

// One look. PTL_OK, and `found`, with the status of the message filled in. `message`: it is set aside for MPI_Mrecv.
int look(const Arguments& given, Communicator* comm, bool& found, MPI_Status* status, MPI_Message* message) {
  Matched* made = nullptr;
  if (message != nullptr && (made = new_message(comm)) == nullptr) return PTL_NO_SPACE;
  const Pattern wanted = pattern(comm->context, given.peer, given.tag);
  ptl_event_t event;
  const int result = device::find(match_rank(*comm, given.peer), wanted, made != nullptr ? &made->label : nullptr, event);
  found = result == PTL_OK && event.ni_fail_type == PTL_NI_OK;
  if (!found) {
    if (made != nullptr) release(made);
    return result;
  }
  if (message != nullptr) *message = reinterpret_cast<MPI_Message>(made);
  set_status(status, source_of(event.match_bits), tag_of(event.match_bits), event.rlength);
  return PTL_OK;
}

// The calls that only look once.
int look_now(const Arguments& given, int* flag, MPI_Status* status, MPI_Message* message) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_receive(given, comm, bytes, Begins::nothing)) return error;
  if (flag == nullptr) return raise(given.function, comm, MPI_ERR_ARG, "the address for the flag is null");
  bool found = given.peer == MPI_PROC_NULL;
  if (found) {
    set_null_process_status(status);
    if (message) *message = MPI_MESSAGE_NO_PROC;
  } else {
    device::step();
    if (int result = look(given, comm, found, status, message); result != PTL_OK) return raise_portals(given.function, comm, result);
  }
  *flag = found;
  return MPI_SUCCESS;
}

// The calls that wait for a message.
int look_until_found(const Arguments& given, MPI_Status* status, MPI_Message* message) {
  Communicator* comm;
  size_t bytes;
  if (int error = check_receive(given, comm, bytes, Begins::nothing)) return error;
  if (given.peer == MPI_PROC_NULL) {
    set_null_process_status(status);
    if (message) *message = MPI_MESSAGE_NO_PROC;
    return MPI_SUCCESS;
  }
  device::reachable_source(*comm, given.peer);
  for (;;) {
    // Counted before we look: a message that comes in between ends the wait at once; and of a death that is counted here we have been told.
    ptl_ct_event_t early;
    bool found = false;
    int result = PtlxCTPeek(device::device.arrived_early, &early);
    device::step();
    if (result == PTL_OK) result = look(given, comm, found, status, message);
    if (result == PTL_OK && found) return MPI_SUCCESS;
    const int from = given.peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : comm->job_rank(given.peer);
    if (early.failure != 0 && device::concerned(*comm, from))
      return raise(given.function, comm, MPI_ERR_PROC_ABORTED, "a rank that is waited for has ended, or cannot be reached");
    const ptl_size_t more = early.success + 1;
    if (result == PTL_OK)
      while ((result = device::wait_for_count(device::device.arrived_early, more, device::kLongAsleep, early)) == PTL_CT_NONE_REACHED)
        device::long_waits::tell(device::long_waits::of_message(*comm, given.peer, given.tag), true);
    if (result != PTL_OK) return raise_portals(given.function, comm, result);
  }
}

int raise_no_message_address(const char* function, MPI_Comm comm) {
  return raise(function, find_communicator(comm), MPI_ERR_ARG, "the address for the message is null");
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) try {
  return look_now({"MPI_Iprobe", nullptr, 0, MPI_BYTE, source, tag, comm}, flag, status, nullptr);
}
MPI_WEAK_NAME(Iprobe)

extern "C" int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) try {
  return look_until_found({"MPI_Probe", nullptr, 0, MPI_BYTE, source, tag, comm}, status, nullptr);
}
MPI_WEAK_NAME(Probe)

extern "C" int PMPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Improbe";
  if (message == nullptr) return raise_no_message_address(kName, comm);
  return look_now({kName, nullptr, 0, MPI_BYTE, source, tag, comm}, flag, status, message);
}
MPI_WEAK_NAME(Improbe)

extern "C" int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Mprobe";
  if (message == nullptr) return raise_no_message_address(kName, comm);
  return look_until_found({kName, nullptr, 0, MPI_BYTE, source, tag, comm}, status, message);
}
MPI_WEAK_NAME(Mprobe)
