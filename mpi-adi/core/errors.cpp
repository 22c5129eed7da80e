// errors.cpp: from an error to the error handler.
#include "mpi-adi/core/errors.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/error_codes.hpp"
#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/pt2pt/signatures.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {
namespace {

const char* failure_text(ptl_ni_fail_t failure) {
  switch (failure) {
    case PTL_NI_UNDELIVERABLE: return "the other process cannot be reached; it has ended, or a line above says why";
    case PTL_NI_DROPPED: return "the receiver has no room for the message";
    case PTL_NI_PT_DISABLED: return "the receiver has stopped taking messages for want of room";
    case PTL_NI_PERM_VIOLATION: return "the receiver runs as another user";
    case PTL_NI_SEGV: return "the buffer lies outside of the process's memory";
    case kChanged: return "its data were changed before it was complete";
    case kOtherLength: return "the partitions of its send are shorter together";
    default: return "the transfer failed";
  }
}

__attribute__((tls_model("initial-exec"))) thread_local constinit const RaisedAt* innermost = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local constinit RaisedLater* keeper = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local constinit bool forgiven = false;  // by the error handler of a file

// A user's handler that calls MPI is no part of the call that failed.
class Outside {
 public:
  Outside() : kept_(std::exchange(innermost, nullptr)) {}
  ~Outside() { innermost = kept_; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  const RaisedAt* kept_;
};

// MPI-4 raises what belongs to no object at MPI_COMM_SELF; programs that are older set a handler for MPI_COMM_WORLD only.
const Communicator& default_communicator() { return self_has_errhandler.load(std::memory_order_relaxed) ? self() : world(); }

}  // namespace

Origin origin_of(const Communicator& comm) {
  return {Subject::comm, handle_of(&comm), comm.errhandler.load(std::memory_order_acquire),
          comm.name[0] != '\0' ? comm.name : "a communicator without name"};
}

RaisedAt::RaisedAt(const Origin& origin) : origin_(origin), outer_(std::exchange(innermost, this)) {}
RaisedAt::RaisedAt(Subject subject, void* handle, MPI_Errhandler errhandler, const char* name)
    : RaisedAt(Origin{subject, handle, errhandler, name}) {}
RaisedAt::~RaisedAt() { innermost = outer_; }

int what_is_left_of(int error) { return std::exchange(forgiven, false) ? MPI_SUCCESS : error; }

RaisedLater::RaisedLater() : outer_(std::exchange(keeper, this)) {}
RaisedLater::~RaisedLater() { keeper = outer_; }

void RaisedLater::keep(const Origin& origin, const char* function, int code, const char* cause, va_list arguments) {
  if (code_ != MPI_SUCCESS) return;
  char what[512];
  std::vsnprintf(what, sizeof what, cause, arguments);
  origin_ = origin;
  name_ = origin.name;
  function_ = function;
  cause_ = what;
  code_ = code;
}

int RaisedLater::result(int error) {
  keeper = outer_;
  if (code_ == MPI_SUCCESS) return error;
  origin_.name = name_.c_str();
  const auto now = [this](const char* cause, ...) {
    va_list arguments;
    va_start(arguments, cause);
    const int result = raise_at(origin_, function_.c_str(), code_, cause, arguments);
    va_end(arguments);
    return result;
  };
  return now("%s", cause_.c_str());
}

MPI_Errhandler errhandler_of_nothing() {
  if (innermost != nullptr) return innermost->origin().errhandler;
  if (phase.load(std::memory_order_acquire) != Phase::running) return MPI_ERRORS_ARE_FATAL;
  return default_communicator().errhandler.load(std::memory_order_acquire);
}

int raise_at(const Origin& origin, const char* function, int code, const char* cause, va_list arguments) {
  if (keeper != nullptr) return keeper->keep(origin, function, code, cause, arguments), code;
  tool::emit(tool::Event::error_raised, code);
  const bool running = phase.load(std::memory_order_acquire) == Phase::running;
  const MPI_Errhandler handler = origin.errhandler;
  if (handler == MPI_ERRORS_RETURN) return code;
  if (const ErrorHandler* found = find_errhandler(handler)) {
    const Outside outside;
    void* handle = origin.handle;
    int error = code;
    if (origin.subject == Subject::comm) found->comm(reinterpret_cast<MPI_Comm*>(&handle), &error);
    if (origin.subject == Subject::window) found->window(reinterpret_cast<MPI_Win*>(&handle), &error);
    if (origin.subject == Subject::session) found->session(reinterpret_cast<MPI_Session*>(&handle), &error);
    if (origin.subject == Subject::file) found->file(reinterpret_cast<MPI_File*>(&handle), &error);
    forgiven = error == MPI_SUCCESS && origin.subject == Subject::file;
    return error == MPI_SUCCESS ? code : error;
  }
  char what[512], sentence[1536], name[MPI_MAX_ERROR_STRING];
  std::vsnprintf(what, sizeof what, cause, arguments);
  describe_class(code, name);
  if (!running) {
    std::fprintf(stderr, "%s: %s (%s)\n", function, what, name);
    device::show_error("MPI: no job is to be ended");
    std::_Exit(code);  // no job to abort
  }
  std::snprintf(sentence, sizeof sentence, "%s on rank %d%s%s: %s (%s)", function, world().rank, *origin.name ? ", " : "", origin.name,
                what, name);
  device::abort_by_error(code, sentence);
}

int raise(const char* function, const Communicator* comm, int code, const char* cause, ...) {
  const bool running = phase.load(std::memory_order_acquire) == Phase::running, named = comm != nullptr;
  const bool elsewhere = innermost != nullptr && (comm == nullptr || (running && comm == &self()));
  if (comm == nullptr && running) comm = &default_communicator();
  Origin origin;
  if (elsewhere) {
    origin = innermost->origin();
  } else if (comm != nullptr) {
    origin = origin_of(*comm);
    if (!named) origin.name = "";
  }
  va_list arguments;
  va_start(arguments, cause);
  const int result = raise_at(origin, function, code, cause, arguments);
  va_end(arguments);
  return result;
}

int raise_bad_communicator(const char* function, MPI_Comm handle) {
  switch (phase.load(std::memory_order_acquire)) {
    case Phase::before: return raise(function, nullptr, MPI_ERR_OTHER, "called before MPI_Init");
    case Phase::over: return raise(function, nullptr, MPI_ERR_OTHER, "called after MPI_Finalize");
    case Phase::forked:
      return raise(function, nullptr, MPI_ERR_OTHER, "called by a child that was forked; only the process that called MPI_Init may");
    case Phase::running: break;
  }
  if (handle == MPI_COMM_NULL) return raise(function, nullptr, MPI_ERR_COMM, "the communicator is MPI_COMM_NULL");
  return raise(function, nullptr, MPI_ERR_COMM, "%p is no communicator", static_cast<void*>(handle));
}

BadType::BadType(MPI_Datatype handle) {
  if (handle == MPI_DATATYPE_NULL) std::snprintf(text, sizeof text, "the datatype is MPI_DATATYPE_NULL");
  else std::snprintf(text, sizeof text, "%p is no datatype", static_cast<void*>(handle));
}

int raise_portals(const char* function, const Communicator* comm, int ptl_error) {
  if (ptl_error == PTL_NO_SPACE)
    return raise(function, comm, MPI_ERR_NO_MEM, "too many operations are pending; complete some of them first");
  if (ptl_error == PTL_ARG_INVALID) return raise(function, comm, MPI_ERR_COUNT, "the message is longer than the network interface permits");
  return raise(function, comm, MPI_ERR_OTHER, "the network failed (error %d)", ptl_error);
}

int raise_no_memory(const char* function, MPI_Comm handle) {
  if (std::strncmp(function, "MPI_T_", 6) == 0) return MPI_T_ERR_MEMORY;
  return raise(function, find_communicator(handle), MPI_ERR_NO_MEM, "%s", kNoMemory);
}

int raise_revoked(const char* function, const Communicator& comm) {
  return raise(function, &comm, MPIX_ERR_REVOKED, "the communicator has been revoked; go on in one that MPIX_Comm_shrink makes");
}

int error_class_of(const Request& request) {
  if (request.failure == kOtherTypes) return MPI_ERR_TYPE;
  if (request.failure == kRevoked) return MPIX_ERR_REVOKED;
  if (request.failure == kOtherLength) return MPI_ERR_COUNT;
  if (request.failure == kChanged) return MPI_ERR_BUFFER;
  if (request.failure == PTL_NI_UNDELIVERABLE) return MPI_ERR_PROC_ABORTED;
  if (request.failure != PTL_NI_OK) return MPI_ERR_OTHER;
  return request.truncated() ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

int raise_request(const char* function, const Request& request) {
  const int error_class = error_class_of(request);
  if (request.failure == kOtherTypes) return raise(function, request.comm, error_class, "%s", signatures::complaint(request).c_str());
  if (error_class == MPIX_ERR_REVOKED && request.comm != nullptr) return raise_revoked(function, *request.comm);
  if (error_class != MPI_ERR_TRUNCATE)
    return raise(function, request.comm, error_class, "%s failed: %s", request.receives ? "a receive" : "a send",
                 failure_text(request.failure));
  return raise(function, request.comm, error_class,
               "a message of %llu bytes from rank %d with tag %d is longer than the receive buffer of %llu bytes",
               static_cast<unsigned long long>(request.requested), source_of(request.match_bits), tag_of(request.match_bits),
               static_cast<unsigned long long>(request.length));
}

}  // namespace portunus::mpi
