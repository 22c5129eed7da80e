// errors.cpp: names and sentences of the error classes, and the error handlers.
#include "mpi-adi/errors.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/adi.hpp"
#include "mpi-adi/init.hpp"
#include "mpi-adi/profiling.hpp"

namespace portunus::mpi {
namespace {

struct ErrorClass {
  int value;
  const char* name;
  const char* text;
};

#define CLASS(name, text) \
  { name, #name, text }
constexpr ErrorClass kClasses[] = {
    CLASS(MPI_SUCCESS, "no error"),
    CLASS(MPI_ERR_BUFFER, "the buffer is not valid"),
    CLASS(MPI_ERR_COUNT, "the count is not valid"),
    CLASS(MPI_ERR_TYPE, "the datatype is not valid"),
    CLASS(MPI_ERR_TAG, "the tag is not valid"),
    CLASS(MPI_ERR_COMM, "the communicator is not valid"),
    CLASS(MPI_ERR_RANK, "the rank is not valid"),
    CLASS(MPI_ERR_REQUEST, "the request is not valid"),
    CLASS(MPI_ERR_ROOT, "the root is not valid"),
    CLASS(MPI_ERR_GROUP, "the group is not valid"),
    CLASS(MPI_ERR_OP, "the operation is not valid"),
    CLASS(MPI_ERR_TOPOLOGY, "the topology is not valid"),
    CLASS(MPI_ERR_DIMS, "the dimensions are not valid"),
    CLASS(MPI_ERR_ARG, "an argument is not valid"),
    CLASS(MPI_ERR_UNKNOWN, "unknown error"),
    CLASS(MPI_ERR_TRUNCATE, "the message was longer than the receive buffer"),
    CLASS(MPI_ERR_OTHER, "another error"),
    CLASS(MPI_ERR_INTERN, "an error inside MPI"),
    CLASS(MPI_ERR_PENDING, "the request is not complete"),
    CLASS(MPI_ERR_IN_STATUS, "the error is in the status"),
    CLASS(MPI_ERR_ACCESS, "permission denied"),
    CLASS(MPI_ERR_AMODE, "the access mode is not valid"),
    CLASS(MPI_ERR_ASSERT, "the assertion is not valid"),
    CLASS(MPI_ERR_BAD_FILE, "the file name is not valid"),
    CLASS(MPI_ERR_BASE, "the base address is not valid"),
    CLASS(MPI_ERR_CONVERSION, "data conversion failed"),
    CLASS(MPI_ERR_DISP, "the displacement is not valid"),
    CLASS(MPI_ERR_DUP_DATAREP, "the data representation is defined already"),
    CLASS(MPI_ERR_FILE_EXISTS, "the file exists"),
    CLASS(MPI_ERR_FILE_IN_USE, "the file is in use"),
    CLASS(MPI_ERR_FILE, "the file handle is not valid"),
    CLASS(MPI_ERR_INFO_KEY, "the info key is too long"),
    CLASS(MPI_ERR_INFO_NOKEY, "there is no such info key"),
    CLASS(MPI_ERR_INFO_VALUE, "the info value is too long"),
    CLASS(MPI_ERR_INFO, "the info is not valid"),
    CLASS(MPI_ERR_IO, "input or output failed"),
    CLASS(MPI_ERR_KEYVAL, "the attribute key is not valid"),
    CLASS(MPI_ERR_LOCKTYPE, "the lock type is not valid"),
    CLASS(MPI_ERR_NAME, "the service is not published"),
    CLASS(MPI_ERR_NO_MEM, "there is not enough memory"),
    CLASS(MPI_ERR_NOT_SAME, "an argument differs between the ranks"),
    CLASS(MPI_ERR_NO_SPACE, "there is not enough space"),
    CLASS(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    CLASS(MPI_ERR_PORT, "the port is not valid"),
    CLASS(MPI_ERR_QUOTA, "the quota is used up"),
    CLASS(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    CLASS(MPI_ERR_RMA_ATTACH, "the memory cannot be attached"),
    CLASS(MPI_ERR_RMA_CONFLICT, "accesses to a window conflict"),
    CLASS(MPI_ERR_RMA_RANGE, "the target memory is not in the window"),
    CLASS(MPI_ERR_RMA_SHARED, "the memory cannot be shared"),
    CLASS(MPI_ERR_RMA_SYNC, "the synchronization of the window is wrong"),
    CLASS(MPI_ERR_SERVICE, "the service cannot be unpublished"),
    CLASS(MPI_ERR_SIZE, "the size is not valid"),
    CLASS(MPI_ERR_SPAWN, "processes cannot be started"),
    CLASS(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    CLASS(MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"),
    CLASS(MPI_ERR_WIN, "the window is not valid"),
    CLASS(MPI_ERR_RMA_FLAVOR, "the window has the wrong flavor"),
    CLASS(MPI_ERR_PROC_ABORTED, "a process has ended or cannot be reached"),
    CLASS(MPI_ERR_VALUE_TOO_LARGE, "a value is too large to be returned"),
    CLASS(MPI_ERR_SESSION, "the session is not valid"),
    CLASS(MPI_ERR_ERRHANDLER, "the error handler is not valid"),
    CLASS(MPI_ERR_ABI, "the ABI does not fit"),
};
#undef CLASS

const ErrorClass* find_class(int value) {
  const bool known = value >= 0 && value < static_cast<int>(std::size(kClasses));
  return known ? &kClasses[value] : nullptr;
}
constexpr bool in_order() {
  int next = 0;
  for (const ErrorClass& each : kClasses)
    if (each.value != next++) return false;
  return true;
}
static_assert(in_order(), "find_class looks up by position");

const char* failure_text(ptl_ni_fail_t failure) {
  switch (failure) {
    case PTL_NI_UNDELIVERABLE:
      return "the other process cannot be reached; it has probably ended";
    case PTL_NI_DROPPED:
      return "the receiver has no room for the message";
    case PTL_NI_PT_DISABLED:
      return "the receiver has stopped taking messages for want of room";
    case PTL_NI_PERM_VIOLATION:
      return "the receiver runs as another user";
    case PTL_NI_SEGV:
      return "the buffer lies outside of the process's memory";
    default:
      return "the transfer failed";
  }
}

}  // namespace

const char* error_name(int error_class) {
  const ErrorClass* found = find_class(error_class);
  return found ? found->name : nullptr;
}
const char* error_text(int error_class) {
  const ErrorClass* found = find_class(error_class);
  return found ? found->text : nullptr;
}

int raise(const char* function, const Communicator* comm, int error_class, const char* cause, ...) {
  const bool running = phase.load(std::memory_order_acquire) == Phase::running;
  if (comm == nullptr && running) comm = &self();
  if (comm != nullptr && comm->errhandler.load(std::memory_order_relaxed) == MPI_ERRORS_RETURN) return error_class;
  char what[512], sentence[1024];
  va_list arguments;
  va_start(arguments, cause);
  std::vsnprintf(what, sizeof what, cause, arguments);
  va_end(arguments);
  if (!running) {
    std::fprintf(stderr, "%s: %s (%s)\n", function, what, error_name(error_class));
    std::_Exit(error_class);  // no job to abort
  }
  std::snprintf(sentence, sizeof sentence, "%s on rank %d, %s: %s (%s)", function, world().rank, comm->name, what,
                error_name(error_class));
  adi::abort(error_class, sentence);
}

int raise_bad_communicator(const char* function, MPI_Comm handle) {
  switch (phase.load(std::memory_order_acquire)) {
    case Phase::before:
      return raise(function, nullptr, MPI_ERR_OTHER, "called before MPI_Init");
    case Phase::over:
      return raise(function, nullptr, MPI_ERR_OTHER, "called after MPI_Finalize");
    case Phase::running:
      break;
  }
  if (handle == MPI_COMM_NULL) return raise(function, nullptr, MPI_ERR_COMM, "the communicator is MPI_COMM_NULL");
  return raise(function, nullptr, MPI_ERR_COMM, "%p is no communicator", static_cast<void*>(handle));
}

int raise_portals(const char* function, const Communicator* comm, int ptl_error) {
  if (ptl_error == PTL_NO_SPACE)
    return raise(function, comm, MPI_ERR_NO_MEM, "too many operations are pending; complete some of them first");
  if (ptl_error == PTL_ARG_INVALID)
    return raise(function, comm, MPI_ERR_COUNT, "the message is longer than the network interface permits");
  return raise(function, comm, MPI_ERR_OTHER, "the network interface failed (Portals error %d)", ptl_error);
}

int error_class_of(const Request& request) {
  if (request.failure == PTL_NI_UNDELIVERABLE) return MPI_ERR_PROC_ABORTED;
  if (request.failure != PTL_NI_OK) return MPI_ERR_OTHER;
  return request.truncated() ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

int raise_request(const char* function, const Request& request) {
  const int error_class = error_class_of(request);
  if (error_class != MPI_ERR_TRUNCATE)
    return raise(function, request.comm, error_class, "%s failed: %s", request.receives ? "a receive" : "a send",
                 failure_text(request.failure));
  return raise(function, request.comm, error_class,
               "a message of %llu bytes from rank %d with tag %d is longer than the receive buffer of %llu bytes",
               static_cast<unsigned long long>(request.requested), source_of(request.match_bits), tag_of(request.match_bits),
               static_cast<unsigned long long>(request.length));
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Error_class(int errorcode, int* errorclass) {
  static constexpr char kName[] = "MPI_Error_class";
  if (error_name(errorcode) == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "%d is no error code", errorcode);
  if (errorclass == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the class is null");
  *errorclass = errorcode;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Error_class)

extern "C" int PMPI_Error_string(int errorcode, char* string, int* resultlen) {
  static constexpr char kName[] = "MPI_Error_string";
  if (error_name(errorcode) == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "%d is no error code", errorcode);
  if (string == nullptr || resultlen == nullptr)
    return raise(kName, nullptr, MPI_ERR_ARG, "an address for the text is null");
  *resultlen = std::snprintf(string, MPI_MAX_ERROR_STRING, "%s: %s", error_name(errorcode), error_text(errorcode));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Error_string)
