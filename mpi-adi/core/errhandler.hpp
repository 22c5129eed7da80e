// errhandler.hpp: error handlers that users make, beside the predefined ones.
//
// Thread: any. Invariants: a handler lives as long as the user or an object holds it.
// Source: MPI-5.0, 9.3.
#pragma once

#include <atomic>
#include <functional>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

enum class Subject : uint8_t { comm, window, session, file };

struct ErrorHandler {
  Subject subject = Subject::comm;
  std::atomic<int> references{1};
  std::atomic<int> handles{1};  // of these, the user's
  union {
    MPI_Comm_errhandler_function* comm = nullptr;
    MPI_Win_errhandler_function* window;
    MPI_Session_errhandler_function* session;
    MPI_File_errhandler_function* file;
  };
};

// The program has set one for MPI_COMM_SELF.
inline constinit std::atomic<bool> self_has_errhandler{false};

// nullptr: a predefined one, or none.
ErrorHandler* find_errhandler(MPI_Errhandler handle);
void for_each_errhandler(const std::function<void(const ErrorHandler&)>& action);
// Predefined, or made for this kind of object.
bool fits(MPI_Errhandler handle, Subject subject);
// MPI_ERRHANDLER_NULL: too many are in use. The caller sets the function.
MPI_Errhandler make_errhandler(Subject subject, ErrorHandler*& made);

// The object's handler becomes `handle`; references follow.
void replace_errhandler(std::atomic<MPI_Errhandler>& place, MPI_Errhandler handle);
// One more reference, for a user who asks.
MPI_Errhandler share_errhandler(const std::atomic<MPI_Errhandler>& place);

}  // namespace portunus::mpi
