// errors.hpp: from a mistake or a failure to the error handler.
//
// With MPI_ERRORS_ARE_FATAL (the default) and MPI_ERRORS_ABORT the job ends with one sentence: function, rank, communicator,
// cause, class; the error class is its exit status. With MPI_ERRORS_RETURN the code is returned; a user's handler is called
// with it first, and what it makes of the code is returned (MPI_SUCCESS: only of files).
// Thread: any. Source: MPI-5.0, 9.3-9.5.
#pragma once

#include <cstdarg>
#include <string>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/errhandler.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi {

// The origin of an error: what the error handler is called with.
struct Origin {
  Subject subject = Subject::comm;
  void* handle = nullptr;
  MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL;
  const char* name = "";  // empty: the error belongs to nothing that the call names
};
Origin origin_of(const Communicator& comm);
[[gnu::cold]] int raise_at(const Origin& origin, const char* function, int code, const char* cause, va_list arguments);

// The result of a call that has raised `error`: MPI_SUCCESS if a file's error handler has made that of it. raise() answers the error all
// the same, so that the call ends there.
[[gnu::cold, gnu::noinline]] int what_is_left_of(int error);
inline int answer(int error) { return error == MPI_SUCCESS ? error : what_is_left_of(error); }

// While it lives, what the calling thread would raise without an object, or on MPI_COMM_SELF, is raised here: at the object of the call,
// or with the error handler of what the call makes.
class RaisedAt {
 public:
  explicit RaisedAt(const Origin& origin);
  RaisedAt(Subject subject, void* handle, MPI_Errhandler errhandler, const char* name);
  ~RaisedAt();
  RaisedAt(const RaisedAt&) = delete;
  RaisedAt& operator=(const RaisedAt&) = delete;
  const Origin& origin() const { return origin_; }

 private:
  Origin origin_;
  const RaisedAt* outer_;
};

// Errors that the calling thread raises while this lives wait for result(): the caller has locked something, and error handlers may call
// MPI.
class RaisedLater {
 public:
  RaisedLater();
  ~RaisedLater();
  RaisedLater(const RaisedLater&) = delete;
  RaisedLater& operator=(const RaisedLater&) = delete;
  // The first error, of Origin and so on.
  void keep(const Origin& origin, const char* function, int code, const char* cause, va_list arguments);
  // Once nothing is locked: raises what was kept. Answers `error`, or what the handler has made of it.
  int result(int error);

 private:
  RaisedLater* outer_;
  Origin origin_;
  std::string function_, name_, cause_;
  int code_ = MPI_SUCCESS;
};

// That of errors without an object.
MPI_Errhandler errhandler_of_nothing();

// Calls the error handler of `comm`, of MPI_COMM_SELF when it is null, or of MPI_COMM_WORLD where the program has set none for that;
// returns the code if the handler returns.
[[gnu::cold, gnu::noinline, gnu::format(printf, 4, 5)]] int raise(const char* function, const Communicator* comm, int code,
                                                                  const char* cause, ...);

// The call came before MPI_Init or after MPI_Finalize, or else `handle` is no communicator.
[[gnu::cold, gnu::noinline]] int raise_bad_communicator(const char* function, MPI_Comm handle);

// The sentence about a handle that is no datatype.
struct BadType {
  explicit BadType(MPI_Datatype handle);
  char text[48];
};

// MPIX_ERR_REVOKED.
[[gnu::cold, gnu::noinline]] int raise_revoked(const char* function, const Communicator& comm);

// A Portals call that should have worked did not.
[[gnu::cold, gnu::noinline]] int raise_portals(const char* function, const Communicator* comm, int ptl_error);

// The class of a completed request's error, and the error handler's turn.
int error_class_of(const Request& request);
[[gnu::cold, gnu::noinline]] int raise_request(const char* function, const Request& request);

}  // namespace portunus::mpi
