// partitioned.cpp: messages whose parts become ready one by one.
//
// All partitions travel as one message, which is sent when the last of them is ready, by the thread that says so. These
// messages have a context of their own. Which send meets which receive is settled by the order of the init calls: both
// sides number those with the same peer and tag, and the number takes the source's place in the match bits, as the receive
// names the process anyway.
// Thread: any, as MPI_Init_thread permits; each partition is the business of one thread.
// Source: MPI-5.0, 4.
#include <cassert>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi {
namespace {

std::mutex numbers_mutex;

// How many init calls of this kind there were before.
int next_number(Communicator& comm, int peer, int tag, bool receives) {
  std::lock_guard lock(numbers_mutex);
  int& made = comm.partitioned[{peer, tag, receives}];
  const int number = made;
  made = (made + 1) % envelope.ranks();
  return number;
}

class PartitionedMessage final : public Attachment {
 public:
  PartitionedMessage(Communicator& comm, const Arguments& given, size_t bytes, int partitions, bool receives)
      : given_(given),
        type_(retain(find_type(given.datatype, given.count))),
        bytes_(bytes),
        receives_(receives),
        ready_(static_cast<size_t>(partitions)) {
    if (given.peer != MPI_PROC_NULL)
      bits_ = match_bits(comm.context_of(Traffic::partitions), next_number(comm, given.peer, given.tag, receives), given.tag);
    if (!is_one_run(*type_, given.count)) scratch_ = std::make_unique<Scratch>(bytes);
  }
  ~PartitionedMessage() override { release(type_); }

  bool can_start() const override { return true; }
  bool is_message() const override { return receives_; }
  bool has_memory() const { return scratch_ == nullptr || scratch_->data() != nullptr; }
  bool receives() const { return receives_; }
  int partitions() const { return static_cast<int>(ready_.size()); }

  int start(Request& request) override {
    given_.function = "MPI_Start";
    for (std::atomic<bool>& each : ready_) each.store(false, std::memory_order_relaxed);
    missing_.store(partitions(), std::memory_order_release);  // acquired by the last to be ready
    if (given_.peer == MPI_PROC_NULL) {
      if (receives_ || partitions() == 0) request.state.store(State::done, std::memory_order_relaxed);
      return MPI_SUCCESS;
    }
    if (!receives_) return partitions() == 0 ? go(request) : MPI_SUCCESS;
    device::reachable_source(*request.comm, given_.peer);
    signatures::expect(request, given_);
    const int result = device::irecv(request, room(), bytes_, match_rank(*request.comm, given_.peer), {bits_, 0});
    if (device::failures.count.load(std::memory_order_relaxed) != 0 && result == PTL_OK) device::look_again(request);
    return started(request, result);
  }
  // False: it was ready before.
  bool mark(int partition) { return !ready_[static_cast<size_t>(partition)].exchange(true, std::memory_order_relaxed); }
  // `count` more partitions are ready.
  int advance(Request& request, int count) {
    const int missing = missing_.fetch_sub(count, std::memory_order_acq_rel);
    assert(missing >= count);
    return missing == count ? go(request) : MPI_SUCCESS;
  }
  void completed(Request& request) override {
    if (!receives_) return;
    request.match_bits = match_bits(request.comm->context, given_.peer, given_.tag);  // what a status says
    if (scratch_)
      unpack(layout_of(*type_, given_.count), const_cast<void*>(given_.buf), 0, static_cast<int64_t>(request.length), scratch_->data());
  }

 private:
  std::byte* room() const {
    return scratch_ ? scratch_->data() : static_cast<std::byte*>(const_cast<void*>(given_.buf)) + type_->layout.offset;
  }
  // Always with an event: another thread may sleep for this request.
  int go(Request& request) {
    if (given_.peer == MPI_PROC_NULL) return started(request, device::signal(request));
    if (scratch_) pack(given_, scratch_->data(), bytes_);
    return started(request,
                   device::isend(request, room(), bytes_, request.comm->job_rank(given_.peer), bits_, false, signatures::of(given_)));
  }
  int started(Request& request, int result) {
    if (result == PTL_OK) return MPI_SUCCESS;
    request.state.store(State::inactive, std::memory_order_relaxed);
    return raise_portals(given_.function, request.comm, result);
  }

  Arguments given_;
  Datatype* type_;
  size_t bytes_;
  bool receives_;
  ptl_match_bits_t bits_ = 0;
  std::unique_ptr<Scratch> scratch_;  // unless the data are one run
  std::vector<std::atomic<bool>> ready_;
  std::atomic<int> missing_{0};
};

// `given`: the count is that of one partition.
int init(Arguments given, int partitions, bool receives, MPI_Info info, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = made_all_the_same(receives ? check_receive(given, comm, type, bytes) : check_send(given, comm, type, bytes)))
    return error;
  if (partitions < 0) return raise(given.function, comm, MPI_ERR_ARG, "the number of partitions is negative (%d)", partitions);
  if (given.peer == MPI_ANY_SOURCE || given.tag == MPI_ANY_TAG)
    return raise(given.function, comm, given.tag == MPI_ANY_TAG ? MPI_ERR_TAG : MPI_ERR_RANK,
                 "partitioned messages have a source and a tag of their own, not MPI_ANY_SOURCE or MPI_ANY_TAG");
  if (int error = check_info(given.function, comm, info)) return error;
  if (handle == nullptr) return raise_no_handle(given, comm);
  const bool overflows = __builtin_mul_overflow(given.count, partitions, &given.count);
  if (overflows || !fits_in_memory(given.count, *find_type(given.datatype, given.count)))
    return raise(given.function, comm, MPI_ERR_COUNT, "%d partitions of so many elements are too many", partitions);
  Request* request = pool.claim(comm, receives && given.peer != MPI_PROC_NULL);
  if (request == nullptr) return raise_no_request(given, comm);
  auto* message = new PartitionedMessage(*comm, given, bytes * static_cast<size_t>(partitions), partitions, receives);
  request->state.store(State::inactive, std::memory_order_relaxed);
  request->special = true;
  request->source = receives ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  request->attached = message;
  if (!message->has_memory()) {
    pool.release(request);
    return raise(given.function, comm, MPI_ERR_NO_MEM, "there is no memory to pack the message");
  }
  *handle = handle_of(request);
  return MPI_SUCCESS;
}

