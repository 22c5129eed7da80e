// probe.cpp: looking at messages before they are received.
//
// What was not received waits with the engine as an unexpected header; a probe is a search among these.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.8.1; Portals 4.3, PtlMESearch.
#include "mpi-adi/adi.hpp"
#include "mpi-adi/arguments.hpp"
#include "mpi-adi/errors.hpp"
#include "mpi-adi/profiling.hpp"
#include "mpi-adi/status.hpp"

namespace portunus::mpi {
namespace {

// One look. PTL_OK, and `found`, with the status of the message filled in.
int look(const Arguments& given, Communicator* comm, bool& found, MPI_Status* status) {
  Request request(comm, true);
  const int result = adi::probe(request, match_rank(*comm, given.peer), pattern(comm->context, given.peer, given.tag));
  if (result != PTL_OK) return result;
  adi::wait(request);
  found = request.failure == PTL_NI_OK;
  if (found) set_status(status, source_of(request.match_bits), tag_of(request.match_bits), request.requested);
  return PTL_OK;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const Arguments given{"MPI_Iprobe", nullptr, 0, MPI_BYTE, source, tag, comm};
  Communicator* found_comm;
  size_t bytes;
  if (int error = check_receive(given, found_comm, bytes)) return error;
  if (flag == nullptr) return raise(given.function, found_comm, MPI_ERR_ARG, "the address for the flag is null");
  bool found = source == MPI_PROC_NULL;
  if (found) {
    set_null_process_status(status);
  } else {
    PtlxProgress();
    if (int result = look(given, found_comm, found, status); result != PTL_OK)
      return raise_portals(given.function, found_comm, result);
  }
  *flag = found;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Iprobe)

extern "C" int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const Arguments given{"MPI_Probe", nullptr, 0, MPI_BYTE, source, tag, comm};
  Communicator* found_comm;
  size_t bytes;
  if (int error = check_receive(given, found_comm, bytes)) return error;
  if (source == MPI_PROC_NULL) {
    set_null_process_status(status);
    return MPI_SUCCESS;
  }
  for (;;) {
    // Counted before we look: a message that comes in between ends the wait at once.
    ptl_ct_event_t early;
    bool found = false;
    int result = PtlCTGet(adi::device.arrived_early, &early);
    if (result == PTL_OK) result = look(given, found_comm, found, status);
    if (result == PTL_OK && found) return MPI_SUCCESS;
    if (result == PTL_OK) result = PtlCTWait(adi::device.arrived_early, early.success + 1, &early);
    if (result != PTL_OK) return raise_portals(given.function, found_comm, result);
  }
}
MPI_WEAK_NAME(Probe)
