// arguments.cpp: says what is wrong with the arguments of a message.
#include "mpi-adi/core/arguments.hpp"

#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/pt2pt/buffers_in_use.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {
namespace {

// Says what is wrong with a message that can_travel() refuses.
int raise_common(const Arguments& given, const Communicator& comm) {
  if (!is_count(given.count))
    return raise(given.function, &comm, MPI_ERR_COUNT, "the count is %s (%lld)", given.count < 0 ? "negative" : "too large",
                 static_cast<long long>(given.count));
  const Datatype* type = find_type(given.datatype, given.count);
  if (type == nullptr) return raise(given.function, &comm, MPI_ERR_TYPE, "%s", BadType(given.datatype).text);
  if (!type->committed) return raise(given.function, &comm, MPI_ERR_TYPE, "the datatype is not committed");
  if (!fits_in_memory(given.count, *type)) return raise_too_many(given.function, &comm, given.count, *type);
  return raise(given.function, &comm, MPI_ERR_BUFFER, "the buffer is null, the count is %lld", static_cast<long long>(given.count));
}

int raise_tag(const Arguments& given, const Communicator& comm) {
  return raise(given.function, &comm, MPI_ERR_TAG, "the tag %d is not between 0 and %d", given.tag, kMaxTag);
}

void tell_tools(tool::Event event, const Arguments& given, const Communicator& comm) {
  const size_t bytes = bytes_of(given, find_type(given.datatype, given.count));
  tool::emit(event, comm.context, given.peer, given.tag, static_cast<int64_t>(bytes));
}
void tell_of_unexpected(const Arguments& given, const Communicator& comm) {
  ptl_event_t event;
  const Pattern wanted = pattern(comm.context, given.peer, given.tag);
  if (device::find(match_rank(comm, given.peer), wanted, nullptr, event) != PTL_OK || event.ni_fail_type != PTL_NI_OK) return;
  tool::emit(tool::Event::message_unexpected, comm.context, source_of(event.match_bits), tag_of(event.match_bits),
             static_cast<int64_t>(event.rlength));
}

int raise_rank(const Arguments& given, const Communicator& comm) {
  return raise(given.function, &comm, MPI_ERR_RANK, "there is no rank %d among %d", given.peer, comm.peers);
}

}  // namespace

int raise_too_many(const char* function, const Communicator* comm, MPI_Count count, const Datatype& type) {
  return raise(function, comm, MPI_ERR_COUNT, "%lld elements of %lld bytes, %lld apart, are more than memory can hold",
               static_cast<long long>(count), static_cast<long long>(type.size), static_cast<long long>(type.extent));
}

int refuse_capture(const Arguments& given) { return graph::refuse(given.function); }

int check_send_slowly(const Arguments& given, Begins begins) {
  const Communicator* comm = find_communicator(given.comm);
  if (comm == nullptr) return raise_bad_communicator(given.function, given.comm);
  if (!is_member(given.peer, *comm) && given.peer != MPI_PROC_NULL) return raise_rank(given, *comm);
  if (given.tag < 0 || given.tag > kMaxTag) return raise_tag(given, *comm);
  if (!can_travel(given, find_type(given.datatype, given.count))) return raise_common(given, *comm);
  if (comm->is_revoked()) return raise_revoked(given.function, *comm);
  if (graph::is_captured_here(*comm)) return kCaptured;
  if (given.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  const Datatype& type = *find_type(given.datatype, given.count);
  if (debug.buffers)
    if (const int error = check_readable(given.function, comm, given.buf, given.count, type)) return error;
  if (debug.buffers && begins != Begins::nothing)
    if (const int error = buffers_in_use::check(given, *comm, false)) return error;
  if (begins != Begins::nothing) {
    tell_tools(tool::Event::send_begins, given, *comm);
    if (device::is_throttled()) tell_tools(tool::Event::send_throttled, given, *comm);
  }
  return debug.buffers && begins == Begins::request ? kWatched : MPI_SUCCESS;
}

int check_receive_slowly(const Arguments& given, Begins begins) {
  const Communicator* comm = find_communicator(given.comm);
  if (comm == nullptr) return raise_bad_communicator(given.function, given.comm);
  if (!is_member(given.peer, *comm) && given.peer != MPI_PROC_NULL && given.peer != MPI_ANY_SOURCE) return raise_rank(given, *comm);
  if ((given.tag < 0 || given.tag > kMaxTag) && given.tag != MPI_ANY_TAG) return raise_tag(given, *comm);
  if (!can_travel(given, find_type(given.datatype, given.count))) return raise_common(given, *comm);
  if (comm->is_revoked()) return raise_revoked(given.function, *comm);
  if (graph::is_captured_here(*comm)) return kCaptured;
  if (given.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  if (begins == Begins::nothing) return MPI_SUCCESS;
  if (debug.buffers)
    if (const int error = buffers_in_use::check(given, *comm, true)) return error;
  tell_tools(tool::Event::receive_begins, given, *comm);
  if (tool::is_listened(tool::Event::message_unexpected)) tell_of_unexpected(given, *comm);
  return kWatched;
}

}  // namespace portunus::mpi
