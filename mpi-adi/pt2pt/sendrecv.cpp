// sendrecv.cpp: a send and a receive in one call.
//
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.10.
#include <atomic>
#include <memory>
#include <new>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi {
namespace {

// Records an exchange; its sending half has been checked.
int capture_exchange(const Arguments& to, void* room, const Arguments& from, bool replaces, MPI_Request* handle, MPI_Status* status) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_receive(from, comm, type, bytes, Begins::nothing); error != kCaptured) return error;
  set_empty_status(status);
  return graph::exchange(to, room, from, replaces, handle);
}

// Receives from MPI_PROC_NULL.
[[gnu::noinline]] int send_alone(const Arguments& to, const Arguments& from, MPI_Status* status) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  int error = check_receive(from, comm, type, bytes);
  if (error == MPI_SUCCESS) error = send<Mode::standard>(to);
  if (error == MPI_SUCCESS) set_null_process_status(status);
  return error;
}

int sendrecv(const Arguments& to, void* room, const Arguments& from, MPI_Status* status) {
  Communicator* found;
  const Datatype* type;
  size_t bytes;
  if (int error = check_send(to, found, type, bytes, Begins::nothing))
    return error == kCaptured ? capture_exchange(to, room, from, false, nullptr, status) : error;
  if (from.peer == MPI_PROC_NULL) [[unlikely]]
    return send_alone(to, from, status);
  MPI_Request handle;
  if (int error = ireceive(room, from, &handle)) return error;
  Request& receiving = *pool.find(handle);
  const int send_error = send<Mode::standard>(to);
  if (send_error != MPI_SUCCESS) {
    device::detach(receiving);
    return send_error;
  }
  device::wait_until([&] { return receiving.ready(); }, [] {}, [&] { device::long_waits::tell(receiving); });
  if (receiving.is_pending()) [[unlikely]]
    device::end_pending(receiving);
  device::wait(receiving);
  return finish(from.function, handle, &receiving, status);
}

// The data that a replacing call sends: a copy, as the buffer is to be overwritten.
std::unique_ptr<std::byte[]> copy_of(const Arguments& given, size_t bytes) {
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[bytes + 1]);
  if (copy) pack(given, copy.get(), bytes);
  return copy;
}

// The same message, from the copy.
Arguments as_bytes(const Arguments& given, const void* copy, size_t bytes) {
  Arguments copied = given;
  copied.buf = copy;
  copied.count = static_cast<MPI_Count>(bytes);
  copied.datatype = MPI_BYTE;
  return copied;
}

int raise_no_copy(const Arguments& given, const Communicator* comm, size_t bytes) {
  return raise(given.function, comm, MPI_ERR_NO_MEM, "there is no memory for a copy of the %zu bytes that are sent", bytes);
}

int sendrecv_replace(const Arguments& to, void* room, const Arguments& from, MPI_Status* status) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = check_send(to, comm, type, bytes, Begins::nothing))
    return error == kCaptured ? capture_exchange(to, room, from, true, nullptr, status) : error;
  if (int error = check_receive(from, comm, bytes, Begins::nothing)) return error;
  const std::unique_ptr<std::byte[]> copy = copy_of(to, bytes);
  if (!copy) return raise_no_copy(to, comm, bytes);
  const signatures::Original original(to, copy.get());
  return sendrecv(as_bytes(to, copy.get(), bytes), room, from, status);
}

// The two operations that a request for both stands for. It is complete when its parts are, and when starting them has ended.
class Exchange final : public Attachment {
 public:
  explicit Exchange(std::unique_ptr<std::byte[]> copy) : copy_(std::move(copy)) {}

  // Its parts cannot be taken back together.
  int cancel(Request& whole) override { return whole.done() ? MPI_SUCCESS : MPI_ERR_REQUEST; }
  const char* complaint() const override { return "a combined send and receive cannot be cancelled"; }
  // A part is complete, or will never be started.
  void settle(Request& whole) {
    if (parts_.fetch_sub(1, std::memory_order_acq_rel) == 1) device::conclude(whole);
  }

 private:
  std::atomic<int> parts_{3};
  std::unique_ptr<std::byte[]> copy_;
};

class Part final : public Attachment {
 public:
  Part(Request& whole, Exchange& exchange) : whole_(whole), exchange_(exchange) {}

  void completed(Request& part) override {
    if (part.failure != PTL_NI_OK) whole_.failure = part.failure;
    if (part.failure == kOtherTypes) signatures::hand_on(part, whole_);
    if (part.receives) {
      whole_.match_bits = part.match_bits;
      whole_.length = part.length;
      whole_.requested = part.requested;
    }
    exchange_.settle(whole_);
  }

 private:
  Request& whole_;
  Exchange& exchange_;
};

