// calls.cpp: the MPIX_ calls of mpi-ext.h.
// Source: Bland et al. 2013; the MPI Forum's chapter on process fault tolerance.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/ulfm/agreement.hpp"
#include "mpi-adi/ulfm/revocation.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::ulfm {
namespace {

// All deaths that were told are known after this.
void hear(Communicator& comm) {
  for (const int member : members_of(comm)) device::meet(member);
  device::poll_until([] { return false; });
}

bool is_lost(int job_rank) { return device::failures.peers[job_rank].load(std::memory_order_relaxed) == device::Peer::lost; }

std::vector<bool>& acknowledged(Communicator& comm, size_t members) {
  std::vector<bool>& all = state_of(comm).acknowledged;
  all.resize(members);
  return all;
}

// The members for which `belongs` as a new group.
template <class Belongs>
int group_of(const char* function, Communicator& comm, Belongs&& belongs, MPI_Group* group) {
  const std::vector<int> members = members_of(comm);
  std::vector<int> chosen;
  for (size_t i = 0; i < members.size(); ++i)
    if (belongs(i, members[i])) chosen.push_back(members[i]);
  if (chosen.empty()) {
    *group = MPI_GROUP_EMPTY;
    return MPI_SUCCESS;
  }
  Group* made = make_group(std::move(chosen));
  if (made == nullptr) return raise(function, &comm, MPI_ERR_NO_MEM, "too many groups are in use; free some first");
  *group = handle_of(made);
  return MPI_SUCCESS;
}

// The first word is the flag; then follow who has acknowledged whose death.
Words question(Communicator& comm, int flag) {
  const size_t n = members_of(comm).size();
  Words words{~uint64_t{0} << 32 | static_cast<uint32_t>(flag)};
  words.resize(1 + (n + 63) / 64, 0);
  const std::vector<bool>& known = acknowledged(comm, n);
  for (size_t i = 0; i < n; ++i)
    if (known[i]) words[1 + i / 64] |= uint64_t{1} << i % 64;
  return words;
}

// Whether all deaths were acknowledged by all.
bool answer(const Words& words, const std::vector<bool>& alive, int* flag) {
  *flag = static_cast<int>(static_cast<uint32_t>(words[0]));
  for (size_t i = 0; i < alive.size(); ++i)
    if (!alive[i] && (words[1 + i / 64] >> i % 64 & 1) == 0) return false;
  return true;
}

constexpr char kUnacknowledged[] = "a rank has died whose death not all ranks have acknowledged; the flag is agreed on";

// The request of an agreement whose user does not wait in the call.
class Agreeing final : public Attachment {
 public:
  explicit Agreeing(int* flag) : flag_(flag) {}
  int query(Request&, MPI_Status*) override { return well_ ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED; }
  const char* complaint() const override { return kUnacknowledged; }

  int begin(Communicator& comm, const Words& words, Request& whole) {
    whole_ = &whole;
    return begin_agreement(comm, words, [this](const Words& agreed, const std::vector<bool>& alive) {
      well_ = answer(agreed, alive, flag_);
      device::conclude(*whole_);  // may be the end of this object
    });
  }

 private:
  int* flag_;
  Request* whole_ = nullptr;
  bool well_ = true;  // written before the request is done
};

int no_memory(const char* function, Communicator& comm) {
  return raise(function, &comm, MPI_ERR_NO_MEM, "there is no memory, or no request, for the agreement");
}

// Makes a communicator of the living, without a context; nullptr: there is no memory, or no room for it.
Communicator* communicator_of(Communicator& comm, const std::vector<bool>& alive) {
  Group* group = nullptr;
  Communicator* made = nullptr;
  try {
    const std::vector<int> members = members_of(comm);
    std::vector<int> living;
    for (size_t i = 0; i < members.size(); ++i)
      if (alive[i]) living.push_back(members[i]);
    group = make_group(std::move(living));
    if (group) made = make_communicator(kNoContext, group, nullptr);
  } catch (const std::bad_alloc&) {
  }
  if (made == nullptr) {
    release(group);
    return nullptr;
  }
  replace_errhandler(made->errhandler, comm.errhandler.load(std::memory_order_acquire));
  made->session_buffer = comm.session_buffer;
  return made;
}

// An agreement on a context has one word more than offers have: whether all have made a communicator, which is what takes memory.
using OfferOfAll = std::array<uint64_t, 1 + std::tuple_size_v<ContextOffer>>;
static_assert(std::tuple_size_v<OfferOfAll> <= kMostWords);

// The request of a shrinking whose user does not wait in the call: one agreement after the other, as in shrink().
class Shrinking final : public Attachment {
 public:
  Shrinking(Communicator& comm, MPI_Comm* place) : comm_(comm), place_(place), search_(key_of(comm, Traffic::groups, 0), nullptr) {
    alive_.resize(members_of(comm).size());
  }
  int query(Request&, MPI_Status*) override { return error_; }
  const char* complaint() const override { return "some rank has no memory, or too many communicators or groups in use; free some first"; }

