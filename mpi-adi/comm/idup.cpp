// idup.cpp: duplicating a communicator without waiting for the others.
//
// Attributes are copied by the call; the context is agreed on by messages, each of which is sent when the one before it has
// arrived, by whichever thread takes that event. An agreement is a bitwise and over all members, by dissemination: in round
// r, words go to the member 2^r above and come from the one 2^r below (and is idempotent, so any number of members will do).
// Thread: the call; then the holder of the turn.
// Source: MPI-5.0, 7.4.2; Hensgen, Finkel, Manber 1988 (dissemination).
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/pt2pt/pt2pt.hpp"
#include "mpi-adi/request/completion.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi {
namespace {

constexpr int kFirstTag = 1;  // blocking calls use 0

// Attached to the user's request.
class Duplication final : public Attachment {
 public:
  Duplication(Request& whole, Communicator& parent, Communicator* made, MPI_Comm* place)
      : whole_(whole),
        parent_(parent),
        made_(made),
        place_(place),
        members_(members_of(parent)),
        me_(std::find(members_.begin(), members_.end(), own_job_rank) - members_.begin()),
        tag_(kFirstTag + parent.idups++ % (kMaxTag - kFirstTag)),
        search_(key_of(parent, Traffic::collectives, tag_), made->inter ? nullptr : made->group) {}

  void begin() {
    if (search_.next(words_)) round();
    else end(MPI_ERR_NO_MEM);
  }

 private:
  // One receive of ours has its words.
  class Arrival final : public Attachment {
   public:
    explicit Arrival(Duplication& of) : of_(of) {}
    void completed(Request& request) override { of_.arrived(request.failure == PTL_NI_OK && request.length == sizeof of_.theirs_); }
    void released() override {}

   private:
    Duplication& of_;
  };

  // Posts its receive last: from then on another thread may go on with this.
  void round() {
    const size_t n = members_.size();
    if (distance_ >= n) return agreed();
    const uint16_t context = parent_.context_of(Traffic::collectives);
    const int to = members_[(me_ + distance_) % n], from = members_[(me_ + n - distance_) % n];
    const auto source = static_cast<int>((me_ + n - distance_) % n);
    Request* arrival = pool.claim(&parent_, true);
    if (arrival == nullptr) return end(MPI_ERR_NO_MEM);
    arrival->attached = &arrival_;
    arrival->special = true;
    arrival->state.store(State::detached, std::memory_order_relaxed);
    device::send_control(words_.data(), failed_ ? 0 : sizeof words_, to, match_bits(context, static_cast<int>(me_), tag_));
    const int result =
        device::irecv_control(*arrival, theirs_.data(), sizeof theirs_, static_cast<ptl_rank_t>(from), pattern(context, source, tag_));
    if (result == PTL_OK) return;
    pool.release(arrival);
    end(MPI_ERR_NO_MEM);
  }
  void arrived(bool well) {
    failed_ = failed_ || !well;  // an empty message says so to the others
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= theirs_[i];
    distance_ *= 2;
    round();
  }
  void agreed() {
    if (failed_) return end(MPI_ERR_PROC_ABORTED);
    distance_ = 1;
    if (confirming_) {
      confirming_ = false;
      if (search_.settle(words_[0] != 0, agreed_)) return end(MPI_SUCCESS);
    } else if (search_.choose(words_)) {
      confirming_ = true;
      words_[0] = search_.reserve();
      return round();
    }
    begin();
  }
  void end(int error) {
    if (error == MPI_SUCCESS) {
      give_context(*made_, agreed_);
      *place_ = handle_of(made_);
    } else {
      destroy_communicator(made_);
      whole_.failure = error == MPI_ERR_PROC_ABORTED ? PTL_NI_UNDELIVERABLE : PTL_NI_DROPPED;
    }
    device::conclude(whole_);  // may be the end of this object
  }

  Request& whole_;
  Communicator& parent_;
  Communicator* made_;
  MPI_Comm* place_;
  std::vector<int> members_;
  size_t me_;
  int tag_;
  ContextSearch search_;
  ContextOffer words_{}, theirs_{};
  Agreed agreed_{};
  size_t distance_ = 1;
  bool confirming_ = false, failed_ = false;
  device::PendingSteps steps_;
  Arrival arrival_{*this};  // of one round after the other
};

int idup(const char* function, MPI_Comm comm, const Hints* hints, MPI_Comm* newcomm, MPI_Request* request) {
  Communicator* parent;
  if (int error = check(function, comm, parent, {newcomm, request})) return error;
  if (graph::is_captured_here(*parent)) return graph::refuse(function);
  *newcomm = MPI_COMM_NULL;
  Communicator* made = make_communicator(kNoContext, retain(parent->group), parent->inter ? retain(parent->remote_group) : nullptr);
  Request* whole = made ? pool.claim(parent, false) : nullptr;
  if (made == nullptr) {
    release(parent->group);
    release(parent->remote_group);
    return raise_creation(function, *parent, MPI_ERR_NO_MEM);
  }
  if (whole == nullptr) {
    destroy_communicator(made);
    return raise(function, parent, MPI_ERR_NO_MEM, "too many requests are in use; complete some of them first");
  }
  const auto forget = [&] {
    made->attributes.clear(handle_of(made));
    destroy_communicator(made);
    pool.release(whole);
  };
  Duplication* duplication;
  try {
    replace_errhandler(made->errhandler, parent->errhandler.load(std::memory_order_acquire));
    made->topology = parent->topology;
    made->session_buffer = parent->session_buffer;
    made->hints = hints ? *hints : parent->hints;
    if (int error = made->attributes.copy_from(parent->attributes, comm)) {
      forget();
      return raise(function, parent, error, "an attribute's copy function failed");
    }
    duplication = new Duplication(*whole, *parent, made, newcomm);
  } catch (const std::bad_alloc&) {
    forget();
    throw;
  }
  whole->attached = duplication;
  whole->special = true;
  *request = handle_of(whole);
  duplication->begin();
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) try {
  return idup("MPI_Comm_idup", comm, nullptr, newcomm, request);
}
MPI_WEAK_NAME(Comm_idup)

extern "C" int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Comm_idup_with_info";
  Communicator* found;
  if (int error = check(kName, comm, found, {})) return error;
  if (int error = check_info(kName, found, info)) return error;
  const Hints hints = hints_of(info);
  return idup(kName, comm, &hints, newcomm, request);
}
MPI_WEAK_NAME(Comm_idup_with_info)
