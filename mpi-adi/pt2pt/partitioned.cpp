// partitioned.cpp: messages whose parts become ready one by one.
//
// A message travels in pieces that its length alone decides, so that both sides know them, however each divides it. A piece leaves when
// the partitions that it has a part of are ready, by the thread that says so of the last of them. These messages have a context of their
// own. Which send meets which receive is settled by the order of the init calls: both sides number those with the same peer and tag, and
// the piece's number takes the source's place in the match bits, as the receive names the process anyway.
// Thread: any, as MPI_Init_thread permits; each partition is the business of one thread.
// Source: MPI-5.0, 4.
#include <algorithm>
#include <cassert>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {
namespace {

// How a message of `bytes` travels: in pieces of equal length but for the last one, whatever the partitions of its two sides are.
struct Pieces {
  explicit Pieces(size_t bytes)
      : length(std::max(kLeast, (bytes + kMost * 64 - 1) / (kMost * 64) * 64)), count(std::max<size_t>(1, (bytes + length - 1) / length)) {}

  static constexpr size_t kLeast = 65536;  // bytes: over a network shorter messages cost more than they hide
  static constexpr size_t kMost = 64;      // pieces of a message

  size_t length;
  size_t count;
};

std::mutex numbers_mutex;

// The number of the first piece; the numbers after it are those of the others. Begins again after 2048 messages.
int next_number(Communicator& comm, int peer, int tag, bool receives) {
  std::lock_guard lock(numbers_mutex);
  int& made = comm.partitioned[{peer, tag, receives}];
  const int number = made;
  made = (made + static_cast<int>(Pieces::kMost)) % envelope.ranks();
  return number;
}

// A message that travels in pieces: one leaves when all partitions that it has a part of are ready. Each piece is a request of its own.
class PartitionedMessage final : public Attachment {
 public:
  PartitionedMessage(Communicator& comm, const Arguments& given, size_t bytes, int partitions, bool receives)
      : given_(given),
        type_(retain(find_type(given.datatype, given.count))),
        bytes_(bytes),
        partition_bytes_(partitions == 0 ? 0 : bytes / static_cast<size_t>(partitions)),
        receives_(receives),
        pieces_(bytes),
        ready_(static_cast<size_t>(partitions)),
        missing_(receives ? Pieces::kMost : pieces_.count),
        requests_(missing_.size()) {
    if (given.peer != MPI_PROC_NULL) number_ = next_number(comm, given.peer, given.tag, receives);
    if (!is_one_run(*type_, given.count)) scratch_ = std::make_unique<Scratch>(bytes);
  }
  ~PartitionedMessage() override { release(type_); }

  bool can_start() const override { return true; }
  bool has_memory() const { return scratch_ == nullptr || scratch_->data() != nullptr; }
  bool receives() const { return receives_; }
  int partitions() const { return static_cast<int>(ready_.size()); }
  // Its pieces cannot be taken back together.
  int cancel(Request& whole) override { return whole.done() ? MPI_SUCCESS : MPI_ERR_REQUEST; }
  const char* complaint() const override { return "a partitioned message cannot be cancelled"; }
  void visit_parts(const std::function<void(Request&)>& visit) const override {
    for (const std::atomic<Request*>& each : requests_)
      if (Request* part = each.load(std::memory_order_acquire)) visit(*part);
  }

  int start(Request& whole) override {
    given_.function = "MPI_Start";
    for (std::atomic<bool>& each : ready_) each.store(false, std::memory_order_relaxed);
    if (given_.peer == MPI_PROC_NULL && (receives_ || partitions() == 0)) {
      whole.state.store(State::done, std::memory_order_relaxed);
      return MPI_SUCCESS;
    }
    if (!receives_ && given_.peer != MPI_PROC_NULL && !device::reachable(whole.comm->job_rank(given_.peer))) {
      whole.state.store(State::inactive, std::memory_order_relaxed);
      return raise_lost(given_, whole.comm);
    }
    received_ = 0;
    sent_bytes_ = bytes_;
    to_come_.store(pieces_.count + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < pieces_.count; ++i)
      missing_[i].store(receives_ ? 1 : partitions_of(i), std::memory_order_release);  // acquired by the last to be ready, and by arrived()
    whole.source = MPI_PROC_NULL;
    if (receives_) device::reachable_source(*whole.comm, given_.peer);
    if (receives_ || partitions() == 0)
      for (size_t i = 0; i < pieces_.count; ++i) begin(whole, i);
    settle(whole, kByCall);
    return MPI_SUCCESS;
  }
  // False: it was ready before.
  bool mark(int partition) { return !ready_[static_cast<size_t>(partition)].exchange(true, std::memory_order_relaxed); }
  // One more partition is ready: begins the pieces for which it was the last.
  void advance(Request& whole, int partition) {
    const auto [first, end] = pieces_of(partition);
    for (size_t i = first; i < end; ++i) {
      const int missing = missing_[i].fetch_sub(1, std::memory_order_acq_rel);
      assert(missing >= 1);
      if (missing == 1) begin(whole, i);
    }
  }
  bool arrived(int partition) const {
    const auto [first, end] = pieces_of(partition);
    for (size_t i = first; i < end; ++i)
      if (missing_[i].load(std::memory_order_acquire) != 0) return false;
    return true;
  }

