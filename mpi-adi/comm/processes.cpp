// processes.cpp: see processes.hpp.
#include "mpi-adi/comm/processes.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/device.hpp"

namespace portunus::mpi {
namespace {

// The facts about a process are written before anybody has its rank, and never again. Address space for all is reserved at once.
struct Known {
  Identity identity;
  bool of_job;
  bool maps;  // its memory can be mapped
};
Known* known = nullptr;
int job_size = 0;
Card own;

std::mutex meeting;
std::map<Identity, std::pair<ptlx_contact_t, int>>& strangers() {  // those of other jobs, under `meeting`
  static auto& all = *new std::map<Identity, std::pair<ptlx_contact_t, int>>;
  return all;
}

uint32_t nid_of(const Identity& identity) { return static_cast<uint32_t>(identity.address >> 32); }
uint64_t address_of(const ptl_process_t& process) { return uint64_t{process.phys.nid} << 32 | process.phys.pid; }

bool maps_memory_of(int job_rank) { return PtlxTransport(device::device.ni, device::process(job_rank), nullptr) == PTLX_TRANSPORT_NODE; }

// PTL_RANK_ANY: not known. Of the own job's there is one only that lives at an address.
int rank_of(const Card& card) {
  if (const uint64_t rank = card.identity.born - known[0].identity.born;
      rank < static_cast<uint64_t>(job_size) && known[rank].identity == card.identity)
    return static_cast<int>(rank);
  const auto found = strangers().find(card.identity);
  if (found == strangers().end() || std::memcmp(&found->second.first, &card.contact, sizeof card.contact) != 0) return -1;
  return found->second.second;
}

}  // namespace

const char* open_processes(int size, uint64_t born) {
  const size_t bytes = static_cast<size_t>(kMaxRanks) * sizeof(Known);
  if (known == nullptr) {
    void* space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return "there is no address space for the table of processes";
    known = static_cast<Known*>(space);
  }
  job_size = size;
  std::vector<ptl_process_t> map(static_cast<size_t>(size));
  ptl_size_t count = 0;
  if (PtlGetMap(device::device.ni, map.size(), map.data(), &count) != PTL_OK || count < map.size() ||
      PtlxContact(device::device.ni, &own.contact) != PTL_OK)
    return "the addresses of the ranks are not known";
  for (int rank = 0; rank < size; ++rank)
    known[rank] = {{born + static_cast<uint64_t>(rank), address_of(map[static_cast<size_t>(rank)])}, true, false};
  own.identity = known[device::device.self.rank].identity;
  return nullptr;
}

bool is_of_job(int job_rank) { return job_rank < job_size; }

Card own_card() { return own; }

int meet_processes(std::span<const Card> cards, std::vector<int>& ranks) {
  const std::lock_guard lock(meeting);
  for (const Card& card : cards) {
    int rank = rank_of(card);
    if (rank < 0) {
      ptl_rank_t fresh;
      const int code = PtlxMapExtend(device::device.ni, &card.contact, 1, &fresh);
      if (code != PTL_OK) return code == PTL_NO_SPACE ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
      if (fresh >= static_cast<ptl_rank_t>(kMaxRanks)) return MPI_ERR_NO_MEM;
      rank = static_cast<int>(fresh);
      if (!is_of_job(rank)) {
        known[rank] = {card.identity, false, maps_memory_of(rank)};
        strangers()[card.identity] = {card.contact, rank};
        device::meet(rank);
      }
    }
    ranks.push_back(rank);
  }
  return MPI_SUCCESS;
}

Identity identity_of(int job_rank) { return known[job_rank].identity; }

bool same_node(int job_rank, int other_job_rank) { return nid_of(known[job_rank].identity) == nid_of(known[other_job_rank].identity); }

bool shares_memory(int job_rank) {
  const int self = static_cast<int>(device::device.self.rank);
  if (job_rank == self || !same_node(job_rank, self)) return false;
  if (!known[job_rank].of_job) return known[job_rank].maps;
  // Alike for all of the job.
  static const bool by_node = maps_memory_of(job_rank);
  return by_node;
}

std::vector<int> nodes_of(std::span<const int> job_ranks) {
  std::map<uint32_t, int> numbers;
  std::vector<int> nodes;
  for (const int rank : job_ranks)
    nodes.push_back(numbers.try_emplace(nid_of(known[rank].identity), static_cast<int>(numbers.size())).first->second);
  return nodes;
}

}  // namespace portunus::mpi
