// session_buffer.cpp: buffers of sessions, for buffered sends in communicators that come from them.
// Thread: any. Source: MPI-5.0, 3.6.
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/core/session.hpp"

namespace portunus::mpi {
namespace {

// The begin of each call, and its way to raise errors.
class OfSession {
 public:
  OfSession(const char* function, MPI_Session handle) : function_(function) { error = check(function, handle, session, {}); }
  int operator()(int code, const char* sentence) const { return raise_in(function_, *session, code, "%s", sentence); }
  MessageBuffer& buffer() const { return *session->buffer; }

  Session* session;
  int error;

 private:
  const char* function_;
};

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

#define MPI_BUFFER_CALLS(suffix, Size)                                                                        \
  extern "C" int PMPI_Session_attach_buffer##suffix(MPI_Session session, void* buffer, Size size) try {       \
    const OfSession of("MPI_Session_attach_buffer" #suffix, session);                                         \
    return of.error ? of.error : attach_buffer(of.buffer(), buffer, size, of);                                \
  }                                                                                                           \
  MPI_WEAK_NAME(Session_attach_buffer##suffix)                                                                \
  extern "C" int PMPI_Session_detach_buffer##suffix(MPI_Session session, void* buffer_addr, Size* size) try { \
    const OfSession of("MPI_Session_detach_buffer" #suffix, session);                                         \
    return of.error ? of.error : detach_buffer(of.buffer(), buffer_addr, size, of);                           \
  }                                                                                                           \
  MPI_WEAK_NAME(Session_detach_buffer##suffix)
MPI_BUFFER_CALLS(, int)
MPI_BUFFER_CALLS(_c, MPI_Count)

extern "C" int PMPI_Session_flush_buffer(MPI_Session session) try {
  const OfSession of("MPI_Session_flush_buffer", session);
  if (of.error) return of.error;
  flush_buffer(of.buffer());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_flush_buffer)

extern "C" int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request* request) try {
  const OfSession of("MPI_Session_iflush_buffer", session);
  return of.error ? of.error : iflush_buffer(of.buffer(), self(), request, of);
}
MPI_WEAK_NAME(Session_iflush_buffer)