 private:
  // One piece, on its way.
  class Part final : public Attachment {
   public:
    Part(PartitionedMessage& message, Request& whole, size_t index) : message_(message), whole_(whole), index_(index) {}

    bool is_message() const override { return true; }
    void heard(ptl_hdr_data_t data) override { header_ = data; }
    void completed(Request& part) override { message_.ended(whole_, part, index_, header_); }

   private:
    PartitionedMessage& message_;
    Request& whole_;
    size_t index_;
    ptl_hdr_data_t header_ = 0;
  };

  size_t begin_of(size_t piece) const { return std::min(piece * pieces_.length, bytes_); }
  size_t length_of(size_t piece) const { return std::min(pieces_.length, bytes_ - begin_of(piece)); }
  struct Range {
    size_t first, end;
  };
  Range pieces_of(int partition) const {
    if (partition_bytes_ == 0) return {0, 1};
    const size_t begin = static_cast<size_t>(partition) * partition_bytes_;
    return {begin / pieces_.length, (begin + partition_bytes_ - 1) / pieces_.length + 1};
  }
  int partitions_of(size_t piece) const {
    if (partition_bytes_ == 0) return partitions();
    return static_cast<int>((begin_of(piece) + length_of(piece) - 1) / partition_bytes_ - begin_of(piece) / partition_bytes_ + 1);
  }
  std::byte* room() const {
    return scratch_ ? scratch_->data() : static_cast<std::byte*>(const_cast<void*>(given_.buf)) + type_->layout.offset;
  }
  // The datatypes are compared of messages that are one piece; the header of others says how long they are.
  bool is_compared() const { return debug.calls && bytes_ < Pieces::kLeast; }

  // Sends or awaits a piece. One that cannot begin ends at once, and the request fails.
  void begin(Request& whole, size_t piece) {
    if (given_.peer == MPI_PROC_NULL) return settle(whole, kByCall);
    Request* part = pool.claim(whole.comm, receives_);
    if (part == nullptr) return fail(whole);
    part->attached = new Part(*this, whole, piece);
    part->special = true;
    requests_[piece].store(part, std::memory_order_release);  // acquired by those who ask what is waited for
    const int result = receives_ ? receive(*part, piece) : send(*part, piece);
    if (result == PTL_OK) return device::detach(*part);
    requests_[piece].store(nullptr, std::memory_order_release);
    pool.release(part);
    fail(whole);
  }
  ptl_match_bits_t bits_of(const Communicator& comm, size_t piece) const {
    return match_bits(comm.context_of(Traffic::partitions), number_ + static_cast<int>(piece), given_.tag);
  }
  int send(Request& part, size_t piece) {
    std::byte* const data = room() + begin_of(piece);
    if (scratch_)
      pack(layout_of(*type_, given_.count), given_.buf, static_cast<int64_t>(begin_of(piece)), static_cast<int64_t>(length_of(piece)),
           data);
    const ptl_hdr_data_t header = is_compared() ? signatures::of(given_) : bytes_;
    return device::isend(part, data, length_of(piece), part.comm->job_rank(given_.peer), bits_of(*part.comm, piece), header);
  }
  int receive(Request& part, size_t piece) {
    if (is_compared()) signatures::expect(part, given_);
    const int result = device::irecv(part, room() + begin_of(piece), length_of(piece), match_rank(*part.comm, given_.peer),
                                     {bits_of(*part.comm, piece), 0});
    if (device::failures.count.load(std::memory_order_relaxed) != 0 && result == PTL_OK) device::look_again(part);
    return result;
  }
  // A piece is complete, has failed, or was taken back. The holder of the turn.
  void ended(Request& whole, Request& part, size_t piece, ptl_hdr_data_t header) {
    requests_[piece].store(nullptr, std::memory_order_release);
    if (part.failure != PTL_NI_OK) whole.failure = part.failure;
    if (part.failure == kOtherTypes) signatures::hand_on(part, whole);
    if (receives_ && part.failure == PTL_NI_OK && !part.cancelled) received(whole, part, piece, header);
    if (receives_) missing_[piece].store(0, std::memory_order_release);  // acquired by arrived()
    settle(whole, kByEvent);
  }
  void received(Request& whole, const Request& part, size_t piece, ptl_hdr_data_t header) {
    if (scratch_)
      unpack(layout_of(*type_, given_.count), const_cast<void*>(given_.buf), static_cast<int64_t>(begin_of(piece)),
             static_cast<int64_t>(part.length), room() + begin_of(piece));
    received_ += part.length;
    const size_t sent = part.requested < Pieces::kLeast && piece == 0 ? part.requested : is_compared() ? bytes_ : header;
    if (sent == sent_bytes_) return;
    sent_bytes_ = sent;
    const Pieces theirs(sent);
    assert(theirs.count <= Pieces::kMost);
    if (sent < bytes_ && theirs.length != pieces_.length && theirs.count > 1) whole.failure = kOtherLength;
    const size_t end = std::max(theirs.count, pieces_.count);
    to_come_.fetch_add(1 + end - pieces_.count, std::memory_order_relaxed);
    for (size_t i = pieces_.count; i < end; ++i) begin(whole, i);  // there is no room for these, but their sender waits
    for (size_t i = theirs.count; i < pieces_.count; ++i)          // these do not come
      if (Request* other = requests_[i].load(std::memory_order_relaxed)) device::cancel_receive(*other);
    settle(whole, kByEvent);
  }
  void fail(Request& whole) {
    whole.failure = PTL_NI_OP_VIOLATION;
    settle(whole, kByCall);
  }
  // The start, or a piece, has ended. The last completes the request. A thread that sleeps for it is woken by an event, if this is none.
  enum By : bool { kByEvent, kByCall };
  void settle(Request& whole, By by) {
    const size_t to_come = to_come_.fetch_sub(1, std::memory_order_acq_rel);
    assert(to_come >= 1);
    if (to_come != 1) return;
    if (receives_) {  // what a status says
      whole.match_bits = match_bits(whole.comm->context, given_.peer, given_.tag);
      whole.length = received_;
      whole.requested = sent_bytes_ > bytes_ ? sent_bytes_ : received_;
    }
    device::conclude(whole, true);
    static Request& nobody = *new Request(nullptr, false);
    if (by == kByCall && device::device.threaded) device::signal(nobody);
  }

