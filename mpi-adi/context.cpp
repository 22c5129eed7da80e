// context.cpp: which contexts are in use, and the agreement on a new one.
#include "mpi-adi/context.hpp"

#include <array>
#include <bitset>
#include <mutex>

#include "mpi-adi/comm.hpp"

namespace portunus::mpi {
namespace {

constexpr size_t kWindow = 256;  // numbers proposed at a time
constexpr size_t kWindows = kMaxCommunicators / kWindow;
static_assert(kMaxCommunicators % kWindow == 0 && (kWindows & (kWindows - 1)) == 0);

std::mutex mutex;
std::bitset<kMaxCommunicators> in_use;  // number n has the contexts from n * kContextsPerCommunicator on

using Offer = std::array<uint64_t, kWindow / 64>;

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

int agree_on_context(const AllAnd& all_and, uint64_t key, uint16_t& context) {
  const uint64_t random = scrambled(key);
  const size_t start = random % kWindows, stride = (random >> 16) % kWindows | 1;  // odd: reaches every window
  size_t full = 0;  // windows in a row without a common number
  for (size_t attempt = 0; full < kWindows; ++attempt) {
    const size_t window = (start + attempt * stride) % kWindows;
    Offer offer = free_numbers(window);
    if (int error = all_and(offer.data(), offer.size())) return error;
    const size_t chosen = choose(offer, (random >> 32) + attempt);
    full = chosen == kWindow ? full + 1 : 0;
    if (chosen == kWindow) continue;
    const size_t number = window * kWindow + chosen;
    uint64_t reserved = reserve(number);
    const bool own = reserved != 0;
    const int error = all_and(&reserved, 1);
    if (error == MPI_SUCCESS && reserved != 0) {
      context = static_cast<uint16_t>(number * kContextsPerCommunicator);
      return MPI_SUCCESS;
    }
    if (own) give_back(number);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_ERR_OTHER;
}

void release_context(uint16_t context) { give_back(context / kContextsPerCommunicator); }

void open_contexts() {
  std::lock_guard lock(mutex);
  in_use.reset();
  in_use[0] = in_use[1] = true;
  in_use[kMatchedContext / kContextsPerCommunicator] = true;
}

}  // namespace portunus::mpi
