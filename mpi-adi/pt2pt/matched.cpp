// matched.cpp: receiving what a matched probe has found.
#include "mpi-adi/pt2pt/matched.hpp"

#include <atomic>

#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi {
namespace {

constinit ObjectPool<Matched, 1 << 18> messages;

int raise_no_message(const char* function, MPI_Message handle) {
  if (handle == MPI_MESSAGE_NULL) return raise(function, nullptr, MPI_ERR_REQUEST, "the message is MPI_MESSAGE_NULL");
  return raise(function, nullptr, MPI_ERR_REQUEST, "%p is no message", static_cast<void*>(handle));
}

// The message is there, so its receive completes at once or as soon as its data has been moved.
int imrecv(const char* function, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* handle, MPI_Request* request) {
  if (handle == nullptr) return raise_null(function, "message");
  if (request == nullptr) return raise_null(function, "request");
  const MPI_Message wanted = *handle;
  if (wanted == MPI_MESSAGE_NO_PROC) {
    *request = handle_of(pool.received_nothing());
    *handle = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
  }
  Matched* const message = messages.find(wanted);
  if (message == nullptr) return raise_no_message(function, wanted);
  Communicator* const comm = message->comm;
  const RaisedAt here(origin_of(*comm));
  const Arguments given{function, buf, count, datatype, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF};
  Communicator* any;
  const Datatype* type;
  size_t bytes;
  int error = made_all_the_same(check_receive(given, any, type, bytes));
  Request* claimed = error == MPI_SUCCESS ? pool.claim(comm, true) : nullptr;
  if (error == MPI_SUCCESS && claimed == nullptr) error = raise_no_request(given, comm);
  if (error == MPI_SUCCESS) {
    signatures::expect(*claimed, given);
    const int result = receive_by(*claimed, buf, given, *find_type(given.datatype, given.count), bytes, [&](void* room, unsigned options) {
      return device::irecv_label(*claimed, room, bytes, message->label, options);
    });
    if (result == PTL_OK) {
      *request = handle_of(claimed);
      *handle = MPI_MESSAGE_NULL;
      release(message);
      return MPI_SUCCESS;
    }
    pool.release(claimed);
    error = raise_portals(function, comm, result);
  }
  return error;
}

int mrecv(const char* function, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) {
  MPI_Request request;
  if (int error = imrecv(function, buf, count, datatype, message, &request)) return error;
  Request* found = pool.find(request);
  device::wait(*found);
  return finish(function, request, found, status);
}

}  // namespace

ptl_match_bits_t new_label() {
  static std::atomic<uint64_t> serial{0};
  return matched_label(serial.fetch_add(1, std::memory_order_relaxed));
}

Matched* new_message(Communicator* comm) {
  Matched* const message = messages.claim();
  if (message != nullptr) *message = {new_label(), comm};
  return message;
}

void release(Matched* message) { messages.release(message); }

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) try {
  return mrecv("MPI_Mrecv", buf, count, datatype, message, status);
}
MPI_WEAK_NAME(Mrecv)

extern "C" int PMPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) try {
  return mrecv("MPI_Mrecv_c", buf, count, datatype, message, status);
}
MPI_WEAK_NAME(Mrecv_c)

extern "C" int PMPI_Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request) try {
  return imrecv("MPI_Imrecv", buf, count, datatype, message, request);
}
MPI_WEAK_NAME(Imrecv)

extern "C" int PMPI_Imrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request) try {
  return imrecv("MPI_Imrecv_c", buf, count, datatype, message, request);
}
MPI_WEAK_NAME(Imrecv_c)