  Arguments given_;
  Datatype* type_;
  size_t bytes_;
  size_t partition_bytes_;
  bool receives_;
  Pieces pieces_;
  int number_ = 0;                    // of the first piece, in the match bits
  std::unique_ptr<Scratch> scratch_;  // unless the data are one run
  std::vector<std::atomic<bool>> ready_;
  std::vector<std::atomic<int>> missing_;        // send: partitions of a piece that are not ready; receive: 0 when it has arrived
  std::vector<std::atomic<Request*>> requests_;  // of the pieces on their way; nullptr: of none
  std::atomic<size_t> to_come_{0};
  size_t received_ = 0;    // written by the holder of the turn, as the next one
  size_t sent_bytes_ = 0;  // of the whole message, as far as is known
};

// `given`: the count is that of one partition.
int init(Arguments given, int partitions, bool receives, MPI_Info info, MPI_Request* handle) {
  Communicator* comm;
  const Datatype* type;
  size_t bytes;
  if (int error = made_all_the_same(receives ? check_receive(given, comm, type, bytes, Begins::nothing)
                                             : check_send(given, comm, type, bytes, Begins::nothing)))
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
int ready(const char* function, MPI_Request handle, int64_t count, At&& at) {
  Request* request;
  PartitionedMessage* message;
  if (int error = check(function, handle, false, request, message)) return error;
  if (request->state.load(std::memory_order_relaxed) != State::active)
    return raise(function, request->comm, MPI_ERR_REQUEST, "the request has not been started");
  if (count <= 0) return raise(function, request->comm, MPI_ERR_ARG, "the number of partitions is %lld", static_cast<long long>(count));
  for (int64_t i = 0; i < count; ++i)
    if (at(i) < 0 || at(i) >= message->partitions()) return raise_partition(function, *request, at(i), *message);
  for (int64_t i = 0; i < count; ++i)
    if (!message->mark(at(i))) return raise(function, request->comm, MPI_ERR_ARG, "the partition %d is ready already", at(i));
  for (int64_t i = 0; i < count; ++i) message->advance(*request, at(i));
  if (!request->comm->is_plain()) [[unlikely]]
    tool::emit(tool::Event::partitions_ready, request->comm->context, count);
  return MPI_SUCCESS;
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
  return ready("MPI_Pready", request, 1, [&](int64_t) { return partition; });
}
MPI_WEAK_NAME(Pready)

// Both ends of the range are ready, too.
extern "C" int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request) try {
  return ready("MPI_Pready_range", request, int64_t{partition_high} - partition_low + 1,
               [&](int64_t i) { return static_cast<int>(partition_low + i); });
}
MPI_WEAK_NAME(Pready_range)

extern "C" int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request) try {
  static constexpr char kName[] = "MPI_Pready_list";
  if (length > 0 && array_of_partitions == nullptr) return raise_null(kName, "partitions");
  if (length == 0) return MPI_SUCCESS;
  return ready(kName, request, length, [&](int64_t i) { return array_of_partitions[i]; });
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
  *flag = device::poll_until([&] { return found->done() || message->arrived(partition); });
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Parrived)