  int begin(Request& whole) {
    whole_ = &whole;
    return begin_agreement(comm_, {}, [this](const Words&, const std::vector<bool>& alive) {
      alive_ = alive;
      made_ = communicator_of(comm_, alive_);
      offer();
    });
  }

 private:
  void offer() {
    ContextOffer offer{};
    if (made_ != nullptr && !search_.next(offer)) return end(MPI_ERR_NO_MEM);
    OfferOfAll words{made_ != nullptr};
    std::copy(offer.begin(), offer.end(), words.begin() + 1);
    agree_on(words, [this](const Words& all, const std::vector<bool>&) {
      ContextOffer common;
      std::copy(all.begin() + 1, all.end(), common.begin());
      if (all[0] == 0) end(MPI_ERR_NO_MEM);
      else if (search_.choose(common)) reserve();
      else this->offer();
    });
  }
  void reserve() {
    const uint64_t reserved = search_.reserve();
    agree_on({&reserved, 1}, [this](const Words& all, const std::vector<bool>& alive) {
      Agreed agreed;
      if (!search_.settle(all[0] != 0, agreed)) return offer();
      give_context(*made_, agreed);
      if (alive == alive_) return end(MPI_SUCCESS);
      destroy_communicator(std::exchange(made_, nullptr));
      if (begin(*whole_) != MPI_SUCCESS) end(MPI_ERR_NO_MEM);
    });
  }
  void agree_on(std::span<const uint64_t> words, Done done) {
    if (begin_agreement(comm_, words, std::move(done)) != MPI_SUCCESS) end(MPI_ERR_NO_MEM);
  }
  void end(int error) {
    error_ = error;
    if (error == MPI_SUCCESS) *place_ = handle_of(made_);
    else if (made_ != nullptr) destroy_communicator(made_);
    device::conclude(*whole_);  // may be the end of this object
  }

  Request* whole_ = nullptr;
  Communicator& comm_;
  MPI_Comm* place_;
  ContextSearch search_;
  std::vector<bool> alive_;  // the members of made_
  Communicator* made_ = nullptr;
  int error_ = MPI_SUCCESS;
  device::PendingSteps steps_;
};

// Makes a communicator of all who live before its context is agreed on, and another one if somebody dies meanwhile.
int shrink(const char* function, Communicator& comm, MPI_Comm* newcomm) {
  std::vector<bool> alive, after;
  const AllAnd all_and = [&](uint64_t* words, size_t count, int error) -> int {
    OfferOfAll all{error == MPI_SUCCESS};
    std::copy_n(words, count, all.begin() + 1);
    if (agree(comm, {all.data(), 1 + count}, after) != MPI_SUCCESS || all[0] == 0) return MPI_ERR_NO_MEM;
    std::copy_n(all.begin() + 1, count, words);
    return MPI_SUCCESS;
  };
  after.resize(members_of(comm).size());
  for (;;) {
    if (agree(comm, {}, alive) != MPI_SUCCESS) return no_memory(function, comm);
    Communicator* const made = communicator_of(comm, alive);
    Agreed agreed;
    ContextOffer none{};
    const int error = made ? agree_on_context(all_and, key_of(comm, Traffic::groups, 0), nullptr, agreed)
                           : all_and(none.data(), none.size(), MPI_ERR_NO_MEM);
    if (error == MPI_SUCCESS) give_context(*made, agreed);
    if (error == MPI_SUCCESS && after == alive) {
      *newcomm = handle_of(made);
      return MPI_SUCCESS;
    }
    if (made != nullptr) destroy_communicator(made);
    if (error != MPI_SUCCESS) return raise_creation(function, comm, error);
  }
}

// Begins an agreement by `attachment`, which the request has from then on.
template <class Attached, class Begin>
int begin_by(const char* function, Communicator& comm, std::unique_ptr<Attached> attachment, MPI_Request* request, Begin&& begin) {
  Request* const whole = pool.claim(&comm, false);
  if (whole == nullptr) return no_memory(function, comm);
  Attached& attached = *attachment.release();
  whole->special = true;
  whole->attached = &attached;
  *request = handle_of(whole);
  if (begin(attached, *whole) == MPI_SUCCESS) return MPI_SUCCESS;
  *request = MPI_REQUEST_NULL;
  pool.release(whole);
  return no_memory(function, comm);
}

}  // namespace
}  // namespace portunus::mpi::ulfm

