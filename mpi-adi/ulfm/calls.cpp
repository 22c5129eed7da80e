// calls.cpp: the MPIX_ calls of mpi-ext.h.
// Source: Bland et al. 2013; the MPI Forum's chapter on process fault tolerance.
#include <algorithm>
#include <bit>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/ulfm/agreement.hpp"
#include "mpi-adi/ulfm/revocation.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

#define MPIX_WEAK_NAME(name) extern "C" decltype(PMPIX_##name) MPIX_##name __attribute__((weak, alias("PMPIX_" #name)));

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
  int query(Request&, MPI_Status*) override { return well ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED; }
  const char* complaint() const override { return kUnacknowledged; }
  bool well = true;  // written before the request is done
};

int no_memory(const char* function, Communicator& comm) {
  return raise(function, &comm, MPI_ERR_NO_MEM, "there is no memory, or no request, for the agreement");
}

// A communicator of the living, in a context that they have agreed on; nullptr: there is no room for it.
Communicator* communicator_of(Communicator& comm, const std::vector<bool>& alive, uint16_t context) {
  const std::vector<int> members = members_of(comm);
  std::vector<int> living;
  for (size_t i = 0; i < members.size(); ++i)
    if (alive[i]) living.push_back(members[i]);
  Group* group = make_group(std::move(living));
  Communicator* made = group ? make_communicator(context, group, nullptr) : nullptr;
  if (made == nullptr) {
    if (group) release(group);
    release_context(context);
    return nullptr;
  }
  replace_errhandler(made->errhandler, comm.errhandler.load(std::memory_order_acquire));
  made->session_buffer = comm.session_buffer;
  return made;
}

// The request of a shrinking whose user does not wait in the call: one agreement after the other.
class Shrinking final : public Attachment {
 public:
  Shrinking(Request& whole, Communicator& comm, MPI_Comm* place)
      : whole_(whole), comm_(comm), place_(place), search_(key_of(comm, Traffic::groups, 0)) {}
  int query(Request&, MPI_Status*) override { return error_; }
  const char* complaint() const override { return "some rank has too many communicators or groups in use; free some first"; }

  void next() {
    ContextOffer offer;
    if (!search_.next(offer)) return end(MPI_ERR_NO_MEM);
    agree_on({offer.begin(), offer.end()}, [this](const Words& words, const std::vector<bool>&) {
      ContextOffer common;
      std::copy(words.begin(), words.end(), common.begin());
      if (search_.choose(common)) reserve();
      else next();
    });
  }

 private:
  void reserve() {
    agree_on({search_.reserve()}, [this](const Words& words, const std::vector<bool>&) {
      if (!search_.settle(words[0] != 0, context_)) return next();
      agree_on({}, [this](const Words&, const std::vector<bool>& alive) {
        Communicator* made = communicator_of(comm_, alive, context_);
        if (made) *place_ = handle_of(made);
        end(made ? MPI_SUCCESS : MPI_ERR_NO_MEM);
      });
    });
  }
  void agree_on(Words words, Done done) {
    if (begin_agreement(comm_, std::move(words), std::move(done)) != MPI_SUCCESS) end(MPI_ERR_NO_MEM);
  }
  void end(int error) {
    error_ = error;
    device::conclude(whole_);  // may be the end of this object
  }

  Request& whole_;
  Communicator& comm_;
  MPI_Comm* place_;
  ContextSearch search_;
  uint16_t context_ = kNoContext;
  int error_ = MPI_SUCCESS;
  device::PendingSteps steps_;
};

