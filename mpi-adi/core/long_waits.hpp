// long_waits.hpp: what a thread that has slept for long waits for, told to whoever looks for ranks that wait for one another for ever.
//
// A wait tells of itself each second that it lasts, if it knows which ranks of the job can end it; all others are never told of, so a
// rank in one of these may go on at any time. With several threads a rank has told only when all threads that are not the library's own
// have.
//
// Thread: any. Cost: none before a wait has slept for a second.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/mpi.h"
#include "portals/portals4.h"

namespace portunus::mpi {
struct Request;
}

namespace portunus::mpi::device::long_waits {

// Before and after the library has started its own threads.
void count_threads(bool started);
// One more of them, or one less.
void add_own_threads(int count);

struct Wait {
  std::string what;
  bool known = true;  // no rank but these, which are of this job
  std::vector<ptl_rank_t> ranks;
  void may_end_by(int job_rank);
  void may_end_by(const Communicator& comm);  // each of its peers, and of its members
  void or_else(const Wait& other);
};
Wait of_message(const Communicator& comm, int source, int tag);
Wait of_request(const Request& request);
// `what`: as "the others in MPI_Ibcast".
Wait of_all(const std::string& what, const Communicator& comm);

// Whether who waits for so many seconds should look for what has gone wrong: seldom enough that in between nothing moves.
inline bool is_time_to_look(unsigned seconds) { return std::has_single_bit(seconds) && seconds != 2; }

// From now on this rank waits where others may be told an error in place of waiting: it tells nothing.
void be_silent();

// `again`: not for the first time in this wait. Where the engine has worked meanwhile it is as the first time.
// `looked_ns`: when it was last seen that the wait goes on, where that was not right now; see now().
void tell(const Wait& wait, bool again, uint64_t looked_ns = 0);
// By the clock that never goes back.
uint64_t now();

}  // namespace portunus::mpi::device::long_waits
