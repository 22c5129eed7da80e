// persistent.cpp: requests that are started again and again.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.9.
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/buffered.hpp"
#include "mpi-adi/pt2pt/buffers_in_use.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {
namespace {

enum class Kind { standard, synchronous, buffered, receive };

class PersistentMessage final : public Attachment {
 public:
  PersistentMessage(Kind kind, void* room, const Arguments& given, size_t bytes)
      : kind_(kind), room_(room), given_(given), type_(retain(find_type(given.datatype, given.count))), bytes_(bytes) {}
  ~PersistentMessage() override { release(type_); }

  bool can_start() const override { return true; }
  bool is_message() const override { return true; }

  int capture(Request& request) override {
    Arguments given = given_;
    given.function = "MPI_Start";
    if (kind_ == Kind::receive) return graph::start_receive(request, room_, given);
    return graph::start_send(request, given,
                             kind_ == Kind::standard   ? graph::Way::standard
                             : kind_ == Kind::buffered ? graph::Way::buffered
                                                       : graph::Way::synchronous);
  }

  int start(Request& request) override {
    if (given_.peer == MPI_PROC_NULL) return done_at_once(request);
    given_.function = "MPI_Start";
    if (debug.buffers && kind_ != Kind::buffered) {
      if (const int error = buffers_in_use::check(given_, *request.comm, kind_ == Kind::receive)) {
        not_started(request);
        return error;
      }
      buffers_in_use::hold(request, given_);
    }
    if (kind_ == Kind::receive) signatures::expect(request, given_);
    if (kind_ == Kind::receive) return started(request, start_receive(request, room_, given_, bytes_));
    const Communicator& comm = *request.comm;
    if (!device::reachable(comm.job_rank(given_.peer))) {
      not_started(request);
      return raise_lost(given_, &comm);
    }
    if (kind_ == Kind::buffered) {
      done_at_once(request);
      return send_buffered(given_, comm, bytes_);
    }
    const Mode mode = kind_ == Kind::synchronous ? Mode::synchronous : Mode::standard;
    if (!can_copy(mode, bytes_)) return started(request, start_send(mode, request, given_, bytes_));
    done_at_once(request);
    return started(request, send_copied(comm, given_, bytes_));
  }

 private:
  static int done_at_once(Request& request) {
    request.state.store(State::done, std::memory_order_relaxed);
    return MPI_SUCCESS;
  }
  static void not_started(Request& request) {
    if (request.holds) buffers_in_use::release(request);
    request.state.store(State::inactive, std::memory_order_relaxed);
  }
  int started(Request& request, int result) {
    if (result == PTL_OK) return MPI_SUCCESS;
    not_started(request);
    return raise_portals(given_.function, request.comm, result);
  }

  Kind kind_;
  void* room_;  // receive
  Arguments given_;
  Datatype* type_;  // the user may free it: its handle in given_ stays good
  size_t bytes_;
};

int init(Kind kind, void* room, const Arguments& given, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  const bool receives = kind == Kind::receive;
  if (int error = made_all_the_same(receives ? check_receive(given, comm, type, bytes, Begins::nothing)
                                             : check_send(given, comm, type, bytes, Begins::nothing)))
    return error;
  if (handle == nullptr) return raise_no_handle(given, comm);
  Request* request = pool.claim(comm, receives && given.peer != MPI_PROC_NULL);
  if (request == nullptr) return raise_no_request(given, comm);
  request->state.store(State::inactive, std::memory_order_relaxed);
  request->special = true;
  request->source = receives ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  request->attached = new PersistentMessage(kind, room, given, bytes);
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

int start(const char* function, MPI_Request handle) {
  Request* request = pool.find(handle);
  if (request == nullptr) return raise_bad_request(function, handle);
  if (request->attached == nullptr || !request->attached->can_start())
    return raise(function, request->comm, MPI_ERR_REQUEST, "the request is not persistent");
  if (request->state.load(std::memory_order_relaxed) != State::inactive)
    return raise(function, request->comm, MPI_ERR_REQUEST, "the request is active already; complete it first");
  if (!request->comm->is_plain()) [[unlikely]] {
    if (graph::is_captured_here(*request->comm)) return request->attached->capture(*request);
    tool::emit(tool::Event::persistent_starts, request->comm->context);
  }
  request->state.store(State::active, std::memory_order_relaxed);
  return request->attached->start(*request);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

#define SEND_INIT(name, kind)                                                                                               \
  extern "C" int PMPI_##name(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,           \
                             MPI_Request* request) try {                                                                    \
    return init(kind, nullptr, {"MPI_" #name, buf, count, datatype, dest, tag, comm}, request);                             \
  }                                                                                                                         \
  MPI_WEAK_NAME(name)                                                                                                       \
  extern "C" int PMPI_##name##_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, \
                                 MPI_Request* request) try {                                                                \
    return init(kind, nullptr, {"MPI_" #name "_c", buf, count, datatype, dest, tag, comm}, request);                        \
  }                                                                                                                         \
  MPI_WEAK_NAME(name##_c)

SEND_INIT(Send_init, Kind::standard)
SEND_INIT(Ssend_init, Kind::synchronous)
SEND_INIT(Bsend_init, Kind::buffered)
SEND_INIT(Rsend_init, Kind::standard)

extern "C" int PMPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request) try {
  return init(Kind::receive, buf, {"MPI_Recv_init", buf, count, datatype, source, tag, comm}, request);
}
MPI_WEAK_NAME(Recv_init)

extern "C" int PMPI_Recv_init_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                MPI_Request* request) try {
  return init(Kind::receive, buf, {"MPI_Recv_init_c", buf, count, datatype, source, tag, comm}, request);
}
MPI_WEAK_NAME(Recv_init_c)

extern "C" int PMPI_Start(MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Start";
  return request == nullptr ? raise_null(kName, "request") : start(kName, *request);
}
MPI_WEAK_NAME(Start)

extern "C" int PMPI_Startall(int count, MPI_Request array_of_requests[]) try {
  static constexpr char kName[] = "MPI_Startall";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  for (int i = 0; i < count; ++i)
    if (int error = start(kName, array_of_requests[i])) return error;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Startall)