using namespace portunus::mpi;
using namespace portunus::mpi::ulfm;

extern "C" int PMPIX_Comm_revoke(MPI_Comm comm) try {
  Communicator* found;
  if (int error = check("MPIX_Comm_revoke", comm, found, {})) return error;
  take(*found, true);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_revoke)

extern "C" int PMPIX_Comm_is_revoked(MPI_Comm comm, int* flag) try {
  Communicator* found;
  if (int error = check("MPIX_Comm_is_revoked", comm, found, {flag})) return error;
  device::poll_until([] { return false; });
  *flag = (found->attention.load(std::memory_order_acquire) & Communicator::kRevoked) != 0;
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_is_revoked)

extern "C" int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPIX_Comm_shrink";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm})) return error;
  *newcomm = MPI_COMM_NULL;
  if (found->inter) return raise(kName, found, MPI_ERR_COMM, "this is an intercommunicator");
  return shrink(kName, *found, newcomm);
}
MPIX_WEAK_NAME(Comm_shrink)

extern "C" int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) try {
  static constexpr char kName[] = "MPIX_Comm_ishrink";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm, request})) return error;
  *newcomm = MPI_COMM_NULL;
  if (found->inter) return raise(kName, found, MPI_ERR_COMM, "this is an intercommunicator");
  return begin_by(kName, *found, std::make_unique<Shrinking>(*found, newcomm), request,
                  [](Shrinking& shrinking, Request& whole) { return shrinking.begin(whole); });
}
MPIX_WEAK_NAME(Comm_ishrink)

extern "C" int PMPIX_Comm_agree(MPI_Comm comm, int* flag) try {
  static constexpr char kName[] = "MPIX_Comm_agree";
  Communicator* found;
  if (int error = check(kName, comm, found, {flag})) return error;
  Words words = question(*found, *flag);
  std::vector<bool> alive;
  if (agree(*found, words, alive) != MPI_SUCCESS) return no_memory(kName, *found);
  return answer(words, alive, flag) ? MPI_SUCCESS : raise(kName, found, MPIX_ERR_PROC_FAILED, "%s", kUnacknowledged);
}
MPIX_WEAK_NAME(Comm_agree)

extern "C" int PMPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request) try {
  static constexpr char kName[] = "MPIX_Comm_iagree";
  Communicator* found;
  if (int error = check(kName, comm, found, {flag, request})) return error;
  const Words words = question(*found, *flag);
  return begin_by(kName, *found, std::make_unique<Agreeing>(flag), request,
                  [&](Agreeing& agreeing, Request& whole) { return agreeing.begin(*found, words, whole); });
}
MPIX_WEAK_NAME(Comm_iagree)

extern "C" int PMPIX_Comm_failure_ack(MPI_Comm comm) try {
  Communicator* found;
  if (int error = check("MPIX_Comm_failure_ack", comm, found, {})) return error;
  hear(*found);
  const std::vector<int> members = members_of(*found);
  std::vector<bool>& known = acknowledged(*found, members.size());
  for (size_t i = 0; i < members.size(); ++i) known[i] = is_lost(members[i]);
  device::resume_pending(*found);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_failure_ack)

extern "C" int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed) try {
  static constexpr char kName[] = "MPIX_Comm_failure_get_acked";
  Communicator* found;
  if (int error = check(kName, comm, found, {failed})) return error;
  const std::vector<bool>& known = acknowledged(*found, members_of(*found).size());
  return group_of(
      kName, *found, [&](size_t i, int) { return known[i]; }, failed);
}
MPIX_WEAK_NAME(Comm_failure_get_acked)

extern "C" int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failed) try {
  static constexpr char kName[] = "MPIX_Comm_get_failed";
  Communicator* found;
  if (int error = check(kName, comm, found, {failed})) return error;
  hear(*found);
  return group_of(
      kName, *found, [](size_t, int job_rank) { return is_lost(job_rank); }, failed);
}
MPIX_WEAK_NAME(Comm_get_failed)

extern "C" int PMPIX_Comm_ack_failed(MPI_Comm comm, int number, int* acked) try {
  static constexpr char kName[] = "MPIX_Comm_ack_failed";
  Communicator* found;
  if (int error = check(kName, comm, found, {acked})) return error;
  if (number < 0) return raise(kName, found, MPI_ERR_ARG, "the number of deaths is negative (%d)", number);
  const std::vector<int> members = members_of(*found);
  std::vector<bool>& known = acknowledged(*found, members.size());
  int seen = 0;
  for (size_t i = 0; i < members.size(); ++i)
    if (is_lost(members[i]) && seen++ < number) known[i] = true;
  device::resume_pending(*found);
  *acked = static_cast<int>(std::count(known.begin(), known.end(), true));
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_ack_failed)