template <class Start>
int start_part(const Arguments& given, Communicator* comm, bool receives, Request& whole, Exchange& exchange, Start&& start) {
  Request* part = pool.claim(comm, receives);
  if (part == nullptr) return raise_no_request(given, comm);
  part->attached = new Part(whole, exchange);
  part->special = true;
  if (int result = start(*part); result != PTL_OK) {
    pool.release(part);
    return raise_portals(given.function, comm, result);
  }
  device::detach(*part);
  return MPI_SUCCESS;
}

int isendrecv(const Arguments& to, void* room, const Arguments& from, bool replaces, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t sent, received;
  if (int error = made_all_the_same(check_receive(from, comm, type, received))) return error;
  const int captured = check_send(to, comm, type, sent);
  if (captured > MPI_SUCCESS) return captured;
  if (handle == nullptr) return raise_no_handle(to, comm);
  if (captured == kCaptured) return capture_exchange(to, room, from, replaces, handle, MPI_STATUS_IGNORE);
  std::unique_ptr<std::byte[]> copy = replaces ? copy_of(to, sent) : nullptr;
  if (replaces && !copy) return raise_no_copy(to, comm, sent);
  Request* whole = pool.claim(comm, from.peer != MPI_PROC_NULL);
  if (whole == nullptr) return raise_no_request(to, comm);
  const Arguments given = copy ? as_bytes(to, copy.get(), sent) : to;
  const signatures::Original original(to, given.buf);
  auto* exchange = new Exchange(std::move(copy));
  whole->attached = exchange;
  whole->special = true;
  whole->source = MPI_PROC_NULL;
  int error = MPI_SUCCESS;
  bool started = from.peer != MPI_PROC_NULL;
  if (started)
    error = start_part(from, comm, true, *whole, *exchange, [&](Request& part) {
      signatures::expect(part, from);
      return start_receive(part, room, from, received);
    });
  if (!started || error != MPI_SUCCESS) exchange->settle(*whole);
  started = to.peer != MPI_PROC_NULL && error == MPI_SUCCESS;
  if (started)
    error = start_part(to, comm, false, *whole, *exchange, [&](Request& part) { return start_send(Mode::standard, part, given, sent); });
  if (!started || error != MPI_SUCCESS) exchange->settle(*whole);
  if (error == MPI_SUCCESS) *handle = handle_of(whole);
  else device::detach(*whole);  // what was started ends by itself
  exchange->settle(*whole);
  return error;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, int recvcount,
                             MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Sendrecv";
  return sendrecv({kName, sendbuf, sendcount, sendtype, dest, sendtag, comm}, recvbuf,
                  {kName, recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}
MPI_WEAK_NAME(Sendrecv)

extern "C" int PMPI_Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                                     MPI_Comm comm, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Sendrecv_replace";
  return sendrecv_replace({kName, buf, count, datatype, dest, sendtag, comm}, buf, {kName, buf, count, datatype, source, recvtag, comm},
                          status);
}
MPI_WEAK_NAME(Sendrecv_replace)

extern "C" int PMPI_Isendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                              int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Isendrecv";
  return isendrecv({kName, sendbuf, sendcount, sendtype, dest, sendtag, comm}, recvbuf,
                   {kName, recvbuf, recvcount, recvtype, source, recvtag, comm}, false, request);
}
MPI_WEAK_NAME(Isendrecv)

extern "C" int PMPI_Isendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                                      MPI_Comm comm, MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Isendrecv_replace";
  return isendrecv({kName, buf, count, datatype, dest, sendtag, comm}, buf, {kName, buf, count, datatype, source, recvtag, comm}, true,
                   request);
}
MPI_WEAK_NAME(Isendrecv_replace)

extern "C" int PMPI_Sendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Sendrecv_c";
  return sendrecv({kName, sendbuf, sendcount, sendtype, dest, sendtag, comm}, recvbuf,
                  {kName, recvbuf, recvcount, recvtype, source, recvtag, comm}, status);
}
MPI_WEAK_NAME(Sendrecv_c)

extern "C" int PMPI_Sendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                                       MPI_Comm comm, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Sendrecv_replace_c";
  return sendrecv_replace({kName, buf, count, datatype, dest, sendtag, comm}, buf, {kName, buf, count, datatype, source, recvtag, comm},
                          status);
}
MPI_WEAK_NAME(Sendrecv_replace_c)

extern "C" int PMPI_Isendrecv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                                MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                                MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Isendrecv_c";
  return isendrecv({kName, sendbuf, sendcount, sendtype, dest, sendtag, comm}, recvbuf,
                   {kName, recvbuf, recvcount, recvtype, source, recvtag, comm}, false, request);
}
MPI_WEAK_NAME(Isendrecv_c)

extern "C" int PMPI_Isendrecv_replace_c(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                                        MPI_Comm comm, MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Isendrecv_replace_c";
  return isendrecv({kName, buf, count, datatype, dest, sendtag, comm}, buf, {kName, buf, count, datatype, source, recvtag, comm}, true,
                   request);
}
MPI_WEAK_NAME(Isendrecv_replace_c)
