// errhandler.cpp: making, setting, asking and calling error handlers; error classes and codes of users.
#include "mpi-adi/core/errhandler.hpp"

#include <cstring>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

constinit ObjectPool<ErrorHandler, 1 << 16> handlers;

bool is_predefined(MPI_Errhandler handle) {
  return handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_ABORT || handle == MPI_ERRORS_RETURN;
}
void drop(MPI_Errhandler handle) {
  ErrorHandler* found = handlers.find(handle);
  if (found != nullptr && found->references.fetch_sub(1, std::memory_order_acq_rel) == 1) handlers.release(found);
}
MPI_Errhandler keep(MPI_Errhandler handle) {
  if (ErrorHandler* found = handlers.find(handle)) found->references.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

}  // namespace

ErrorHandler* find_errhandler(MPI_Errhandler handle) { return handlers.find(handle); }
void for_each_errhandler(const std::function<void(const ErrorHandler&)>& action) { handlers.for_each(action); }

bool fits(MPI_Errhandler handle, Subject subject) {
  const ErrorHandler* found = handlers.find(handle);
  return found ? found->subject == subject : is_predefined(handle);
}

MPI_Errhandler make_errhandler(Subject subject, ErrorHandler*& made) {
  made = handlers.claim();
  if (made == nullptr) return MPI_ERRHANDLER_NULL;
  made->subject = subject;
  return reinterpret_cast<MPI_Errhandler>(made);
}

void replace_errhandler(std::atomic<MPI_Errhandler>& place, MPI_Errhandler handle) {
  drop(place.exchange(keep(handle), std::memory_order_acq_rel));
}
MPI_Errhandler share_errhandler(const std::atomic<MPI_Errhandler>& place) {
  const MPI_Errhandler handle = keep(place.load(std::memory_order_acquire));
  if (ErrorHandler* found = handlers.find(handle)) found->handles.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) try {
  static constexpr char kName[] = "MPI_Comm_create_errhandler";
  if (int error = check_results(kName, nullptr, {reinterpret_cast<const void*>(function), errhandler})) return error;
  ErrorHandler* made;
  *errhandler = make_errhandler(Subject::comm, made);
  if (made == nullptr) return raise(kName, nullptr, MPI_ERR_NO_MEM, "too many error handlers are in use");
  made->comm = function;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_create_errhandler)

extern "C" int PMPI_Errhandler_free(MPI_Errhandler* errhandler) try {
  static constexpr char kName[] = "MPI_Errhandler_free";
  if (int error = check_results(kName, nullptr, {errhandler})) return error;
  if (find_errhandler(*errhandler) == nullptr && !is_predefined(*errhandler))
    return raise(kName, nullptr, MPI_ERR_ERRHANDLER, "%p is no error handler", static_cast<void*>(*errhandler));
  if (ErrorHandler* found = find_errhandler(*errhandler)) found->handles.fetch_sub(1, std::memory_order_relaxed);
  drop(*errhandler);  // a predefined one was only asked for
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Errhandler_free)

extern "C" int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) try {
  static constexpr char kName[] = "MPI_Comm_set_errhandler";
  Communicator* found;
  if (int error = check(kName, comm, found, {})) return error;
  if (!fits(errhandler, Subject::comm))
    return raise(kName, found, MPI_ERR_ERRHANDLER, "%p is no error handler of communicators", static_cast<void*>(errhandler));
  replace_errhandler(found->errhandler, errhandler);
  if (found == &self()) self_has_errhandler.store(true, std::memory_order_relaxed);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_set_errhandler)

extern "C" int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) try {
  Communicator* found;
  if (int error = check("MPI_Comm_get_errhandler", comm, found, {errhandler})) return error;
  *errhandler = share_errhandler(found->errhandler);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_get_errhandler)

extern "C" int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode) try {
  static constexpr char kName[] = "MPI_Comm_call_errhandler";
  Communicator* found;
  if (int error = check(kName, comm, found, {})) return error;
  raise(kName, found, errorcode, "called by the program");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_call_errhandler)
