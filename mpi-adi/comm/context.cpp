// context.cpp: which contexts are in use, and the agreement on a new one.
#include "mpi-adi/comm/context.hpp"

#include <bit>
#include <bitset>
#include <mutex>
#include <utility>

#include "mpi-adi/collectives/places.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/comm/exchange.hpp"

namespace portunus::mpi {
namespace {

static_assert(std::tuple_size_v<ContextOffer> <= kMostWords);

constexpr size_t kWindow = kContextWindow;
size_t windows() { return static_cast<size_t>(max_communicators()) / kWindow; }
static_assert(std::has_single_bit(unsigned{kUsualJobs.contexts() / kContextsPerCommunicator} / kWindow) &&
              std::has_single_bit(unsigned{kHugeJobs.contexts() / kContextsPerCommunicator} / kWindow));

std::mutex mutex;
std::bitset<kMaxCommunicators> in_use;  // number n has the contexts from n * kContextsPerCommunicator on

using Offer = ContextOffer;

Offer free_numbers(size_t window) {
  std::lock_guard lock(mutex);
  Offer offer{};
  for (size_t i = 0; i < kWindow; ++i)
    if (!in_use[window * kWindow + i]) offer[i / 64] |= uint64_t{1} << i % 64;
  return offer;
}
bool reserve(size_t number) {
  std::lock_guard lock(mutex);
  if (in_use[number]) return false;
  return in_use[number] = true;
}
void give_back(size_t number) {
  std::lock_guard lock(mutex);
  in_use[number] = false;
}

uint64_t scrambled(uint64_t key) {  // the finalizer of MurmurHash3: near keys end up far apart
  key = (key ^ key >> 33) * 0xff51afd7ed558ccdu;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53u;
  return key ^ key >> 33;
}

// The first offered number from `start` on, around the window; kWindow: none is.
size_t choose(const Offer& offer, size_t start) {
  for (size_t i = 0; i < kWindow; ++i) {
    const size_t number = (start + i) % kWindow;
    if (offer[number / 64] >> number % 64 & 1) return number;
  }
  return kWindow;
}

}  // namespace

ContextSearch::ContextSearch(uint64_t key, const Group* group) : random_(scrambled(key)), group_(group) {}

bool ContextSearch::next(Offer& offer) {
  const size_t count = windows();
  if (full_ == count) return false;
  const size_t stride = (random_ >> 16) % count | 1;  // odd: reaches every window
  window_ = (random_ + attempt_++ * stride) % count;
  offer = free_numbers(window_);
  return true;
}

bool ContextSearch::choose(const Offer& common) {
  const size_t chosen = mpi::choose(common, (random_ >> 32) + attempt_);
  full_ = chosen == kWindow ? full_ + 1 : 0;
  number_ = window_ * kWindow + chosen;
  return chosen != kWindow;
}

bool ContextSearch::reserve() {
  reserved_ = mpi::reserve(number_);
  if (reserved_ && group_ != nullptr && group_->rank == 0) place_ = collectives::take_place(*group_, number_);
  return reserved_;
}

bool ContextSearch::settle(bool all_did, Agreed& agreed) {
  if (all_did) {
    if (group_ != nullptr && group_->rank != MPI_UNDEFINED && group_->rank > 0) place_ = collectives::find_place(*group_, number_);
    agreed = {static_cast<uint16_t>(number_ * kContextsPerCommunicator), place_};
    return true;
  }
  if (place_ != 0) collectives::return_place(*group_, std::exchange(place_, 0));
  if (reserved_) give_back(number_);
  return false;
}

void ContextSearch::give_up() {
  if (reserved_ && place_ == 0) give_back(number_);  // with a place, others may have found it
}

int agree_on_context(const AllAnd& all_and, uint64_t key, const Group* group, Agreed& agreed) {
  ContextSearch search(key, group);
  for (Offer offer; search.next(offer);) {
    if (int error = all_and(offer.data(), offer.size(), MPI_SUCCESS)) return error;
    if (!search.choose(offer)) continue;
    uint64_t reserved = search.reserve();
    if (int error = all_and(&reserved, 1, MPI_SUCCESS)) {
      search.give_up();
      return error;
    }
    if (search.settle(reserved != 0, agreed)) return MPI_SUCCESS;
  }
  return MPI_ERR_OTHER;
}

void release_context(uint16_t context) {
  if (context != kNoContext) give_back(context / kContextsPerCommunicator);
}

void open_contexts() {
  std::lock_guard lock(mutex);
  in_use.reset();
  in_use[0] = in_use[1] = true;
  in_use[matched_context() / kContextsPerCommunicator] = true;
}

}  // namespace portunus::mpi
