// nodes.cpp: see nodes.hpp.
#include "mpi-adi/comm/nodes.hpp"

#include <vector>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/adi.hpp"

namespace portunus::mpi {
namespace {

// By rank in the job; all 0 if the interface does not tell.
std::vector<ptl_process_t> read_map() {
  std::vector<ptl_process_t> map(static_cast<size_t>(world().size));
  ptl_size_t size;
  PtlGetMap(adi::device.ni, map.size(), map.data(), &size);
  return map;
}

}  // namespace

bool same_node(int job_rank, int other_job_rank) {
  static const std::vector<ptl_process_t> map = read_map();
  return map[static_cast<size_t>(job_rank)].phys.nid == map[static_cast<size_t>(other_job_rank)].phys.nid;
}

bool shares_memory(int job_rank) {
  const int self = static_cast<int>(adi::device.self.rank);
  if (job_rank == self || !same_node(job_rank, self)) return false;
  // Alike for all of them.
  static const bool by_node = PtlxTransport(adi::device.ni, adi::process(job_rank), nullptr) == PTLX_TRANSPORT_NODE;
  return by_node;
}

}  // namespace portunus::mpi