int shrink(const char* function, Communicator& comm, MPI_Comm* newcomm) {
  std::vector<bool> alive;
  const AllAnd all_and = [&](uint64_t* words, size_t count, int) {
    Words agreed(words, words + count);
    const int error = agree(comm, agreed, alive);
    if (error == MPI_SUCCESS) std::copy(agreed.begin(), agreed.end(), words);
    return error;
  };
  uint16_t context = 0;
  if (int error = agree_on_context(all_and, key_of(comm, Traffic::groups, 0), context)) return raise_creation(function, comm, error);
  Words nothing;
  if (agree(comm, nothing, alive) != MPI_SUCCESS) return no_memory(function, comm);
  Communicator* made = communicator_of(comm, alive, context);
  if (made == nullptr) return raise_creation(function, comm, MPI_ERR_NO_MEM);
  *newcomm = handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi::ulfm

using namespace portunus::mpi;
using namespace portunus::mpi::ulfm;

extern "C" int PMPIX_Comm_revoke(MPI_Comm comm) {
  Communicator* found;
  if (int error = check("MPIX_Comm_revoke", comm, found, {})) return error;
  take(*found, true);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_revoke)

extern "C" int PMPIX_Comm_is_revoked(MPI_Comm comm, int* flag) {
  Communicator* found;
  if (int error = check("MPIX_Comm_is_revoked", comm, found, {flag})) return error;
  device::poll_until([] { return false; });
  *flag = (found->attention.load(std::memory_order_acquire) & Communicator::kRevoked) != 0;
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_is_revoked)

extern "C" int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm) {
  static constexpr char kName[] = "MPIX_Comm_shrink";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm})) return error;
  *newcomm = MPI_COMM_NULL;
  if (found->inter) return raise(kName, found, MPI_ERR_COMM, "this is an intercommunicator");
  return shrink(kName, *found, newcomm);
}
MPIX_WEAK_NAME(Comm_shrink)

extern "C" int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  static constexpr char kName[] = "MPIX_Comm_ishrink";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm, request})) return error;
  *newcomm = MPI_COMM_NULL;
  if (found->inter) return raise(kName, found, MPI_ERR_COMM, "this is an intercommunicator");
  Request* whole = pool.claim(found, false);
  if (whole == nullptr) return no_memory(kName, *found);
  auto* shrinking = new Shrinking(*whole, *found, newcomm);
  whole->special = true;
  whole->attached = shrinking;
  *request = handle_of(whole);
  shrinking->next();
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_ishrink)

extern "C" int PMPIX_Comm_agree(MPI_Comm comm, int* flag) {
  static constexpr char kName[] = "MPIX_Comm_agree";
  Communicator* found;
  if (int error = check(kName, comm, found, {flag})) return error;
  Words words = question(*found, *flag);
  std::vector<bool> alive;
  if (agree(*found, words, alive) != MPI_SUCCESS) return no_memory(kName, *found);
  return answer(words, alive, flag) ? MPI_SUCCESS : raise(kName, found, MPIX_ERR_PROC_FAILED, "%s", kUnacknowledged);
}
MPIX_WEAK_NAME(Comm_agree)

extern "C" int PMPIX_Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request) {
  static constexpr char kName[] = "MPIX_Comm_iagree";
  Communicator* found;
  if (int error = check(kName, comm, found, {flag, request})) return error;
  Request* whole = pool.claim(found, false);
  if (whole == nullptr) return no_memory(kName, *found);
  auto* agreeing = new Agreeing;
  whole->special = true;
  whole->attached = agreeing;
  const auto end = [=](const Words& words, const std::vector<bool>& alive) {
    agreeing->well = answer(words, alive, flag);
    device::conclude(*whole);
  };
  if (begin_agreement(*found, question(*found, *flag), end) != MPI_SUCCESS) {
    pool.release(whole);
    return no_memory(kName, *found);
  }
  *request = handle_of(whole);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Comm_iagree)

extern "C" int PMPIX_Comm_failure_ack(MPI_Comm comm) {
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

extern "C" int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed) {
  static constexpr char kName[] = "MPIX_Comm_failure_get_acked";
  Communicator* found;
  if (int error = check(kName, comm, found, {failed})) return error;
  const std::vector<bool>& known = acknowledged(*found, members_of(*found).size());
  return group_of(
      kName, *found, [&](size_t i, int) { return known[i]; }, failed);
}
MPIX_WEAK_NAME(Comm_failure_get_acked)

extern "C" int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group* failed) {
  static constexpr char kName[] = "MPIX_Comm_get_failed";
  Communicator* found;
  if (int error = check(kName, comm, found, {failed})) return error;
  hear(*found);
  return group_of(
      kName, *found, [](size_t, int job_rank) { return is_lost(job_rank); }, failed);
}
MPIX_WEAK_NAME(Comm_get_failed)

extern "C" int PMPIX_Comm_ack_failed(MPI_Comm comm, int number, int* acked) {
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