int check(const char* function, MPI_Request handle, bool receives, Request*& request, PartitionedMessage*& message) {
  request = pool.find(handle);
  message = request ? dynamic_cast<PartitionedMessage*>(request->attached) : nullptr;
  if (message == nullptr || message->receives() != receives) {
    if (request == nullptr) return raise_bad_request(function, handle);
    return raise(function, request->comm, MPI_ERR_REQUEST, "the request is not one of a partitioned %s", receives ? "receive" : "send");
  }
  return MPI_SUCCESS;
}

int raise_partition(const char* function, const Request& request, int partition, const PartitionedMessage& message) {
  return raise(function, request.comm, MPI_ERR_ARG, "there is no partition %d among %d", partition, message.partitions());
}

// The partitions at(0) .. at(count - 1) are ready. All are looked at before the first is marked.
template <class At>
int ready(const char* function, MPI_Request handle, int count, At&& at) {
  Request* request;
  PartitionedMessage* message;
  if (int error = check(function, handle, false, request, message)) return error;
  if (request->state.load(std::memory_order_relaxed) != State::active)
    return raise(function, request->comm, MPI_ERR_REQUEST, "the request has not been started");
  for (int i = 0; i < count; ++i)
    if (at(i) < 0 || at(i) >= message->partitions()) return raise_partition(function, *request, at(i), *message);
  for (int i = 0; i < count; ++i)
    if (!message->mark(at(i))) return raise(function, request->comm, MPI_ERR_ARG, "the partition %d is ready already", at(i));
  return message->advance(*request, count);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

// The printed MPI-5.0 has a large count in the first form, too; the ABI's header has an int.
#define PARTITIONED_INIT(suffix, Count)                                                                                          \
  extern "C" int PMPI_Psend_init##suffix(const void* buf, int partitions, Count count, MPI_Datatype datatype, int dest, int tag, \
                                         MPI_Comm comm, MPI_Info info, MPI_Request* request) try {                               \
    return init({"MPI_Psend_init" #suffix, buf, count, datatype, dest, tag, comm}, partitions, false, info, request);            \
  }                                                                                                                              \
  MPI_WEAK_NAME(Psend_init##suffix)                                                                                              \
  extern "C" int PMPI_Precv_init##suffix(void* buf, int partitions, Count count, MPI_Datatype datatype, int source, int tag,     \
                                         MPI_Comm comm, MPI_Info info, MPI_Request* request) try {                               \
    return init({"MPI_Precv_init" #suffix, buf, count, datatype, source, tag, comm}, partitions, true, info, request);           \
  }                                                                                                                              \
  MPI_WEAK_NAME(Precv_init##suffix)

PARTITIONED_INIT(, int)
PARTITIONED_INIT(_c, MPI_Count)

extern "C" int PMPI_Pready(int partition, MPI_Request request) try {
  return ready("MPI_Pready", request, 1, [&](int) { return partition; });
}
MPI_WEAK_NAME(Pready)

// Both ends of the range are ready, too.
extern "C" int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request) try {
  static constexpr char kName[] = "MPI_Pready_range";
  if (partition_high < partition_low)
    return raise(kName, nullptr, MPI_ERR_ARG, "the range from %d to %d is empty", partition_low, partition_high);
  return ready(kName, request, partition_high - partition_low + 1, [&](int i) { return partition_low + i; });
}
MPI_WEAK_NAME(Pready_range)

extern "C" int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request) try {
  static constexpr char kName[] = "MPI_Pready_list";
  if (length < 0) return raise(kName, nullptr, MPI_ERR_ARG, "the length is negative (%d)", length);
  if (length > 0 && array_of_partitions == nullptr) return raise_null(kName, "partitions");
  if (length == 0) return MPI_SUCCESS;
  return ready(kName, request, length, [&](int i) { return array_of_partitions[i]; });
}
MPI_WEAK_NAME(Pready_list)

extern "C" int PMPI_Parrived(MPI_Request request, int partition, int* flag) try {
  static constexpr char kName[] = "MPI_Parrived";
  Request* found;
  PartitionedMessage* message;
  if (request == MPI_REQUEST_NULL && flag != nullptr) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  if (int error = check(kName, request, true, found, message)) return error;
  if (partition < 0 || partition >= message->partitions()) return raise_partition(kName, *found, partition, *message);
  if (flag == nullptr) return raise_null(kName, "flag");
  *flag = device::poll_until([&] { return found->done(); });
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Parrived)
