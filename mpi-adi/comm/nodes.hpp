// nodes.hpp: which ranks share a node: those whose processes have the same nid.
// Thread: any. Source: Portals 4.3, 3.7 (process identification).
#pragma once

namespace portunus::mpi {

bool same_node(int job_rank, int other_job_rank);
// Whether messages to this rank go through memory that both map: another rank of this node, unless PTL_NODE=0 or a wire is imitated.
bool shares_memory(int job_rank);

}  // namespace portunus::mpi
